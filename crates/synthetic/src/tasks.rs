//! A paper over four tasks, with the rows of each strategy.

use serde_json::{Value, json};
use totune_record::{EvalRow, RunRow, Tables};

use super::{add, spread};

/// The `report.toml` of a synthetic paper over four tasks, whose rows are [`task_tables`].
pub const TASK_PLAN: &str = r#"
    [paper]
    title = "A Paper of Four Tasks That Does Not Exist"
    authors = "Nobody"
    question = "Does it take *all* layers?"
    [profiles]
    fixture = "rows that were never run"
    small = "not there either"
    [groups.full]
    title = "All layers"
    where = { "work.training.adaptation.kind" = "full", "work.training.adaptation.lr" = 2e-5, "work.training.dtype" = "f32" }
    [groups.full-hot]
    title = "All layers, high rate"
    where = { "work.training.adaptation.kind" = "full", "work.training.adaptation.lr" = 1e-3, "work.training.dtype" = "f32" }
    [groups.last-2]
    title = "Last two layers"
    where = { "work.training.adaptation.kind" = "last-k", "work.training.adaptation.k" = 2, "work.training.dtype" = "f32" }
    [groups.last-1]
    title = "Last layer"
    where = { "work.training.adaptation.kind" = "last-k", "work.training.adaptation.k" = 1, "work.training.dtype" = "f32" }
    [groups.last-k]
    title = "Last one or two layers"
    where = { "work.training.adaptation.kind" = "last-k", "work.training.dtype" = "f32" }
    [groups.any-dtype]
    title = "All layers in any precision"
    where = { "work.training.adaptation.kind" = "full", "work.training.adaptation.lr" = 2e-5 }
    [groups.last-3]
    title = "Last three layers"
    where = { "work.training.adaptation.kind" = "last-k", "work.training.adaptation.k" = 3 }
    [tasks.letters]
    title = "Letters"
    datasets = ["synthetic-letters"]
    metric = "accuracy"
    unit = "accuracy"
    among = ["few"]
    [tasks.digits]
    title = "Digits"
    datasets = ["synthetic-digits"]
    metric = "f1-positive"
    unit = "F1"
    among = ["few"]
    [tasks.words]
    title = "Words"
    datasets = ["synthetic-words", "synthetic-words-subset"]
    metric = "accuracy"
    unit = "accuracy"
    among = ["many"]
    [tasks.sounds]
    title = "Sounds"
    datasets = ["synthetic-sounds"]
    metric = "accuracy"
    unit = "accuracy"
    among = ["many"]
"#;

/// Four tasks, three seeds each. Last two layers lose two points on the two tasks of few examples and take half the
/// time; on those of many they differ by noise and take longer to the stop. A high rate ruins full tuning, and one
/// such run diverges. Runs in half precision repeat those of full tuning with a little noise.
pub fn task_tables() -> Tables {
    let mut tables = Tables::default();
    for (dataset, metric, base, second, many) in [
        ("synthetic-letters", "accuracy", 0.80, 1.0, false),
        ("synthetic-digits", "f1-positive", 0.70, 0.5, false),
        ("synthetic-words-subset", "accuracy", 0.90, 4.0, true),
        ("synthetic-sounds", "accuracy", 0.85, 3.0, true),
    ] {
        for seed in 1..=3 {
            let noise =
                |scale: f64, number: u64| scale * spread(number * 3 + seed + dataset.len() as u64);
            let mut tune = |number: u64, kind: Tuned, epochs: u32, per_epoch: f64, score: f64| {
                let per_epoch = second * per_epoch * (1.0 + noise(0.02, 5 + number));
                let run = (dataset, metric, seed);
                tuned(&mut tables, run, kind, (epochs, per_epoch), score);
            };
            let full = base + noise(0.004, 0);
            let (two, one) = if many { (0.001, 0.002) } else { (-0.02, -0.04) };
            let two = full + two + noise(0.002, 1);
            let one = full + one + noise(0.002, 2);
            let half = full + noise(0.001, 3);
            let hot = 0.4 * full + noise(0.01, 4);
            tune(0, Tuned::new("full", None, 2e-5, "f32"), 4, 10.0, full);
            tune(1, Tuned::new("full", None, 1e-3, "f32"), 3, 10.0, hot);
            let epochs = if many { 8 } else { 3 };
            tune(
                2,
                Tuned::new("last-k", Some(2), 1e-3, "f32"),
                epochs,
                6.0,
                two,
            );
            tune(3, Tuned::new("last-k", Some(1), 1e-3, "f32"), 4, 4.0, one);
            tune(
                4,
                Tuned::new("full", None, 2e-5, "bf16-mixed"),
                4,
                6.0,
                half,
            );
        }
    }
    let hot = |row: &&mut RunRow| row.spec.contains("0.001") && row.spec.contains("\"full\"");
    let last = tables
        .runs
        .iter_mut()
        .rfind(hot)
        .expect("there are such runs");
    last.status = "diverged".into();
    tables
        .evals
        .iter_mut()
        .filter(|eval| eval.run_id == last.run_id)
        .for_each(|eval| eval.is_final = false);
    tables.sort();
    tables
}

/// Training settings of a run, and its number of trainable parameters.
struct Tuned {
    training: Value,
    trained: u64,
}

impl Tuned {
    fn new(kind: &str, k: Option<u64>, lr: f64, dtype: &str) -> Self {
        let mut adaptation = json!({ "kind": kind, "lr": lr });
        if let Some(k) = k {
            adaptation["k"] = json!(k);
        }
        Self {
            training: json!({ "adaptation": adaptation, "dtype": dtype }),
            trained: k.map_or(4_321, |k| 400 * k + 21),
        }
    }
}

/// Adds a run that nears `score` by halves.
fn tuned(
    tables: &mut Tables,
    (dataset, metric, seed): (&str, &str, u64),
    kind: Tuned,
    (epochs, per_epoch): (u32, f64),
    score: f64,
) {
    let work = json!({ "kind": "tune", "encoder": "synthetic-encoder", "training": kind.training });
    let split = json!({ "kind": "given" });
    add(tables, ("tasks", work, split), (0, seed), score);
    let run = tables.runs.last_mut().expect("one was just added");
    let mut spec: Value = serde_json::from_str(&run.spec).expect("it was JSON");
    spec["dataset"] = json!(dataset);
    run.spec = spec.to_string();
    run.dataset = dataset.into();
    run.dataset_hash = "44".repeat(32);
    run.params_trainable = kind.trained;
    run.epochs = epochs;
    run.train_seconds = per_epoch * f64::from(epochs);
    run.cpu_seconds = Some(run.train_seconds);
    let run_id = run.run_id.clone();
    let template = tables.evals.last().expect("it was scored").clone();
    tables.evals.retain(|eval| eval.run_id != run_id);
    for epoch in 1..=epochs {
        tables.evals.push(EvalRow {
            epoch,
            step: u64::from(epoch) * 10,
            metric: metric.into(),
            value: score - 0.1 * (0.5f64.powi(epoch as i32) - 0.5f64.powi(epochs as i32)),
            train_seconds: per_epoch * f64::from(epoch),
            is_final: epoch == epochs,
            ..template.clone()
        });
    }
}
