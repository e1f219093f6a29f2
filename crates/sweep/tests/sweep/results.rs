//! The committed results match the plans: every row's spec can be read, whatever its schema, and has the id of its run.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::symlink;
use std::path::Path;

use tempfile::TempDir;
use totune_record::{RunRow, StoredTables, Tables};
use totune_sweep::{
    Arms, Places, Plan, Project, Roots, RunSpec, Selection, Store, read_results, upgrade_results,
};

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

/// Runs as they were collected under schema 1; none of a paper that was added later.
fn of_schema_1(paper: &str) -> Vec<RunRow> {
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schema-1");
    let folder = folders.join(paper);
    if !folder.is_dir() {
        return Vec::new();
    }
    Tables::read_runs(&folder).expect("rows")
}

/// A project of these rows, which were replaced by others since, with the paper's settings in a folder.
fn of_that_time(paper: &str, settings: &Path, runs: Vec<RunRow>) -> (TempDir, Project) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let experiments = folder.path().join("experiments");
    std::fs::create_dir(&experiments).expect("a folder");
    let presets = project().root.join("experiments/presets.toml");
    symlink(presets, experiments.join("presets.toml")).expect("a link");
    symlink(settings, experiments.join(paper)).expect("a link");
    let scratch = Project::open(folder.path()).expect("a project");
    let results = scratch.results(paper, "small");
    std::fs::create_dir_all(&results).expect("a folder");
    let tables = Tables {
        runs,
        ..Tables::default()
    };
    tables.write(&results).expect("writes");
    (folder, scratch)
}

/// The same with the rows of Table 2 of wang2019 and their settings.
fn with_table_2() -> (TempDir, Project) {
    let settings = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schema-1/wang2019");
    of_that_time("wang2019", &settings, of_table_2())
}

/// The rows of Table 2 of wang2019.
fn of_table_2() -> Vec<RunRow> {
    let mut rows = of_schema_1("wang2019");
    rows.retain(|row| row.experiment == "table-2");
    assert!(!rows.is_empty());
    rows
}

#[test]
fn a_spec_of_schema_1_gives_the_id_of_its_run_and_its_arm() {
    for row in papers().iter().flat_map(|paper| of_schema_1(paper)) {
        assert!(!row.spec.contains("schema"), "{}", row.spec);
        let spec = RunSpec::read(&row.spec).expect("a spec");
        assert_eq!(spec.id_of_schema_1(), row.run_id, "{}", row.spec);
    }
    let (_folder, scratch) = with_table_2();
    let arms = Arms::of(&scratch, "wang2019", "small").expect("arms");
    for row in of_table_2() {
        let spec = RunSpec::read(&row.spec).expect("a spec");
        assert!(arms.find(&spec).is_some(), "{}", row.spec);
    }
}

#[test]
fn a_stored_spec_gives_the_id_of_its_run() {
    for paper in papers() {
        let rows = Tables::read_runs(&project().results(&paper, "small")).expect("rows");
        for row in rows {
            let spec = RunSpec::read(&row.spec).expect("a spec");
            let mut ids = spec.earlier_ids().chain([spec.id()]);
            assert!(ids.any(|id| id == row.run_id), "{paper}: {}", row.spec);
            // What is read is in full: nothing in it is left to a default.
            let full = RunSpec::read(&spec.canonical_json()).expect("a spec");
            assert_eq!(full, spec);
        }
    }
}

/// Puts trials of searches back into folders of their own, as they were before they were collected: a plan has unchosen
/// settings until they are there.
fn scatter(tables: &StoredTables, store: &Store) {
    let write = |run: &RunRow| {
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
    };
    let trials = tables.runs.iter();
    let trials = trials.filter(|run| run.experiment.ends_with("-search"));
    let trials: Vec<&RunRow> = trials.collect();
    // Not rayon's threads: one that waits for polars, which writes in threads of its own, would begin the next run on the same stack.
    std::thread::scope(|scope| {
        for part in trials.chunks(trials.len().div_ceil(4).max(1)) {
            scope.spawn(move || part.iter().copied().for_each(write));
        }
    });
}

