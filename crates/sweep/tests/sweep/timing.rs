//! The timing pass: a row for each phase of each kind of run, kept when the pass is repeated.

use std::sync::atomic::Ordering;

use totune_record::{TimingRow, read_timing};
use totune_sweep::{Noise, Selection, Silent, TimingEvent, TimingRequest, TimingSummary, time};

use crate::support::Demo;

const EXPERIMENT: &str = r#"
paper = "demo"
experiment = "runs"
kind = "fine-tune"
datasets = ["fixture-tweets"]
encoders = ["fixture-bert"]
seeds = [3, 1, 2]
split = { kind = "hold-out", test = 0.3, dev = 0.2, seed = 13, train-limit = 60, test-limit = 32 }
head = { pooling = "mean", dropout = 0.0 }
optimizer = "adam-w"
schedule = "constant"
stop = "epochs"
clip = "norm-1"
cache = "f32"
batch-size = 16
evaluation-batch-size = 16
epochs = 7
max-length = 16
dropout = 0.0
frozen-dropout = "off"
bucketing = "off"
dtype = "f32"

[[arm]]
name = "frozen"
adaptation = { preset = "frozen", lr = 1e-2 }

[[arm]]
name = "two-phase"
adaptation = { kind = "stack-and-finetune", head-lr = 1e-2, head-epochs = 5, head-stop = { kind = "epochs" }, lr = 1e-3, pooler = "frozen", embeddings = "trainable" }
search = { kind = "grid", seeds = [9], ranges = { "work.training.adaptation.lr" = [1e-3, 1e-4] } }

[profiles.fixture]
"#;

/// A pass that other processes may disturb; returns its summary and the table.
fn pass(demo: &Demo, epochs: usize, stop_after: usize) -> (TimingSummary, Vec<TimingRow>) {
    pass_of(demo, (epochs, None), stop_after)
}

/// The same with epochs of so many batches.
fn pass_of(
    demo: &Demo,
    (epochs, batches): (usize, Option<usize>),
    stop_after: usize,
) -> (TimingSummary, Vec<TimingRow>) {
    let request = TimingRequest {
        plan: &demo.plan(),
        store: &demo.store,
        environment: demo.environment(),
        epochs,
        batches,
        noise: Noise::Marked,
        again: false,
        only: &Selection::default(),
    };
    let hear = |event: &TimingEvent| {
        if matches!(event, TimingEvent::Begins { number, .. } if *number > stop_after) {
            demo.machine.stop.store(true, Ordering::Relaxed);
        }
    };
    let summary = time(&request, &Silent, &hear).expect("a pass");
    demo.machine.stop.store(false, Ordering::Relaxed);
    let rows = read_timing(&summary.folder).expect("a table");
    let activations = demo.store.folder("timing").join("activations");
    assert!(!activations.exists(), "activations are gone");
    (summary, rows)
}

const ALL: usize = usize::MAX;

#[test]
fn each_kind_is_timed_once_and_a_stopped_pass_goes_on() {
    let demo = Demo::new(EXPERIMENT);
    let (summary, rows) = pass(&demo, 2, 1);
    assert_eq!((summary.timed, summary.kept, summary.stopped), (1, 0, true));
    let first = rows.clone();
    let (summary, rows) = pass(&demo, 2, ALL);
    assert_eq!(
        (summary.timed, summary.kept, summary.stopped),
        (1, 1, false)
    );
    let named: Vec<(&str, u32)> = rows.iter().map(|r| (r.arm.as_str(), r.phase)).collect();
    assert_eq!(named, [("frozen", 0), ("two-phase", 0), ("two-phase", 1)]);
    assert!(first.iter().all(|row| rows.contains(row)), "kept as it was");
    for row in &rows {
        assert_eq!((row.epochs, row.threads), (2, 1));
        assert_eq!(row.dataset, "fixture-tweets");
        assert_eq!(row.encoder, "fixture-bert");
        assert!(row.fastest > 0.0 && row.fastest <= row.epoch_seconds);
        assert!(row.epoch_seconds <= row.slowest);
        assert!(row.cpu_share().is_some_and(|share| share > 0.0), "{row:?}");
        // How much it is depends on the other tests of this process.
        assert!(row.tensor_memory.is_some(), "{row:?}");
    }
    // The head is trained on cached activations, what is trained whole is not.
    let cached: Vec<bool> = rows.iter().map(|row| row.cache_seconds > 0.0).collect();
    assert_eq!(cached, [true, true, false]);

    let (summary, again) = pass(&demo, 2, ALL);
    assert_eq!((summary.timed, summary.kept), (0, 2));
    assert_eq!(again, rows);
    let (summary, longer) = pass(&demo, 3, ALL);
    assert_eq!((summary.timed, summary.kept), (2, 0));
    assert!(longer.iter().all(|row| row.epochs == 3));
}

