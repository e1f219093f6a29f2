//! The timing pass: a row for each phase of each kind of run, kept when it is asked for again.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use burn::tensor::Device;
use totune_record::{TimingRow, read_timing};
use totune_sweep::{
    Environment, Machine, Noise, Plan, Project, Roots, Selection, Silent, Store, TimingEvent,
    TimingRequest, TimingSummary, time,
};

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

/// A project of its own with the cards, presets and fixtures of the repository.
struct Demo {
    folder: tempfile::TempDir,
    machine: Machine,
}

impl Demo {
    fn new(experiment: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for name in ["datasets", "encoders", "fixtures"] {
            let link = folder.path().join(name);
            std::os::unix::fs::symlink(repository.join(name), link).expect("a link");
        }
        let papers = folder.path().join("experiments");
        std::fs::create_dir_all(papers.join("demo")).expect("a folder");
        let presets = repository.join("experiments/presets.toml");
        std::fs::copy(presets, papers.join("presets.toml")).expect("the presets");
        std::fs::write(papers.join("demo/runs.toml"), experiment).expect("an experiment");
        let machine = Machine {
            device: Device::flex(),
            device_name: "cpu (flex)".to_string(),
            threads: 1,
            cache_budget: 1 << 26,
            stop: Arc::new(AtomicBool::new(false)),
        };
        Self { folder, machine }
    }

    /// A pass that other processes may disturb; what was timed by it, and the table.
    fn pass(&self, epochs: usize, stop_after: usize) -> (TimingSummary, Vec<TimingRow>) {
        let project = Project::open(self.folder.path()).expect("a project");
        let store = Store::new(self.folder.path().join("runs"));
        let roots = Roots {
            data: self.folder.path().join("data"),
            encoders: self.folder.path().join("weights"),
            cache: None,
        };
        let plan = Plan::new(&project, &store, "demo", "fixture", &Selection::default());
        let request = TimingRequest {
            plan: &plan.expect("a plan"),
            store: &store,
            environment: Environment {
                project: &project,
                roots: &roots,
                machine: &self.machine,
            },
            epochs,
            noise: Noise::Marked,
            again: false,
        };
        let hear = |event: &TimingEvent| {
            if matches!(event, TimingEvent::Begins { number, .. } if *number > stop_after) {
                self.machine.stop.store(true, Ordering::Relaxed);
            }
        };
        let summary = time(&request, &Silent, &hear).expect("a pass");
        self.machine.stop.store(false, Ordering::Relaxed);
        let rows = read_timing(&summary.folder).expect("a table");
        let left = std::fs::read_dir(store.folder("timing"));
        let left = left.map_or(0, |entries| entries.count());
        assert_eq!(left, 0, "activations and the lock are gone");
        (summary, rows)
    }
}

const ALL: usize = usize::MAX;

#[test]
fn each_kind_is_timed_once_and_a_stopped_pass_goes_on() {
    let demo = Demo::new(EXPERIMENT);
    let (summary, rows) = demo.pass(2, 1);
    assert_eq!((summary.timed, summary.kept, summary.stopped), (1, 0, true));
    let first = rows.clone();
    let (summary, rows) = demo.pass(2, ALL);
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
    }
    // The head is trained on cached activations, what is trained whole is not.
    let cached: Vec<bool> = rows.iter().map(|row| row.cache_seconds > 0.0).collect();
    assert_eq!(cached, [true, true, false]);

    let (summary, again) = demo.pass(2, ALL);
    assert_eq!((summary.timed, summary.kept), (0, 2));
    assert_eq!(again, rows);
    let (summary, longer) = demo.pass(3, ALL);
    assert_eq!((summary.timed, summary.kept), (2, 0));
    assert!(longer.iter().all(|row| row.epochs == 3));
}

#[test]
fn other_settings_are_another_kind_and_the_rows_of_the_old_one_go() {
    let demo = Demo::new(EXPERIMENT);
    let (_, before) = demo.pass(1, ALL);
    let file = demo.folder.path().join("experiments/demo/runs.toml");
    // The epochs of a run are no part of what one takes, but of its settings; a rate that is searched is not.
    let changed = EXPERIMENT
        .replace("lr = 1e-2 }\n", "lr = 1e-3 }\n")
        .replace("[1e-3, 1e-4]", "[1e-5]");
    std::fs::write(&file, changed).expect("an experiment");
    let (summary, after) = demo.pass(1, ALL);
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
    let (summary, rows) = demo.pass(1, ALL);
    assert_eq!((summary.timed, summary.kept), (0, 0));
    assert_eq!(summary.left_out.values().sum::<usize>(), 1);
    assert_eq!(rows.len(), 3, "with nothing to time the table is left");
}
