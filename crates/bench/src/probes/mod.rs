//! `bench probes`: diagnostic classifiers and mutual information of all layers next to scikit-learn and a Python program
//! of EDGE, on the same matrices.

mod matrices;
mod worker;

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use matrices::{Case as Probe, Task, What};
use totune_stats::Solver;

use crate::comparison::{Case, Comparison, SideSpec};
use crate::desk::Desk;
use crate::target::Target;

pub use worker::work;

/// Sizes of CoLA, SST-2 (a part of its 67,349 phrases), MRPC and STS-B, with the development sets that the figures show.
const TASKS: [Task; 4] = [
    Task::new("CoLA", 8551, 1043),
    Task::new("SST-2", 10_000, 872),
    Task::new("MRPC", 3668, 408),
    Task::new("STS-B", 5749, 1500).with_scores(),
];

/// The largest difference allowed between the scores of a layer by logistic regression, where a few rows are predicted
/// differently because a search stops early.
const STOPPED_EARLY: f64 = 0.01;
/// The largest difference allowed between those of the others.
const EXACT: f64 = 1e-4;

/// Goal of logistic regression, against the faster set-up of scikit-learn.
const LOGISTIC: f64 = 3.0;

/// Every task with each kind of probe.
pub fn comparison(desk: &Desk) -> Result<Comparison> {
    let (layers, columns) = if desk.tiny { (2, 8) } else { (13, 768) };
    let sizes: Vec<String> = TASKS
        .iter()
        .map(|task| format!("{} {} and {}", task.name, task.train, task.test))
        .collect();
    let title = "Diagnostic classifiers and mutual information next to Python";
    let mut comparison = Comparison::new(title, &["totune", "totune, preconditioned"]).note(&format!(
        "Synthetic matrices, {layers} layers of {columns} columns, f32; training and test rows: {}.\n\
         A step is one task over all layers: fitting the training rows and predicting the test rows, or EDGE on the test rows.\n\
         `python` takes one layer after the other with all threads in its matmuls, as scikit-learn does by itself, `one thread` with one, `layers at once` as many layers as threads, each on one.\n\
         EDGE in Python is `fixtures/make/edge.py`; linear regression there is in f64, as ours is.\n\
         The scores of all sides agree to {STOPPED_EARLY} in each layer for logistic regression, to {EXACT} for the others.\n\
         `totune` takes the steps of scikit-learn's L-BFGS and stops where it stops, in f64, where scikit-learn computes in f32, the type of its input; `preconditioned` minimises the same objective to the same tolerance in other coordinates, in fewer steps.",
        sizes.join(", ")
    ));
    comparison.mean_value = Some("mean score");
    let scratch = tempfile::Builder::new().prefix("totune-bench").tempdir()?;
    for task in TASKS {
        let task = if desk.tiny { task.tiny() } else { task };
        let kinds: &[(What, &str)] = if task.scores {
            &[(What::Linear, "linear regression")]
        } else {
            &[
                (What::Logistic, "logistic regression"),
                (What::Edge, "EDGE"),
            ]
        };
        for &(what, title) in kinds {
            let root = scratch.path().to_path_buf();
            let folder = root.join(task.name);
            let probe = |solver, layers_at_once| Probe {
                folder: folder.clone(),
                what,
                solver,
                layers,
                columns,
                threads: desk.threads,
                layers_at_once,
            };
            let name = format!("{}, {title}", task.name);
            let mut case = Case::new(name, desk.threads, sides(what, &probe)?);
            let tolerance = match what {
                What::Logistic => STOPPED_EARLY,
                What::Edge | What::Linear => EXACT,
            };
            case = case.agreeing(tolerance, 0.0);
            if what == What::Logistic {
                case.targets = targets(&case.sides);
            }
            // One task at a time: the layers of all take gigabytes.
            case.prepare = Some(Box::new(move || alone(&root, &task, [layers, columns])));
            comparison.cases.push(case);
        }
    }
    comparison.scratch = Some(scratch);
    Ok(comparison)
}

fn sides(what: What, probe: &dyn Fn(Solver, bool) -> Probe) -> Result<Vec<SideSpec>> {
    let ours = |name, solver| SideSpec::ours(name, "probes", &probe(solver, true));
    let mut sides = vec![ours("totune", Solver::Lbfgs)?];
    if what == What::Logistic {
        sides.push(ours("totune, preconditioned", Solver::Preconditioned)?);
    }
    let python = |name, case: Probe| SideSpec::python(name, "probes.py", &case);
    let all = |at_once| probe(Solver::Lbfgs, at_once);
    sides.push(python("python", all(false))?);
    if all(true).threads > 1 {
        let one = Probe {
            threads: 1,
            ..all(false)
        };
        sides.push(python("python, one thread", one)?);
        sides.push(python("python, layers at once", all(true))?);
    }
    Ok(sides)
}

/// Each of our sides against the last of Python's, the faster of its two where there are several threads.
fn targets(sides: &[SideSpec]) -> Vec<Target> {
    let Some(python) = sides.last() else {
        return Vec::new();
    };
    let ours = sides.iter().filter(|side| side.name.starts_with("totune"));
    ours.map(|side| Target::faster(&side.name, &python.name, LOGISTIC))
        .collect()
}

/// Writes the matrices of `task` below `root` where they are not there, and removes those of others.
fn alone(root: &PathBuf, task: &Task, [layers, columns]: [usize; 2]) -> Result<()> {
    for other in fs::read_dir(root)? {
        let other = other?;
        if other.file_name() != task.name {
            fs::remove_dir_all(other.path())?;
        }
    }
    let folder = root.join(task.name);
    if folder.is_dir() {
        Ok(())
    } else {
        matrices::write(&folder, task, layers, columns)
    }
}
