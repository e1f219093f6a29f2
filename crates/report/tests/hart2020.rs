//! The page of hart2020 on rows that were never run: its files parse, its selections find their runs, and the
//! paper's own numbers get the verdicts that arithmetic gives them.

#![allow(clippy::unwrap_used)]

mod arms;

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use totune_record::{EvalRow, RunRow, Tables};

#[test]
fn every_row_and_figure_finds_its_runs() {
    let reports = write_report("finds-runs");
    for table in ["table-1", "table-2", "same-split", "which-f1", "cost"] {
        let csv = fs::read_to_string(reports.join(format!("tables/{table}.csv"))).unwrap();
        assert!(csv.lines().count() > 1 && !csv.contains("no run"), "{csv}");
    }
    let folds = fs::read_to_string(reports.join("tables/table-1.csv")).unwrap();
    assert_eq!(
        folds
            .lines()
            .skip(1)
            .filter(|line| line.contains(",10,0,10 folds,"))
            .count(),
        4 * 3 * 2
    );
    for figure in ["figure-1", "figure-2", "folds"] {
        let svg = fs::read_to_string(reports.join(format!("figures/{figure}.svg"))).unwrap();
        assert!(!svg.contains("no run"), "{figure}");
    }
}

#[test]
fn the_papers_own_numbers_get_the_verdicts_arithmetic_gives_them() {
    let reports = write_report("own-numbers");
    let claims = fs::read_to_string(reports.join("tables/claims.csv")).unwrap();
    for (id, recomputed, verdict) in [
        (
            "counts",
            "\"4,242 + 3,271 = 7,513\"",
            "contradicted (by the paper's own numbers)",
        ),
        (
            "frozen-f1-possible",
            "F1 at most 0.830",
            "contradicted (by the paper's own numbers)",
        ),
        (
            "unfrozen-f1-possible",
            "F1 at most 0.837",
            "contradicted (by the paper's own numbers)",
        ),
        (
            "last-two-f1-possible",
            "F1 at most 0.836",
            "contradicted (by the paper's own numbers)",
        ),
        (
            "sparse-f1-possible",
            "F1 at most 0.808",
            "reproduced (by the paper's own numbers)",
        ),
        (
            "p-unfrozen",
            "p = 0.379",
            "reproduced (by the paper's own numbers)",
        ),
        (
            "p-last-two",
            "p = 0.153",
            "not decided (by the paper's own numbers)",
        ),
        (
            "which-layers",
            "last two layers",
            "contradicted (by the paper's own words)",
        ),
    ] {
        let line = claims
            .lines()
            .find(|line| line.starts_with(&format!("{id},")))
            .unwrap();
        assert!(
            line.contains(recomputed) && line.contains(verdict),
            "{line}"
        );
    }
}

#[test]
fn values_of_bert_wait_for_bert() {
    let reports = write_report("waits");
    let claims = fs::read_to_string(reports.join("tables/claims.csv")).unwrap();
    let line = claims
        .lines()
        .find(|line| line.starts_with("frozen-accuracy,"))
        .unwrap();
    assert!(
        line.contains("not testable")
            && line.contains("it can only be tested in the profile paper"),
        "{line}"
    );
}

/// Writes the report on synthetic rows and returns its folder.
fn write_report(name: &str) -> PathBuf {
    arms::write_report(["hart2020", "fixture", name], &synthetic_rows())
}

/// One run of everything that table-1.toml and table-2.toml ask for, with scores drawn by hand.
fn synthetic_rows() -> Tables {
    let mut tables = Tables::default();
    let hold_out = |duplicates: &str| json!({ "kind": "hold-out", "test": 0.2, "seed": 13, "duplicates": duplicates });
    for (features, mean) in [("tf-idf", 0.797), ("count", 0.795), ("hash", 0.791)] {
        let work = json!({ "kind": "sparse", "features": features, "logistic": { "c": 1.0, "max-iter": 100, "tol": 1e-4 } });
        for (by, duplicates, drop, sd) in [
            ("file", "keep", 0.09, 0.05),
            ("shuffled", "keep", 0.0, 0.012),
            ("shuffled", "group", 0.006, 0.012),
            ("group", "keep", 0.07, 0.03),
        ] {
            let mut split =
                json!({ "kind": "k-fold", "folds": 10, "by": by, "duplicates": duplicates });
            if by == "shuffled" {
                split["seed"] = json!(0);
            }
            for fold in 0..10 {
                let accuracy =
                    mean - drop + sd * spread(fold) + 0.004 * spread(fold + features.len() as u64);
                add(&mut tables, ("table-1", &work, &split), (fold, 0), accuracy);
            }
        }
        for duplicates in ["keep", "group"] {
            add(
                &mut tables,
                ("table-1", &work, &hold_out(duplicates)),
                (0, 0),
                mean + 0.003,
            );
        }
    }
    for (floor, accuracy) in [("majority", 0.57), ("word-counts", 0.79), ("vectors", 0.79)] {
        let work = json!({ "kind": "floor", "floor": { "kind": floor } });
        add(
            &mut tables,
            ("floors", &work, &hold_out("keep")),
            (0, 0),
            accuracy,
        );
    }
    for (adaptation, mean, sd) in [
        (
            json!({ "kind": "frozen", "lr": 5e-5, "pooler": "frozen" }),
            0.806,
            0.004,
        ),
        (
            json!({ "kind": "full", "lr": 5e-5, "pooler": "trainable", "embeddings": "trainable" }),
            0.828,
            0.009,
        ),
        (
            json!({ "kind": "last-k", "k": 2, "lr": 5e-5, "pooler": "trainable", "embeddings": "frozen" }),
            0.825,
            0.005,
        ),
    ] {
        let work = json!({ "kind": "tune", "encoder": "fixture-bert", "training": { "adaptation": adaptation, "epochs": 1 } });
        for seed in 1..=10 {
            add(
                &mut tables,
                ("table-2", &work, &hold_out("keep")),
                (0, seed),
                mean + sd * spread(seed + (mean * 1e3) as u64),
            );
        }
    }
    tables.sort();
    tables
}

/// Ten numbers with mean 0 and standard deviation 1, in no order.
fn spread(number: u64) -> f64 {
    ((number * 7 % 10) as f64 - 4.5) / 3.027_650_354_097_491_7
}

fn add(
    tables: &mut Tables,
    (experiment, work, split): (&str, &Value, &Value),
    (fold, seed): (u64, u64),
    accuracy: f64,
) {
    let run_id = format!("{:016x}", 0xf2f2_0000 + tables.runs.len());
    let spec = arms::with_arm(json!({
        "paper": "hart2020", "experiment": experiment, "profile": "fixture", "dataset": "fixture-tweets",
        "split": split, "fold": fold, "seed": seed, "work": work,
    }));
    let tuned = work["kind"] == "tune";
    for (metric, value) in [
        ("accuracy", accuracy),
        ("f1-positive", accuracy - 0.05),
        ("f1-negative", accuracy + 0.03),
        ("f1-macro", accuracy - 0.01),
        ("f1-batch-mean", accuracy - 0.06),
    ] {
        tables.evals.push(EvalRow {
            run_id: run_id.clone(),
            phase: 0,
            epoch: 1,
            step: 10,
            split: "test".into(),
            metric: metric.into(),
            value,
            n: 100,
            train_seconds: 1.0,
            is_final: true,
        });
    }
    let row = totune_synthetic::row(run_id, &spec);
    tables.runs.push(RunRow {
        dtype: if tuned { "f32" } else { "f64" }.into(),
        epochs: u32::from(tuned),
        ..row
    });
}
