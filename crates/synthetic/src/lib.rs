//! Synthetic papers and their rows, for the tests of other crates; nothing here was ever run.
//!
//! This crate knows the form of rows and nothing of their use, and no program is built with it.
//!
//! The scores of [`tables`] are chosen so that every verdict occurs: `full` lies above `frozen` and varies more,
//! `last-two` lies with `full`, sparse features differ by fold far more than from each other.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod probes;
mod tasks;

pub use tasks::{TASK_PLAN, task_tables};

use serde_json::{Value, json};
use totune_record::{EvalRow, PredictionRow, RunRow, Tables};

/// The `report.toml` of the synthetic paper whose rows are [`tables`].
pub const PLAN: &str = include_str!("../../../fixtures/record/experiments/synthetic/report.toml");

/// The rows of `fixtures/record/results/synthetic/fixture`.
pub fn tables() -> Tables {
    let mut tables = Tables::default();
    for (kind, k, mean, sd) in [
        ("frozen", None, 0.80, 0.003),
        ("full", None, 0.85, 0.03),
        ("last-k", Some(2), 0.848, 0.012),
    ] {
        for seed in 0..10 {
            let mut adaptation = json!({ "kind": kind, "lr": 5e-5 });
            if let Some(k) = k {
                adaptation["k"] = json!(k);
            }
            let work = json!({ "kind": "tune", "encoder": "synthetic-encoder", "training": { "adaptation": adaptation, "epochs": 3 } });
            let split = json!({ "kind": "hold-out", "test": 0.2, "seed": 1, "duplicates": "keep" });
            let accuracy = mean + sd * spread(seed);
            add(&mut tables, ("table-2", work, split), (0, seed), accuracy);
        }
    }
    for (features, mean) in [("tf-idf", 0.780), ("count", 0.786), ("hash", 0.779)] {
        let work = json!({ "kind": "sparse", "features": features });
        for (by, drop, sd) in [("shuffled", 0.0, 0.01), ("file", 0.09, 0.04)] {
            for fold in 0..10 {
                let split =
                    json!({ "kind": "k-fold", "folds": 10, "by": by, "duplicates": "keep" });
                // The difficulty of a fold is common to the features, a little is their own.
                let own = 0.002 * spread(fold * 3 + features.len() as u64);
                let accuracy = mean - drop + sd * spread(fold) + own;
                let made = ("table-1", work.clone(), split);
                add(&mut tables, made, (fold, 0), accuracy);
            }
        }
        let split = json!({ "kind": "hold-out", "test": 0.2, "seed": 1, "duplicates": "keep" });
        add(&mut tables, ("table-1", work, split), (0, 0), mean + 0.004);
    }
    add_curves(&mut tables);
    tables.sort();
    tables
}

/// Runs scored after every epoch, on a dataset of their own: the last layer is quick (its first epoch computes kept
/// states) and stops at 0.7, all layers are slow and end above it, and one of those runs diverged.
fn add_curves(tables: &mut Tables) {
    let last = |k: u64| json!({ "kind": "last-k", "k": k, "lr": 1e-3 });
    let full = json!({ "kind": "full", "lr": 2e-5 });
    let (quick, middle) = ([0.60, 0.66, 0.69, 0.685, 0.685], [0.56, 0.68, 0.73, 0.74]);
    for (adaptation, scores, [first, each], lengths, stop) in [
        (last(1), &quick[..], [6.0, 2.0], [3, 4, 5], "plateau"),
        (last(2), &middle[..], [7.0, 4.0], [4, 4, 4], "epochs"),
        (
            full,
            &[0.50, 0.68, 0.77, 0.78][..],
            [8.0, 8.0],
            [4, 4, 4],
            "epochs",
        ),
    ] {
        for (seed, length) in (0..).zip(lengths) {
            let points = (0..length).map(|epoch| {
                let seconds = (first + each * epoch as f64) * (1.0 + 0.01 * seed as f64);
                (seconds, scores[epoch] + 0.01 * (seed as f64 - 1.0))
            });
            add_curve(tables, &adaptation, seed, &points.collect::<Vec<_>>(), stop);
        }
    }
    let full = json!({ "kind": "full", "lr": 2e-5 });
    add_curve(tables, &full, 3, &[(8.0, 0.33)], "diverged");
}

fn add_curve(
    tables: &mut Tables,
    adaptation: &Value,
    seed: u64,
    points: &[(f64, f64)],
    stop: &str,
) {
    let work = json!({ "kind": "tune", "encoder": "synthetic-encoder", "training": { "adaptation": adaptation, "epochs": 5 } });
    let split = json!({ "kind": "hold-out", "test": 0.2, "seed": 1, "duplicates": "keep" });
    let before = tables.evals.len();
    add(tables, ("epochs", work, split), (0, seed), 0.0);
    let mut scores = tables.evals.split_off(before);
    scores.truncate(1);
    let run = tables.runs.last_mut().expect("a run was added");
    run.spec = run.spec.replace("synthetic-letters", "synthetic-epochs");
    run.dataset = "synthetic-epochs".into();
    run.dataset_hash = "44".repeat(32);
    run.epochs = points.len() as u32;
    run.steps = 10 * points.len() as u64;
    run.stop_reason = stop.into();
    run.train_seconds = points[points.len() - 1].0;
    if stop == "diverged" {
        run.status = stop.into();
        run.error = "loss is not a number".into();
    }
    for (epoch, &(train_seconds, value)) in (1..).zip(points) {
        tables.evals.push(EvalRow {
            epoch,
            step: u64::from(epoch) * 10,
            value,
            train_seconds,
            is_final: epoch as usize == points.len() && stop != "diverged",
            ..scores[0].clone()
        });
    }
}

