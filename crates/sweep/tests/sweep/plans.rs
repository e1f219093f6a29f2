//! The plans of all papers, run by run: changes of an experiment file, or of its reading, that should leave the runs
//! unchanged are checked against `tests/plans/<paper>.txt`, which has a hash of every run's settings.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use totune_sweep::{Places, Plan, Project, Roots, RunSpec, Selection, Store};

/// Digits of a hash in the list: few enough to be compact, many enough to tell some thousand runs apart.
const DIGITS: usize = 8;

fn project() -> Project {
    Project::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).expect("the repository")
}

fn list(paper: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/plans")
        .join(format!("{paper}.txt"))
}

/// The runs of a paper by `<profile> <experiment>` and hash of their settings.
type Plans = BTreeMap<String, BTreeMap<String, Option<RunSpec>>>;

fn hash(run: &RunSpec) -> String {
    run.id_of_schema_1()[..DIGITS].to_string()
}

fn planned(paper: &str) -> Plans {
    let mut plans = Plans::new();
    for experiment in project().experiments(paper).expect("experiments") {
        for profile in experiment.profiles() {
            let runs = experiment.expand(profile).expect("expands");
            let n = runs.len();
            let runs: BTreeMap<_, _> = runs
                .into_iter()
                .map(|run| (hash(&run), Some(run)))
                .collect();
            assert_eq!(runs.len(), n, "{paper}: two runs have the same hash");
            plans.insert(format!("{profile} {}", experiment.name), runs);
        }
    }
    plans
}

/// One line `<profile> <experiment>`, then the hashes in order.
fn write(plans: &Plans) -> String {
    let mut text = String::new();
    for (name, runs) in plans {
        writeln!(text, "{name}").expect("a string takes all");
        let hashes: Vec<&str> = runs.keys().map(String::as_str).collect();
        for line in hashes.chunks(16) {
            writeln!(text, "  {}", line.join(" ")).expect("a string takes all");
        }
    }
    text
}

fn read(text: &str) -> Plans {
    let mut plans = Plans::new();
    let mut name = String::new();
    for line in text.lines() {
        match line.strip_prefix("  ") {
            None => {
                name = line.to_string();
                plans.entry(name.clone()).or_default();
            }
            Some(hashes) => {
                let hashes = hashes.split(' ').map(|hash| (hash.to_string(), None));
                plans
                    .get_mut(&name)
                    .expect("a heading first")
                    .extend(hashes);
            }
        }
    }
    plans
}

/// Shows the settings of each run that the list does not have.
#[test]
fn the_runs_of_every_plan_are_those_of_the_list() {
    let mut differences = String::new();
    for paper in project().papers().expect("papers") {
        let listed = std::fs::read_to_string(list(&paper)).expect("a list for each paper");
        let (listed, planned) = (read(&listed), planned(&paper));
        let names = listed.keys().chain(planned.keys());
        for name in names.collect::<std::collections::BTreeSet<_>>() {
            let empty = BTreeMap::new();
            let listed = listed.get(name).unwrap_or(&empty);
            let planned = planned.get(name).unwrap_or(&empty);
            let new = planned
                .iter()
                .filter(|(hash, _)| !listed.contains_key(*hash));
            let new: Vec<&RunSpec> = new.filter_map(|(_, run)| run.as_ref()).collect();
            let gone = listed.keys().filter(|hash| !planned.contains_key(*hash));
            let gone = gone.count();
            if gone + new.len() > 0 {
                let counts = format!("{} not in the list, {gone} of it missing", new.len());
                writeln!(differences, "{paper}: {name}: {counts}").expect("a string takes all");
            }
            for run in new.iter().take(3) {
                let (label, json) = (run.label(), run.canonical_json());
                writeln!(differences, "  {label}\n    {json}").expect("a string takes all");
            }
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

#[test]
#[ignore = "writes the lists; for a change that is to change plans"]
fn write_the_lists() {
    for paper in project().papers().expect("papers") {
        std::fs::create_dir_all(list(&paper).parent().expect("a folder")).expect("a folder");
        std::fs::write(list(&paper), write(&planned(&paper))).expect("writes");
    }
}

/// Progress, plans and failures name runs by their labels.
#[test]
fn no_two_runs_of_a_plan_have_the_same_label() {
    let nowhere = tempfile::tempdir().expect("a temporary folder");
    let roots = Roots {
        data: nowhere.path().join("data"),
        encoders: nowhere.path().join("encoders"),
        cache: None,
    };
    let (project, store) = (project(), Store::new(nowhere.path().join("runs")));
    let places = Places {
        project: &project,
        store: &store,
        roots: &roots,
    };
    for paper in project.papers().expect("papers") {
        let experiments = project.experiments(&paper).expect("experiments");
        let profiles = experiments
            .iter()
            .flat_map(|experiment| experiment.profiles());
        for profile in BTreeSet::from_iter(profiles) {
            let plan = Plan::new(places, &paper, profile, &Selection::default()).expect("a plan");
            let mut labels = BTreeMap::new();
            for run in &plan.runs {
                if let Some(other) = labels.insert(&run.label, run) {
                    panic!(
                        "{paper} {profile}: {}: {:?} {:?}",
                        run.label, other.spec, run.spec
                    );
                }
            }
        }
    }
}