#[test]
fn epochs_of_some_batches_are_kept_until_whole_ones_are_asked_for() {
    let demo = Demo::new(EXPERIMENT);
    let batches =
        |rows: &[TimingRow]| -> Vec<Option<u32>> { rows.iter().map(|row| row.batches).collect() };
    // The 48 examples of training make three batches.
    for (asked, timed, expected) in [
        (Some(1), 2, Some(1)),
        (Some(1), 0, Some(1)),
        (Some(2), 2, Some(2)),
        (Some(1), 0, Some(2)),
        (Some(3), 2, None),
        (None, 0, None),
        (Some(1), 0, None),
    ] {
        let (summary, rows) = pass_of(&demo, (1, asked), ALL);
        assert_eq!(summary.timed, timed, "{asked:?}");
        assert_eq!(batches(&rows), [expected; 3], "{asked:?}");
    }
}

#[test]
fn other_settings_are_another_kind_and_the_rows_of_the_old_one_go() {
    let demo = Demo::new(EXPERIMENT);
    let (_, before) = pass(&demo, 1, ALL);
    let file = demo.project.root.join("experiments/demo/runs.toml");
    // The epochs of a run are no part of what one takes, but of its settings; a rate that is searched is not.
    let changed = EXPERIMENT
        .replace("lr = 1e-2 }\n", "lr = 1e-3 }\n")
        .replace("[1e-3, 1e-4]", "[1e-5]");
    std::fs::write(&file, changed).expect("an experiment");
    let (summary, after) = pass(&demo, 1, ALL);
    assert_eq!((summary.timed, summary.kept), (1, 1));
    assert_eq!(after.len(), before.len());
    assert_ne!(after[0].settings, before[0].settings);
    assert_eq!(after[1..], before[1..]);

    let sparse = r#"
        paper = "demo"
        experiment = "runs"
        kind = "sparse"
        datasets = ["fixture-acceptability"]
        features = "tf-idf"
        logistic = { c = 1.0, max-iter = 100, tol = 1e-4 }
        split = { kind = "files", test = "dev", dev = 0.0, seed = 1 }
        [profiles.fixture]
    "#;
    std::fs::write(&file, sparse).expect("an experiment");
    let (summary, rows) = pass(&demo, 1, ALL);
    assert_eq!((summary.timed, summary.kept), (0, 0));
    assert_eq!(summary.left_out.values().sum::<usize>(), 1);
    assert_eq!(rows.len(), 3, "with nothing to time the table is left");
}

#[test]
fn kinds_that_differ_only_in_learning_rates_are_measured_once() {
    let more = r#"
[[arm]]
name = "frozen-slower"
adaptation = { preset = "frozen", lr = 1e-3 }

[[arm]]
name = "frozen-wider"
adaptation = { preset = "frozen", lr = 1e-3 }
batch-size = 8

[profiles.fixture]
"#;
    let demo = Demo::new(&EXPERIMENT.replace("[profiles.fixture]\n", more));
    let (summary, rows) = pass(&demo, 1, ALL);
    assert_eq!((summary.timed, summary.kept), (4, 0));
    let of = |arm: &str| rows.iter().find(|row| row.arm == arm).expect("a row");
    let (fast, slow, wide) = (of("frozen"), of("frozen-slower"), of("frozen-wider"));
    let measured = |row: &TimingRow| (row.started, row.epoch_seconds, row.cpu_seconds);
    assert_eq!(measured(fast), measured(slow));
    assert_ne!(fast.settings, slow.settings);
    assert_ne!(wide.epoch_seconds, fast.epoch_seconds);
    let (summary, again) = pass(&demo, 1, ALL);
    assert_eq!((summary.timed, summary.kept), (0, 4));
    assert_eq!(again, rows);
}

#[test]
fn a_dataset_that_is_named_is_timed_and_rows_of_the_others_stay() {
    let both = EXPERIMENT.replace(
        "[\"fixture-tweets\"]",
        "[\"fixture-tweets\", \"fixture-topics\"]",
    );
    let demo = Demo::new(&both);
    let plan = demo.plan();
    let on = |dataset: &str| {
        let only = Selection {
            datasets: vec![dataset.to_string()],
            ..Selection::default()
        };
        let request = TimingRequest {
            plan: &plan,
            store: &demo.store,
            environment: demo.environment(),
            epochs: 1,
            batches: None,
            noise: Noise::Marked,
            again: false,
            only: &only,
        };
        let summary = time(&request, &Silent, &|_| ())?;
        let rows = read_timing(&summary.folder).expect("a table");
        anyhow::Ok((summary.timed, summary.kept, rows.len()))
    };
    assert_eq!(on("fixture-tweets").expect("a pass"), (2, 0, 3));
    assert_eq!(on("fixture-topics").expect("a pass"), (2, 2, 6));
    let error = on("fixture-tweet").expect_err("it is not in the plan");
    assert!(
        format!("{error}").contains("did you mean `fixture-tweets`?"),
        "{error}"
    );
}
