//! The committed results are runs of the plans: every row's spec is read, whatever its schema, and has the id of its run.

use std::collections::BTreeSet;
use std::path::Path;

use totune_record::Tables;
use totune_sweep::{Plan, Project, RunSpec, Selection, Store};

fn project() -> Project {
    Project::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).expect("the repository")
}

/// The papers that have results of profile `small`.
fn papers() -> Vec<String> {
    let project = project();
    let mut papers = project.papers().expect("papers");
    papers.retain(|paper| project.results(paper, "small").is_dir());
    assert!(!papers.is_empty());
    papers
}

#[test]
fn a_stored_spec_gives_the_id_of_its_run() {
    for paper in papers() {
        let rows = Tables::read_runs(&project().results(&paper, "small")).expect("rows");
        for row in rows {
            let spec = RunSpec::read(&row.spec).expect("a spec");
            let ids = [spec.id(), spec.id_of_schema_1()];
            assert!(ids.contains(&row.run_id), "{paper}: {}", row.spec);
            // What is read is in full: nothing in it is left to a default.
            let full = RunSpec::read(&spec.canonical_json()).expect("a spec");
            assert_eq!(full, spec);
        }
    }
}

/// Puts trials of searches back into folders of their own, as they were before they were collected: a plan is open until
/// they are there.
fn scatter(tables: &Tables, store: &Store) {
    let trials = tables.runs.iter();
    for run in trials.filter(|run| run.experiment.ends_with("-search")) {
        let folder = store.folder(&run.run_id);
        std::fs::create_dir_all(&folder).expect("a folder");
        let evals = tables.evals.iter();
        let of_run = Tables {
            evals: evals
                .filter(|row| row.run_id == run.run_id)
                .cloned()
                .collect(),
            runs: vec![run.clone()],
            predictions: Vec::new(),
        };
        of_run.write(&folder).expect("writes");
    }
}

#[test]
fn the_plan_has_the_collected_runs_by_their_ids() {
    // Rows are flushed to the disk, which takes its time where there is one.
    let memory = Path::new("/dev/shm");
    let scratch = match memory.is_dir() {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    };
    let scratch = scratch.expect("a temporary folder");
    let store = Store::new(scratch.path().to_path_buf());
    for paper in papers() {
        let tables = Tables::read(&project().results(&paper, "small")).expect("rows");
        scatter(&tables, &store);
        let plan = Plan::new(&project(), &store, &paper, "small", &Selection::default());
        let planned: BTreeSet<String> = plan
            .expect("a plan")
            .runs
            .into_iter()
            .map(|run| run.id)
            .collect();
        let collected = tables.runs.into_iter().map(|row| row.run_id).collect();
        let differing: Vec<_> = planned.symmetric_difference(&collected).collect();
        assert!(differing.is_empty(), "{paper}: {differing:?}");
    }
}
