//! Small experiments from file to rows, for the tests of kinds of work.
#![allow(dead_code, reason = "each test takes what it needs")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use burn::tensor::Device;
use totune_record::{EvalRow, Tables};
use totune_sweep::{
    Environment, Machine, Places, Plan, Project, Roots, Selection, Silent, Store, Summary, execute,
};

/// LibTorch where it is built in, which is the faster device.
fn device() -> Device {
    #[cfg(feature = "tch")]
    #[allow(deprecated, reason = "burn 0.22 is the last release with LibTorch")]
    let device = Device::libtorch();
    #[cfg(not(feature = "tch"))]
    let device = Device::flex();
    device
}

/// A project of its own with one experiment, and the cards, presets and fixtures of the repository.
pub struct Demo {
    pub project: Project,
    pub store: Store,
    pub roots: Roots,
    pub machine: Machine,
    /// Removed on drop.
    _folder: tempfile::TempDir,
}

impl Demo {
    pub fn new(experiment: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for name in ["datasets", "encoders", "fixtures"] {
            let link = folder.path().join(name);
            let to = repository
                .canonicalize()
                .expect("the repository")
                .join(name);
            std::os::unix::fs::symlink(to, link).expect("a link");
        }
        let papers = folder.path().join("experiments");
        std::fs::create_dir_all(papers.join("demo")).expect("a folder");
        let presets = repository.join("experiments/presets.toml");
        std::fs::copy(presets, papers.join("presets.toml")).expect("the presets");
        std::fs::write(papers.join("demo/runs.toml"), experiment).expect("an experiment");
        Self {
            project: Project::open(folder.path()).expect("a project"),
            store: Store::new(folder.path().join("runs")),
            roots: Roots {
                data: folder.path().join("data"),
                encoders: folder.path().join("weights"),
                cache: None,
            },
            machine: Machine {
                device: device(),
                device_name: "cpu".to_string(),
                threads: 1,
                cache_budget: 1 << 26,
                checkpoint_every: None,
                stop: Arc::new(AtomicBool::new(false)),
            },
            _folder: folder,
        }
    }

    pub fn plan(&self) -> Plan {
        let selection = Selection::default();
        let plan = Plan::new(self.places(), "demo", "fixture", &selection);
        plan.expect("a plan")
    }

    pub fn places(&self) -> Places<'_> {
        Places {
            project: &self.project,
            store: &self.store,
            roots: &self.roots,
        }
    }

    pub fn environment(&self) -> Environment<'_> {
        Environment {
            project: &self.project,
            roots: &self.roots,
            machine: &self.machine,
        }
    }
}

/// Runs an experiment; returns its summary, and the rows of each run.
pub fn run(experiment: &str) -> (Summary, Vec<Tables>) {
    let demo = Demo::new(experiment);
    let plan = demo.plan();
    let summary = execute(&plan, &demo.store, demo.environment(), &Silent).expect("a sweep");
    let tables = plan.runs.iter().map(|run| demo.store.tables(&run.id));
    let tables = tables.collect::<Result<_, _>>().expect("rows of every run");
    (summary, tables)
}

/// The last score of a split by a metric.
pub fn score<'a>(tables: &'a Tables, split: &str, metric: &str) -> Option<&'a EvalRow> {
    let mut rows = tables.evals.iter().rev();
    rows.find(|row| row.split == split && row.metric == metric)
}
