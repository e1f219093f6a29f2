//! Small experiments from file to rows, for the tests of kinds of work.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use burn::tensor::Device;
use totune_record::{EvalRow, Tables};
use totune_sweep::{
    Environment, Machine, Plan, Project, Roots, Selection, Silent, Store, Summary, execute,
};

fn repository() -> Project {
    Project::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).expect("the repository")
}

/// Runs an experiment of a project of its own, with the cards, presets and fixtures of the repository.
pub fn run(experiment: &str) -> (Summary, Vec<Tables>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let repository = repository().root;
    for name in ["datasets", "encoders", "fixtures"] {
        let link = folder.path().join(name);
        std::os::unix::fs::symlink(repository.join(name), link).expect("a link");
    }
    let papers = folder.path().join("experiments");
    std::fs::create_dir_all(papers.join("demo")).expect("a folder");
    let presets = repository.join("experiments/presets.toml");
    std::fs::copy(presets, papers.join("presets.toml")).expect("the presets");
    std::fs::write(papers.join("demo/runs.toml"), experiment).expect("an experiment");
    let project = Project::open(folder.path()).expect("a project");
    let store = Store::new(folder.path().join("runs"));
    let roots = Roots {
        data: folder.path().join("data"),
        encoders: folder.path().join("weights"),
        cache: None,
    };
    let machine = Machine {
        device: Device::flex(),
        device_name: "cpu (flex)".to_string(),
        threads: 1,
        cache_budget: 1 << 26,
        stop: Arc::new(AtomicBool::new(false)),
    };
    let plan = Plan::new(&project, &store, "demo", "fixture", &Selection::default());
    let plan = plan.expect("a plan");
    let environment = Environment {
        project: &project,
        roots: &roots,
        machine: &machine,
    };
    let summary = execute(&plan, &store, environment, &Silent).expect("a sweep");
    let tables = plan.runs.iter().map(|run| store.tables(&run.id));
    let tables = tables.collect::<Result<_, _>>().expect("rows of every run");
    (summary, tables)
}

/// The last score of a split by a metric.
pub fn score<'a>(tables: &'a Tables, split: &str, metric: &str) -> Option<&'a EvalRow> {
    let mut rows = tables.evals.iter().rev();
    rows.find(|row| row.split == split && row.metric == metric)
}