#[test]
fn the_plan_has_the_collected_runs_by_their_ids() {
    // Rows are flushed to the disk, which takes its time where there is one.
    let memory = Path::new("/dev/shm");
    let scratch = if memory.is_dir() {
        tempfile::tempdir_in(memory)
    } else {
        tempfile::tempdir()
    };
    let scratch = scratch.expect("a temporary folder");
    let store = Store::new(scratch.path().to_path_buf());
    let nowhere = || scratch.path().join("nothing");
    let roots = Roots {
        data: nowhere(),
        encoders: nowhere(),
        cache: None,
    };
    for paper in papers() {
        let tables = StoredTables::read(&project().results(&paper, "small")).expect("rows");
        scatter(&tables, &store);
        let places = Places {
            project: &project(),
            store: &store,
            roots: &roots,
        };
        let plan = Plan::new(places, &paper, "small", &Selection::default());
        let planned: BTreeSet<String> = plan
            .expect("a plan")
            .runs
            .into_iter()
            .map(|run| run.id)
            .collect();
        // A grid may have arms that are still to be run; what was run is in it.
        let collected: BTreeSet<String> = tables.runs.into_iter().map(|row| row.run_id).collect();
        let unplanned: Vec<_> = collected.difference(&planned).collect();
        assert!(unplanned.is_empty(), "{paper}: {unplanned:?}");
    }
}

#[test]
fn every_collected_run_is_of_an_arm() {
    for paper in papers() {
        let tables = read_results(&project(), &paper, "small").expect("rows");
        for row in tables.runs {
            let spec = RunSpec::read(&row.spec).expect("a spec");
            assert!(!spec.arm.is_empty(), "{paper}: {}", row.spec);
            assert_eq!(row.spec, spec.canonical_json(), "an older schema");
        }
    }
}

/// Rows from before schema 6 do not record the number of trials, but their trials are stored.
#[test]
fn a_collected_run_knows_how_many_trials_its_settings_were_chosen_from() {
    let settings = project().root.join("experiments/peters2019");
    let rows = of_schema_1("peters2019");
    let (_folder, scratch) = of_that_time("peters2019", &settings, rows);
    let tables = read_results(&scratch, "peters2019", "small").expect("rows");
    let mut counts: BTreeMap<String, BTreeSet<Option<usize>>> = BTreeMap::new();
    for row in tables.runs {
        let spec = RunSpec::read(&row.spec).expect("a spec");
        if spec.experiment.ends_with("-search") || spec.search.is_empty() {
            assert_eq!(spec.search_trials, None, "{}", row.spec);
        } else {
            let of_experiment = counts.entry(spec.experiment).or_default();
            of_experiment.insert(spec.search_trials);
        }
    }
    let expected = [
        ("table-2", BTreeSet::from([Some(2), Some(3)])),
        ("table-2-elmo", BTreeSet::from([Some(2)])),
    ];
    let expected = expected.map(|(experiment, counts)| (experiment.to_string(), counts));
    assert_eq!(counts, BTreeMap::from(expected));
}

#[test]
fn stored_results_are_upgraded_in_place_and_keep_their_ids() {
    let before = of_table_2();
    let (_folder, scratch) = with_table_2();
    for _ in 0..2 {
        let runs = upgrade_results(&scratch, "wang2019", "small").expect("upgrades");
        assert_eq!(runs, before.len());
        let after = Tables::read_runs(&scratch.results("wang2019", "small")).expect("rows");
        for (old, new) in before.iter().zip(&after) {
            assert_eq!(old.run_id, new.run_id);
            let today = RunSpec::read(&new.spec).expect("a spec").canonical_json();
            assert_eq!(new.spec, today, "an older schema");
            assert!(!new.spec.contains(r#""arm":"""#), "{}", new.spec);
        }
    }
}
