//! `totune bench probes`: diagnostic classifiers and mutual information of all layers beside scikit-learn and a Python
//! program of EDGE, on the same matrices.
//!
//! As in `bench peer`, each side is a process of its own that sleeps while the others work.

mod matrices;
mod page;
mod worker;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;

use super::median;
use super::side::Side;
use matrices::{Case, Task, What};
use totune_stats::Solver;

pub use worker::worker;

/// What is measured, and how long.
#[derive(Debug)]
pub struct ProbesOptions {
    /// Project folder, for `bench/probes.py`.
    pub project: PathBuf,
    /// Python with scikit-learn.
    pub python: PathBuf,
    /// Where the results go.
    pub out: PathBuf,
    /// Rounds of alternation.
    pub rounds: usize,
    /// Threads of all sides.
    pub threads: usize,
    /// Layers, the embeddings included.
    pub layers: usize,
    /// Width of a layer.
    pub columns: usize,
    /// Only cases whose name contains one of these; all where there is none.
    pub only: Vec<String>,
}

/// Sizes of CoLA, SST-2 (a part of its 67,349 phrases), MRPC and STS-B, with the development parts that the figures
/// show.
const TASKS: [Task; 4] = [
    Task {
        name: "CoLA",
        train: 8551,
        test: 1043,
        scores: false,
    },
    Task {
        name: "SST-2",
        train: 10_000,
        test: 872,
        scores: false,
    },
    Task {
        name: "MRPC",
        train: 3668,
        test: 408,
        scores: false,
    },
    Task {
        name: "STS-B",
        train: 5749,
        test: 1500,
        scores: true,
    },
];

/// How far apart the scores of a layer may be: a few rows answered otherwise where a search stops early, and a few
/// cells whose border a rounded number lies on.
const TOLERANCE: f64 = 0.02;

/// Our side with the solver that does not take scikit-learn's steps.
const PRECONDITIONED: &str = "totune, preconditioned";

/// Seconds of one side.
#[derive(Debug, Serialize)]
struct Timing {
    side: String,
    version: String,
    seconds: Vec<f64>,
    median: f64,
    peak_memory: u64,
    scores: Vec<f64>,
}

/// One task and what is done with its layers; ours first, once or twice.
#[derive(Debug, Serialize)]
struct Outcome {
    name: String,
    timings: Vec<Timing>,
}

impl Outcome {
    /// The seconds of a side.
    fn of(&self, side: &str) -> Option<f64> {
        let timing = self.timings.iter().find(|timing| timing.side == side);
        timing.map(|timing| timing.median)
    }

    /// The seconds of the faster Python side.
    fn fastest_peer(&self) -> f64 {
        let peers = self
            .timings
            .iter()
            .filter(|timing| timing.side.starts_with("python"));
        peers
            .map(|timing| timing.median)
            .fold(f64::INFINITY, f64::min)
    }
}

/// Runs the comparison and writes `probes.json` and `probes.md` below `options.out`.
///
/// # Errors
/// When Python or scikit-learn are not there, a side fails, or the sides do not agree.
pub fn probes(options: &ProbesOptions) -> Result<PathBuf> {
    let mut outcomes = Vec::new();
    for task in &TASKS {
        let kinds: &[(What, &str)] = if task.scores {
            &[(What::Linear, "linear regression")]
        } else {
            &[
                (What::Logistic, "logistic regression"),
                (What::Edge, "EDGE"),
            ]
        };
        let named = kinds
            .iter()
            .map(|(what, title)| (*what, format!("{}, {title}", task.name)));
        let wanted = |name: &str| {
            options.only.is_empty() || options.only.iter().any(|only| name.contains(only))
        };
        let cases: Vec<(What, String)> = named.filter(|(_, name)| wanted(name)).collect();
        if cases.is_empty() {
            continue;
        }
        // One task at a time: the layers of all would take gigabytes.
        let scratch = tempfile::Builder::new().prefix("totune-bench").tempdir()?;
        matrices::write(scratch.path(), task, options.layers, options.columns)?;
        for (what, name) in cases {
            eprintln!("{name}");
            let timings = compare(options, scratch.path(), what)?;
            outcomes.push(Outcome { name, timings });
            // Written after each: what was measured survives an interruption.
            page::write(options, &outcomes)?;
        }
    }
    if outcomes.is_empty() {
        bail!("--only: no case matches");
    }
    Ok(options.out.join("probes.md"))
}

fn compare(options: &ProbesOptions, folder: &Path, what: What) -> Result<Vec<Timing>> {
    let case = |solver, layers_at_once| Case {
        folder: folder.to_path_buf(),
        what,
        solver,
        layers: options.layers,
        columns: options.columns,
        threads: options.threads,
        layers_at_once,
    };
    let script = options.project.join("bench/probes.py");
    let python = |name: &str, at_once| {
        Side::python(
            name,
            &options.python,
            &script,
            &case(Solver::Lbfgs, at_once),
            options.threads,
        )
    };
    let ours = |name: &str, solver| {
        let case = case(solver, true);
        Side::worker(name, &[], "probes-worker", &case, options.threads)
    };
    let mut sides = vec![ours("totune", Solver::Lbfgs)?];
    if what == What::Logistic {
        sides.push(ours(PRECONDITIONED, Solver::Preconditioned)?);
    }
    sides.push(python("python", false)?);
    if options.threads > 1 {
        sides.push(python("python, layers at once", true)?);
    }
    for side in &mut sides {
        side.run(1)?; // warm-up
    }
    let mut seconds = vec![Vec::new(); sides.len()];
    for _ in 0..options.rounds {
        for (side, seconds) in sides.iter_mut().zip(&mut seconds) {
            seconds.extend(side.run(1)?);
        }
    }
    let timing = |(side, seconds): (Side, Vec<f64>)| {
        let (side_name, version) = (side.name.clone(), side.version.clone());
        let end = side.finish()?;
        let scores = end["scores"].as_array().into_iter().flatten();
        let scores = scores.map(|score| score.as_f64().context("a score that is no number"));
        let timing = Timing {
            side: side_name,
            version,
            median: median(&seconds),
            seconds,
            peak_memory: end["peak_memory"].as_u64().unwrap_or(0),
            scores: scores.collect::<Result<_>>()?,
        };
        eprintln!("  {:<24} {:>8.3} s", timing.side, timing.median);
        Ok(timing)
    };
    let timings: Vec<Timing> = sides
        .into_iter()
        .zip(seconds)
        .map(timing)
        .collect::<Result<_>>()?;
    for timing in &timings {
        for (layer, (ours, theirs)) in timings[0].scores.iter().zip(&timing.scores).enumerate() {
            ensure!(
                (ours - theirs).abs() <= TOLERANCE,
                "{}: layer {layer} has {theirs}; expected {ours}, as totune has it",
                timing.side
            );
        }
    }
    Ok(timings)
}