/// Ten numbers with mean 0 and standard deviation 1, in no order: (7i mod 10 - 4.5) / 3.0277.
fn spread(number: u64) -> f64 {
    ((number * 7 % 10) as f64 - 4.5) / 3.027_650_354_097_491_7
}

/// The row of a run with this spec: the spec's settings where the row repeats them, usual values otherwise.
fn row(run_id: String, spec: &Value) -> RunRow {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let encoder = text(&spec["work"]["encoder"]);
    let hash = |digits: &str| {
        if encoder.is_empty() {
            String::new()
        } else {
            digits.repeat(32)
        }
    };
    RunRow {
        run_id,
        paper: text(&spec["paper"]),
        experiment: text(&spec["experiment"]),
        profile: text(&spec["profile"]),
        spec: spec.to_string(),
        code_commit: "0123456789abcdef0123456789abcdef01234567".into(),
        dataset: text(&spec["dataset"]),
        dataset_hash: "11".repeat(32),
        checkpoint_hash: hash("22"),
        tokenizer_hash: hash("33"),
        encoder,
        seed: spec["seed"].as_u64().unwrap_or_default(),
        device: "cpu (synthetic)".into(),
        dtype: "f32".into(),
        threads: 1,
        params_total: 100,
        params_trainable: 100,
        epochs: 1,
        steps: 10,
        stop_reason: "epochs".into(),
        train_seconds: 1.0,
        eval_seconds: 1.0,
        peak_memory: 1 << 28,
        started: 1_700_000_000,
        status: "ok".into(),
        ..RunRow::default()
    }
}

fn add(
    tables: &mut Tables,
    (experiment, work, split): (&str, Value, Value),
    (fold, seed): (u64, u64),
    accuracy: f64,
) {
    let number = tables.runs.len() as u64;
    let run_id = format!("{:016x}", 0xf1f1_0000 + number);
    let tuned = work["kind"] == "tune";
    let spec = json!({
        "paper": "synthetic", "experiment": experiment, "arm": arm(&work), "profile": "fixture",
        "dataset": "synthetic-letters", "split": split, "fold": fold, "seed": seed, "work": work,
    });
    let row = row(run_id.clone(), &spec);
    tables.runs.push(RunRow {
        dtype: if tuned { "f32" } else { "f64" }.into(),
        threads: 2,
        params_total: if tuned { 4_321 } else { 0 },
        params_trainable: if tuned { 321 } else { 0 },
        epochs: if tuned { 3 } else { 0 },
        steps: if tuned { 30 } else { 0 },
        stop_reason: if tuned { "epochs" } else { "converged" }.into(),
        train_seconds: 12.0,
        eval_seconds: 1.5,
        started: row.started + number,
        ..row
    });
    let score = |epoch, metric, value, is_final| score(&run_id, epoch, (metric, value), is_final);
    tables.evals.extend([
        score(1, "accuracy", accuracy - 0.1, false),
        score(3, "accuracy", accuracy, true),
        score(3, "f1-positive", accuracy - 0.05, true),
    ]);
    tables.predictions.push(PredictionRow {
        run_id,
        split: "test".into(),
        example_id: "1".into(),
        position: 0,
        gold: "vowel".into(),
        predicted: "vowel".into(),
        scores: vec![0.25, 0.75],
    });
}

/// The arm that a run with this work is of.
fn arm(work: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let adaptation = &work["training"]["adaptation"];
    match (adaptation["k"].as_u64(), text(&work["kind"]).as_str()) {
        (Some(k), _) => format!("last-{k}"),
        (None, "tune") => text(&adaptation["kind"]),
        (None, "sparse") => text(&work["features"]),
        (None, kind) => kind.to_owned(),
    }
}

/// A score on test.
fn score(run_id: &str, epoch: u32, (metric, value): (&str, f64), is_final: bool) -> EvalRow {
    EvalRow {
        run_id: run_id.to_owned(),
        phase: 0,
        epoch,
        step: u64::from(epoch) * 10,
        split: "test".into(),
        metric: metric.into(),
        value,
        n: 200,
        train_seconds: f64::from(epoch) * 4.0,
        is_final,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use totune_record::Tables;

    /// The committed parquet is this crate's output; `TOTUNE_WRITE_FIXTURES=1` writes it anew.
    #[test]
    fn the_committed_rows_are_the_synthetic_ones() {
        let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/record/results");
        for (paper, tables) in [
            ("synthetic", super::tables()),
            ("two-encoders", super::probes::tables()),
        ] {
            let folder = results.join(paper).join("fixture");
            if std::env::var_os("TOTUNE_WRITE_FIXTURES").is_some() {
                std::fs::create_dir_all(&folder).unwrap();
                tables.write(&folder).unwrap();
            }
            assert_eq!(Tables::read(&folder).unwrap(), tables);
        }
    }
}
