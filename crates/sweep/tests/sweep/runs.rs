//! Small experiments from file to rows.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{Demo, run, score};
use totune_adapt::StepEvent;
use totune_record::Tables;
use totune_sweep::{Progress, Silent, execute};

/// Regression test: on these splits the rows used to hold an accuracy of 0.0 on no examples, without a warning.
#[test]
fn sparse_features_are_evaluated_on_the_file_that_the_split_names() {
    let (summary, tables) = run(r#"
        paper = "demo"
        experiment = "runs"
        kind = "sparse"
        datasets = ["fixture-acceptability"]
        features = "tf-idf"
        logistic = { c = 1.0, max-iter = 100, tol = 1e-4 }
        split = { kind = "files", test = "dev", dev = 0.0, seed = 1 }
        [profiles.fixture]
    "#);
    assert_eq!((summary.finished, summary.failed), (1, 0));
    let accuracy = score(&tables[0], "test", "accuracy").expect("an accuracy");
    assert_eq!(accuracy.n, 12, "the rows of `dev`");
    assert!(accuracy.value >= 0.5, "{}", accuracy.value);
    assert_eq!(tables[0].predictions.len(), 12);
    let acceptable = tables[0].predictions.iter();
    let acceptable = acceptable.filter(|row| row.gold == "acceptable").count();
    assert_eq!(acceptable, 9, "the labels of `dev`");
}

/// Otherwise each of many workers would plan once more after its last run, for runs that the others have done.
#[test]
fn a_run_that_was_done_by_another_process_is_not_left_to_take_over() {
    let demo = Demo::new(
        r#"
        paper = "demo"
        experiment = "runs"
        kind = "sparse"
        datasets = ["fixture-tweets"]
        features = "count"
        logistic = { c = 1.0, max-iter = 100, tol = 1e-4 }
        split = { kind = "hold-out", test = 0.2, seed = 1 }
        [profiles.fixture]
    "#,
    );
    let plan = demo.plan();
    let id = &plan.runs[0].id;
    assert!(demo.store.may_be_left(id), "nobody is at it");
    execute(&plan, &demo.store, demo.environment(), &Silent).expect("a sweep");
    assert!(!demo.store.may_be_left(id), "it is done");
}

#[test]
fn a_test_split_without_labels_is_an_error_of_the_run() {
    let (summary, tables) = run(r#"
        paper = "demo"
        experiment = "runs"
        kind = "sparse"
        datasets = ["fixture-acceptability"]
        features = "tf-idf"
        logistic = { c = 1.0, max-iter = 100, tol = 1e-4 }
        split = { kind = "files", test = "test", dev = 0.0, seed = 1 }
        [profiles.fixture]
    "#);
    assert_eq!((summary.finished, summary.failed), (0, 1));
    let error = &tables[0].runs[0].error;
    assert!(error.contains("expected one text with a class"), "{error}");
}

/// An experiment with these arms.
fn of_encoder(arms: &str) -> String {
    format!(
        r#"
        paper = "demo"
        experiment = "runs"
        kind = "fine-tune"
        datasets = ["fixture-tweets"]
        encoders = ["fixture-bert"]
        seeds = [1]
        split = {{ kind = "hold-out", test = 0.3, seed = 13, train-limit = 160, test-limit = 32 }}
        head = {{ pooling = "mean", dropout = 0.0 }}
        optimizer = "adam-w"
        schedule = "constant"
        stop = "epochs"
        clip = "norm-1"
        cache = "f32"
        batch-size = 16
        evaluation-batch-size = 32
        epochs = 6
        max-length = 32
        dropout = 0.0
        frozen-dropout = "off"
        bucketing = "on"
        dtype = "f32"
        {arms}
        [profiles.fixture]
        "#
    )
}

#[test]
fn strategies_that_add_few_parameters_learn_and_say_how_many() {
    let (summary, tables) = run(&of_encoder(
        r#"
        [[arm]]
        name = "frozen"
        adaptation = { preset = "frozen", lr = 1e-2 }
        [[arm]]
        name = "bitfit"
        adaptation = { preset = "bitfit", lr = 1e-2 }
        [[arm]]
        name = "bitfit-top"
        adaptation = { preset = "bitfit", lr = 1e-2, biases = ["attention.query", "feed_forward.intermediate"], k = 2, embeddings = "frozen" }
        [[arm]]
        name = "lora"
        adaptation = { preset = "lora", rank = 2, alpha = 4.0, lr = 1e-2 }
        [[arm]]
        name = "lora-top"
        adaptation = { preset = "lora", rank = 2, alpha = 4.0, lr = 1e-2, k = 2, dropout = 0.1 }
        "#,
    ));
    assert_eq!((summary.finished, summary.failed), (5, 0));
    let trainable = |i: usize| tables[i].runs[0].params_trainable;
    let (head, wide) = (trainable(0), 64);
    // Of each of 4 layers 32 wide: four attention products and two of the feed-forward, two shifts; and the embeddings'.
    assert_eq!(trainable(1) - head, 4 * (4 * 32 + wide + 32 + 2 * 32) + 32);
    assert_eq!(trainable(2) - head, 2 * (32 + wide));
    // Queries and values: A [2, 32] and B [32, 2].
    assert_eq!(trainable(3) - head, 4 * 2 * (2 * 32 + 32 * 2));
    assert_eq!(trainable(4) - head, 2 * 2 * (2 * 32 + 32 * 2));
    for tables in &tables {
        let run = &tables.runs[0];
        let losses = tables.evals.iter();
        let losses = losses.filter(|row| row.split == "train" && row.metric == "loss");
        let losses: Vec<f64> = losses.map(|row| row.value).collect();
        let (first, last) = (losses[0], losses[losses.len() - 1]);
        assert!(last < first - 0.01, "{}: {losses:?}", run.spec);
        // Where the lower layers stay as they are, runs begin above them.
        let cached = run.cache_seconds > 0.0;
        assert_eq!(
            cached,
            run.spec.contains("\"k\":2") || run.spec.contains("frozen\",\"lr"),
            "{}",
            run.spec
        );
    }
}

#[test]
fn a_module_that_the_encoder_lacks_is_named_in_the_row_with_those_it_has() {
    let (summary, tables) = run(&of_encoder(
        r#"
        [[arm]]
        name = "lora"
        adaptation = { preset = "lora", lr = 1e-2, targets = ["querry"] }
        [[arm]]
        name = "bitfit"
        adaptation = { preset = "bitfit", lr = 1e-2, biases = ["querry"] }
        "#,
    ));
    assert_eq!((summary.finished, summary.failed), (0, 2));
    let error = |i: usize| tables[i].runs[0].error.clone();
    assert!(
        error(0)
            .starts_with("adaptation.targets: found `querry`, expected one of attention.query, "),
        "{}",
        error(0)
    );
    assert!(
        error(1).contains("querry") && error(1).contains("encoder.layers.<i>.attention.query, "),
        "{}",
        error(1)
    );
}

/// A device whose memory does not suffice for the first step.
struct OutOfMemory(AtomicBool);

impl Progress for OutOfMemory {
    fn step(&self, _: &StepEvent) {
        if !self.0.swap(true, Ordering::Relaxed) {
            panic!("CUDA out of memory. Tried to allocate 2.00 GiB");
        }
    }
}

#[test]
fn a_run_that_does_not_fit_the_device_goes_on_with_half_as_many_examples_at_once() {
    let experiment = of_encoder(
        r#"
        [[arm]]
        name = "full"
        adaptation = { preset = "full", lr = 1e-4 }
        "#,
    );
    let expected = run(&experiment).1.swap_remove(0);
    let demo = Demo::new(&experiment);
    let plan = demo.plan();
    let progress = OutOfMemory(AtomicBool::new(false));
    let summary = execute(&plan, &demo.store, demo.environment(), &progress).expect("a sweep");
    assert_eq!((summary.finished, summary.failed), (1, 0));
    let found = demo.store.tables(&plan.runs[0].id).expect("rows");
    let size = score(&found, "train", "micro-batch-size").expect("a row");
    assert_eq!((size.value, size.is_final), (8.0, true));
    assert!(score(&expected, "train", "micro-batch-size").is_none());
    // Without dropout the gradients are the same but for rounding.
    for (split, metric) in [("train", "loss"), ("test", "loss"), ("test", "accuracy")] {
        let of = |tables| score(tables, split, metric).expect("a score").value;
        let (found, expected) = (of(&found), of(&expected));
        assert!(
            (found - expected).abs() < 1e-4,
            "{split} {metric}: {found} {expected}"
        );
    }
    let spec = |tables: &Tables| tables.runs[0].spec.clone();
    assert_eq!(spec(&found), spec(&expected));
}

/// A device whose memory never suffices.
struct NoMemory;

impl Progress for NoMemory {
    fn step(&self, _: &StepEvent) {
        panic!("CUDA out of memory. Tried to allocate 2.00 GiB");
    }
}

#[test]
fn memory_that_runs_out_twice_is_the_end_of_a_run() {
    let demo = Demo::new(&of_encoder(
        r#"
        [[arm]]
        name = "full"
        adaptation = { preset = "full", lr = 1e-3 }
        "#,
    ));
    let plan = demo.plan();
    let summary = execute(&plan, &demo.store, demo.environment(), &NoMemory).expect("a sweep");
    assert_eq!((summary.finished, summary.failed), (0, 1));
    let found = demo.store.tables(&plan.runs[0].id).expect("rows");
    assert_eq!(found.runs[0].status, "oom");
    let log = std::fs::read_to_string(demo.store.folder(&plan.runs[0].id).join("run.log"));
    let log = log.expect("a log");
    assert_eq!(log.matches("8 examples at once").count(), 1, "{log}");
}
