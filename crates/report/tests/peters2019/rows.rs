//! Runs of everything that the page selects, made by hand.

use serde_json::{Value, json};
use totune_record::{EvalRow, RunRow, Tables};

use super::{GENRES, TASKS, arms};

/// Runs of everything that the page selects, with scores drawn by hand.
pub fn synthetic_rows() -> Tables {
    let mut tables = Tables::default();
    let kinds = ["frozen", "full"];
    for (number, (_, dataset, metric)) in TASKS.into_iter().enumerate() {
        for floor in ["majority", "word-counts", "vectors", "cosine"] {
            let work = json!({ "kind": "floor", "floor": { "kind": floor } });
            add(
                &mut tables,
                ("floors", dataset, 0),
                work,
                &[("test", metric, 0.5)],
            );
        }
        for (encoder, experiment) in [
            ("fixture-bert", "table-2"),
            ("fixture-elmo", "table-2-elmo"),
        ] {
            let search = format!("{experiment}-search");
            for kind in kinds {
                for seed in 1..=3 {
                    let score = 0.8 + spread(number as u64 + seed + kind.len() as u64);
                    let work = tune(encoder, kind, json!({ "kind": "esim" }), 1e-3);
                    add(
                        &mut tables,
                        (experiment, dataset, seed),
                        work,
                        &[("test", metric, score)],
                    );
                }
                for lr in [1e-3, 1e-4] {
                    let work = tune(encoder, kind, json!({ "kind": "esim" }), lr);
                    let scores = [("dev", metric, 0.7 + 100.0 * lr)];
                    add(&mut tables, (&search, dataset, 1), work, &scores);
                }
            }
        }
    }
    let pairs = TASKS
        .iter()
        .filter(|(task, ..)| ["sick-e", "sick-r", "mrpc", "sts-b"].contains(task));
    for (_, dataset, metric) in pairs {
        for seed in 1..=2 {
            let mut run = |experiment: &str, work: Value, score: f64| {
                let scores = [("test", *metric, score + spread(seed))];
                add(&mut tables, (experiment, dataset, seed), work, &scores);
            };
            for (head, score) in [("on", 0.8), ("off", 0.6)] {
                run(
                    "table-3",
                    tune(
                        "fixture-elmo",
                        "full",
                        json!({ "kind": "bi-attention", "attention": head }),
                        1e-3,
                    ),
                    score,
                );
            }
            for kind in kinds {
                run(
                    "table-4",
                    tune("fixture-bert", kind, json!({ "pooling": "first" }), 1e-3),
                    0.8,
                );
                let mut apart = tune("fixture-bert", kind, json!({ "pooling": "first" }), 1e-3);
                apart["training"]["pairs"] = json!("separate");
                run("table-4", apart, 0.7);
            }
        }
    }
    for (kind, layers) in [
        ("frozen", 2),
        ("frozen", 0),
        ("gradual-unfreezing", 0),
        ("gradual-unfreezing", 2),
        ("full", 0),
    ] {
        for seed in 1..=5 {
            let head = json!({ "kind": "tagger", "recurrent-layers": layers });
            let scores = [("test", "span-f1", 0.9 + spread(seed))];
            add(
                &mut tables,
                ("table-5", "fixture-ner", seed),
                tune("fixture-elmo", kind, head, 1e-3),
                &scores,
            );
        }
    }
    add_choices(&mut tables);
    for (number, genre) in GENRES.into_iter().enumerate() {
        let dataset = format!("fixture-genre-{genre}");
        for kind in kinds {
            let score = 0.7 + spread(number as u64 + kind.len() as u64);
            let work = tune("fixture-bert", kind, json!({ "pooling": "first" }), 1e-3);
            add(
                &mut tables,
                ("table-6", &dataset, 1),
                work,
                &[("test", "accuracy", score)],
            );
        }
        let scores = [("train", "js-divergence", 0.1 + 0.02 * number as f64)];
        add(
            &mut tables,
            ("domains", &dataset, 0),
            json!({ "kind": "divergence" }),
            &scores,
        );
    }
    for (dataset, metric) in [
        ("fixture-acceptability", "matthews"),
        ("fixture-phrases", "accuracy"),
        ("fixture-paraphrase", "accuracy"),
        ("fixture-similarity", "pearson"),
    ] {
        for (encoder, experiment) in [("fixture-bert", "layers"), ("fixture-elmo", "layers-elmo")] {
            for states in ["pretrained", "fine-tuned"] {
                let work = json!({ "kind": "probe", "encoder": encoder, "states": states, "input": "mean" });
                let names = [
                    metric,
                    "mi",
                    "mi-first-pass",
                    "mi-random-labels",
                    "mi-random-states",
                    "mi-2",
                ];
                let names = names.iter().flat_map(|name| {
                    (0..=4).map(move |layer| (format!("{name}@layer-{layer}"), layer))
                });
                let names: Vec<(String, u32)> = names.collect();
                let scores: Vec<(&str, &str, f64)> = names
                    .iter()
                    .map(|(name, layer)| ("test", name.as_str(), 0.1 * f64::from(*layer)))
                    .collect();
                add(&mut tables, (experiment, dataset, 1), work, &scores);
            }
        }
        for (input, less) in [("max", 0.005), ("first", 0.05)] {
            let work = json!({ "kind": "probe", "encoder": "fixture-bert", "states": "pretrained", "input": input });
            let names = (0..=4).map(|layer| format!("{metric}@layer-{layer}"));
            let names: Vec<String> = names.collect();
            let score = |layer: usize| 0.1 * layer as f64 - less;
            let scores = names.iter().enumerate();
            let scores = scores.map(|(layer, name)| ("test", name.as_str(), score(layer)));
            let scores: Vec<(&str, &str, f64)> = scores.collect();
            add(&mut tables, ("choices-probe", dataset, 1), work, &scores);
        }
    }
    tables.sort();
    tables
}

