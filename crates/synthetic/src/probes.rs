//! Synthetic runs of two encoders on five tasks: frozen and fully tuned, the search before that, scores by layer.

use serde_json::{Value, json};
use totune_record::{EvalRow, Tables};

use super::add;
/// The tasks, from 0 on.
const TASKS: [&str; 5] = ["letters", "digits", "words", "sounds", "signs"];

/// The `report.toml` of the synthetic paper of two encoders, whose rows are [`tables`].
pub const PLAN: &str =
    include_str!("../../../fixtures/record/experiments/two-encoders/report.toml");

/// Five tasks, three seeds each: tuning the large encoder is 6, 2, 1, 0 and -1 points above freezing it, and the
/// divergences 0.1 to 0.5 fall along with that. The tiny encoder is scored too. Before, letters had four trials
/// each, digits four and two. By layer, pretrained letters rise to the end and digits stay after the second of six
/// layers; tuned ones lie above, and their information comes late for letters and step by step for digits.
pub fn tables() -> Tables {
    let mut tables = Tables::default();
    for (at, task) in TASKS.into_iter().enumerate() {
        let gain = [0.06, 0.02, 0.01, 0.0, -0.01][at];
        for seed in 1..=3 {
            // Over the seeds it is 0 on average.
            let noise = |number: u64| 0.001 * (((seed + number) % 3) as f64 - 1.0);
            let frozen = 0.8 + noise(0);
            let tuned = 0.8 + gain + noise(1);
            for (encoder, kind, score) in [
                ("synthetic-encoder", "frozen", frozen),
                ("synthetic-encoder", "full", tuned),
                ("synthetic-tiny", "frozen", 0.5),
                ("synthetic-tiny", "full", 0.4),
            ] {
                let work = tune(encoder, kind, 1e-3);
                let scores = [("test", "accuracy".to_owned(), score)];
                run(&mut tables, ("two-ways", task, seed), work, &scores);
            }
        }
        let divergence = 0.1 * (at as f64 + 1.0);
        let scores = [("train", "js-divergence".to_owned(), divergence)];
        let work = json!({ "kind": "divergence" });
        run(&mut tables, ("domains", task, 0), work, &scores);
    }
    for (task, kind, scores) in [
        ("letters", "frozen", &[0.70, 0.75, 0.72, 0.79][..]),
        ("letters", "full", &[0.80, 0.78, 0.85, 0.84]),
        ("digits", "frozen", &[0.60, 0.65, 0.62, 0.61]),
        ("digits", "full", &[0.55, 0.72]),
    ] {
        for (at, &score) in scores.iter().enumerate() {
            let work = tune("synthetic-encoder", kind, [1e-4, 3e-4, 1e-3, 3e-3][at]);
            let scores = [("dev", "accuracy".to_owned(), score)];
            run(&mut tables, ("two-ways-search", task, 1), work, &scores);
        }
    }
    add_layers(&mut tables);
    tables.sort();
    tables
}

/// Probes by layer, of pretrained and of fine-tuned states.
fn add_layers(tables: &mut Tables) {
    let late = [0.0, 0.0, 0.01, 0.02, 0.02, 0.3, 0.4];
    let steady = [0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3];
    for (task, pretrained, information) in [
        ("letters", [0.5, 0.55, 0.6, 0.65, 0.7, 0.72, 0.74], late),
        ("digits", [0.5, 0.62, 0.7, 0.701, 0.705, 0.7, 0.702], steady),
    ] {
        let by_layer = |metric: &str, values: [f64; 7]| {
            let name = metric.to_owned();
            let values = values.into_iter().enumerate();
            values.map(move |(layer, value)| ("test", format!("{name}@layer-{layer}"), value))
        };
        let scores = by_layer("accuracy", pretrained)
            .chain(by_layer("mi", [0.001; 7]))
            .chain(by_layer("mi-random-labels", [0.001; 7]));
        let work =
            json!({ "kind": "probe", "encoder": "synthetic-encoder", "states": "pretrained" });
        let scores: Vec<_> = scores.collect();
        run(tables, ("layers", task, 1), work, &scores);
        for seed in 1..=3 {
            let lift = 0.05 + 0.01 * seed as f64;
            let mut tuned = pretrained.map(|score| score + lift);
            // Embeddings hardly move.
            tuned[0] = pretrained[0];
            let scores = by_layer("accuracy", tuned)
                .chain(by_layer("mi", information))
                .chain(by_layer(
                    "mi-first-pass",
                    information.map(|value| value + 0.1),
                ));
            let work =
                json!({ "kind": "probe", "encoder": "synthetic-encoder", "states": "tuned" });
            let scores: Vec<_> = scores.collect();
            run(tables, ("layers", task, seed), work, &scores);
        }
    }
}

fn tune(encoder: &str, kind: &str, lr: f64) -> Value {
    json!({ "kind": "tune", "encoder": encoder, "training": { "adaptation": { "kind": kind, "lr": lr } } })
}

/// Adds a run with these final scores.
fn run(
    tables: &mut Tables,
    (experiment, task, seed): (&str, &str, u64),
    work: Value,
    scores: &[(&str, String, f64)],
) {
    let split = json!({ "kind": "files", "test": "dev" });
    add(tables, (experiment, work, split), (0, seed), 0.0);
    let run = tables.runs.last_mut().expect("one was just added");
    let dataset = format!("synthetic-{task}");
    let mut spec: Value = serde_json::from_str(&run.spec).expect("it was JSON");
    spec["dataset"] = json!(dataset);
    run.encoder = spec["work"]["encoder"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    run.spec = spec.to_string();
    run.dataset = dataset;
    let run_id = run.run_id.clone();
    let template = tables.evals.last().expect("it was scored").clone();
    tables.evals.retain(|eval| eval.run_id != run_id);
    for (split, metric, value) in scores {
        tables.evals.push(EvalRow {
            split: (*split).to_owned(),
            metric: metric.clone(),
            value: *value,
            is_final: true,
            ..template.clone()
        });
    }
}
