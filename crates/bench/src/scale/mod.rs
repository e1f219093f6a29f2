//! `bench scale`: what a command costs as the number of runs grows.
//!
//! For each size it makes a project with that many runs of word counts on a fixture, small enough that the cost of a run
//! is that of starting, recording and publishing it, and lets the program itself do everything: plan, work by many
//! processes at once, collect, report. It compares no sides, so it is no [`Benchmark`](crate::Benchmark).

mod page;
mod process;
mod results;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use totune_sweep::Store;
use totune_sweep::load_average;

pub use page::markdown;
pub use results::{Cost, Scale, Size, Step};

use self::process::cost_of;
use crate::machine::Machine;

/// Its name.
pub const NAME: &str = "scale";
/// Its name, a one-line description, and its needs.
pub const LISTED: [&str; 3] = [
    NAME,
    "plan, workers, collect and report of thousands of runs",
    "Linux; folders of 64 kB for each run; a quarter of an hour for 100,000 runs",
];

// Paper, experiment and profile of the runs.
const PAPER: &str = "scale";
const EXPERIMENT: &str = "word-counts";
const PROFILE: &str = "own";
/// Another paper in the same project, and its number of runs, which stays the same.
const BESIDE: (&str, usize) = ("beside", 10);

/// The settings.
pub struct ScaleRequest<'a> {
    /// Numbers of runs.
    pub sizes: Vec<usize>,
    /// Processes at work at the same time.
    pub workers: usize,
    /// The folder for the projects, one for each size; those of an earlier command are made anew.
    pub work: PathBuf,
    /// The folder for results.
    pub out: PathBuf,
    /// The program, for a project.
    pub totune: &'a dyn Fn(&Path) -> Command,
    /// Its optimisation and commit, such as `opt-level 3, commit 02906ee`.
    pub build: String,
}

/// Measures every size, and writes the results after each; the path of the page.
///
/// # Errors
/// When a command fails, a run is not there exactly once, or a file cannot be written.
pub fn run(request: &ScaleRequest) -> Result<PathBuf> {
    let mut scale = Scale {
        benchmark: NAME.to_string(),
        machine: Machine::here(),
        build: request.build.clone(),
        sizes: Vec::new(),
    };
    scale.keep_other_sizes(&request.out, &request.sizes)?;
    for runs in &request.sizes {
        let size = measure(request, *runs).with_context(|| format!("{runs} runs"))?;
        scale.sizes.push(size);
        scale.sizes.sort_by_key(|size| size.runs);
        scale.write(&request.out)?;
    }
    Ok(request.out.join("scale.md"))
}

fn measure(request: &ScaleRequest, runs: usize) -> Result<Size> {
    let project = request.work.join(runs.to_string());
    begin(&project, runs)?;
    let mut size = Size {
        runs,
        workers: request.workers,
        load: load_average(),
        ..Size::default()
    };
    let store = project.join("runs");
    for step in Step::ALL {
        eprint!("{runs} runs, {}: ", step.title());
        if step == Step::PlanDoneFirst {
            // Workers that read no tables of others have left none.
            let known = store.join("ended");
            if known.exists() {
                fs::remove_file(&known)
                    .with_context(|| format!("{}: cannot be removed", known.display()))?;
            }
        }
        let command = |worker: usize| {
            let mut command = (request.totune)(&project);
            command.args(step.arguments());
            let paper = if step == Step::Beside {
                BESIDE.0
            } else {
                PAPER
            };
            command.args([paper, PROFILE]);
            if step == Step::Work {
                let worker = format!("{worker}/{}", request.workers);
                command.args(["--worker", &worker, "--threads", "1"]);
            }
            command
        };
        let processes = if step == Step::Work {
            request.workers
        } else {
            1
        };
        let cost = cost_of((1..=processes).map(command))?;
        eprintln!(
            "{:.1} s, {:.0} MB",
            cost.seconds,
            cost.peak_memory as f64 / 1e6
        );
        size.costs.insert(step, cost);
        if step == Step::Work {
            check_once(&store, runs)?;
            size.most_entries = most_entries(&store)?;
        }
    }
    Ok(size)
}

/// Makes the project, in place of one of an earlier command.
fn begin(project: &Path, runs: usize) -> Result<()> {
    let shown = project.display();
    let file = project.join(format!("experiments/{PAPER}/{EXPERIMENT}.toml"));
    if project.exists() {
        ensure!(
            file.is_file(),
            "{shown}: found something else, expected a project of `bench {NAME}`; choose another --work"
        );
        fs::remove_dir_all(project).with_context(|| format!("{shown}: cannot be removed"))?;
    }
    write_experiment(project, (PAPER, runs))?;
    write_experiment(project, BESIDE)
}

fn write_experiment(project: &Path, (paper, runs): (&str, usize)) -> Result<()> {
    let seeds: Vec<String> = (1..=runs).map(|seed| seed.to_string()).collect();
    let experiment = format!(
        "paper = \"{paper}\"\nexperiment = \"{EXPERIMENT}\"\nkind = \"sparse\"\n\
         datasets = [\"fixture-tweets\"]\nfeatures = \"count\"\n\
         split = {{ kind = \"hold-out\", test = 0.2, seed = 13 }}\n\n\
         [profiles.{PROFILE}]\nseeds = [{}]\n",
        seeds.join(", ")
    );
    let folder = project.join("experiments").join(paper);
    let file = folder.join(format!("{EXPERIMENT}.toml"));
    fs::create_dir_all(&folder).with_context(|| format!("{}: cannot be made", folder.display()))?;
    fs::write(&file, experiment).with_context(|| format!("{}: cannot be written", file.display()))
}

/// Makes sure that every run was published by exactly one attempt, and no other attempt was made.
fn check_once(store: &Path, runs: usize) -> Result<()> {
    let store = Store::new(store.to_path_buf());
    let ids = store.ids();
    ensure!(ids.len() == runs, "found {} run folders", ids.len());
    for id in ids {
        for part in ["attempts", "results"] {
            let found = entries(&store.folder(&id).join(part))?;
            ensure!(found == 1, "run {id}: found {found} {part}, expected one");
        }
    }
    Ok(())
}

/// The most entries that a folder of the store has.
fn most_entries(folder: &Path) -> Result<usize> {
    let mut most = entries(folder)?;
    for entry in listed(folder)? {
        let entry = entry.with_context(|| format!("{}: cannot be listed", folder.display()))?;
        // Below a run's folder there are few.
        if entry.file_name().len() == 2 {
            most = most.max(entries(&entry.path())?);
        }
    }
    Ok(most)
}

fn entries(folder: &Path) -> Result<usize> {
    Ok(listed(folder)?.count())
}

fn listed(folder: &Path) -> Result<fs::ReadDir> {
    fs::read_dir(folder).with_context(|| format!("{}: cannot be listed", folder.display()))
}