/// Runs of the choices, where what the paper chose is a point above the rest, but for the mean over pieces.
fn add_choices(tables: &mut Tables) {
    for seed in 1..=3 {
        let noise = |number: u64| 0.0002 * ((seed + number) % 3) as f64;
        for (pieces, over, score) in [
            ("first", None, 0.80 + noise(0)),
            ("last", None, 0.79 + noise(1)),
            ("mean", None, 0.80 + noise(1)),
            ("first", Some("words"), 0.79 + noise(2)),
        ] {
            let mut head = json!({ "kind": "tagger", "recurrent-layers": 2, "pieces": pieces });
            if let Some(over) = over {
                head["recurrent-over"] = json!(over);
            }
            let work = tune("fixture-bert", "frozen", head, 1e-3);
            let scores = [("test", "span-f1", score)];
            add(tables, ("choices", "fixture-ner", seed), work, &scores);
        }
        for (pooling, decay) in [
            ("max", 0.4),
            ("mean", 0.4),
            ("first-last", 0.4),
            ("max", 1.0),
        ] {
            let head = json!({ "pooling": pooling });
            let mut work = tune("fixture-elmo", "gradual-unfreezing", head, 1e-3);
            work["training"]["adaptation"]["layer-decay"] = json!(decay);
            let scores = [("test", "accuracy", 0.6 + spread(seed))];
            add(tables, ("choices", "fixture-phrases", seed), work, &scores);
        }
    }
}

fn tune(encoder: &str, kind: &str, head: Value, lr: f64) -> Value {
    json!({ "kind": "tune", "encoder": encoder, "training": { "adaptation": { "kind": kind, "lr": lr }, "head": head } })
}

/// Up to half a point more or less.
fn spread(number: u64) -> f64 {
    0.001 * ((number * 7 % 10) as f64 - 4.5)
}

fn add(
    tables: &mut Tables,
    (experiment, dataset, seed): (&str, &str, u64),
    work: Value,
    scores: &[(&str, &str, f64)],
) {
    let number = tables.runs.len() as u64;
    let run_id = format!("{number:016x}");
    let spec = arms::with_arm(json!({
        "paper": "peters2019", "experiment": experiment, "profile": "fixture", "dataset": dataset,
        "split": { "kind": "files", "test": "dev" }, "fold": 0, "seed": seed, "work": work,
    }));
    let row = totune_synthetic::row(run_id.clone(), &spec);
    tables.runs.push(RunRow {
        started: row.started + number,
        ..row
    });
    for (split, metric, value) in scores {
        tables.evals.push(EvalRow {
            run_id: run_id.clone(),
            phase: 0,
            epoch: 1,
            step: 1,
            split: (*split).into(),
            metric: (*metric).into(),
            value: *value,
            n: 100,
            train_seconds: 1.0,
            is_final: true,
        });
    }
}
