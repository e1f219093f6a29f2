//! `totune sweep status` and `totune sweep cancel`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use totune_cluster::{Job, Meaning, Slurm, Submission};
use totune_sweep::{Plan, Selection, State};

use super::submissions;
use crate::command::selection::PaperProfile;
use crate::command::sweep::{counts, state};
use crate::context::Context;
use crate::exit;
use crate::print;

/// Say which runs are at work where, which failed and why, and what is left
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune sweep status hart2020 paper
  totune sweep status hart2020 paper --json

The run folders decide what is done. `squeue` and `sacct` are asked once, about the jobs that
`sweep submit` recorded. Without a submission only the run folders are read.")]
pub struct StatusArgs {
    /// The grid.
    #[command(flatten)]
    of: PaperProfile,
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
}

/// Cancel the submitted jobs of a paper's profile; finished runs are kept
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  totune sweep cancel hart2020 paper

`totune sweep submit` again continues with what is left.")]
pub struct CancelArgs {
    /// The grid.
    #[command(flatten)]
    of: PaperProfile,
}

/// Status of a sweep.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Status {
    paper: String,
    profile: String,
    runs: usize,
    /// Number of runs by state.
    states: BTreeMap<&'static str, usize>,
    running: Vec<RunStatus>,
    failed: Vec<RunStatus>,
    jobs: Vec<Job>,
    /// Ids of recorded jobs that the scheduler does not list, since it forgets them or accounting is off.
    forgotten: Vec<String>,
    /// Reason why the scheduler did not answer, or knows less than usual; empty otherwise.
    scheduler: String,
    /// Whether the scheduler answered.
    #[serde(skip)]
    answered: bool,
}

/// A run that is at work or failed.
#[derive(Debug, Serialize)]
struct RunStatus {
    id: String,
    label: String,
    /// Its owner, or its error.
    why: String,
}

impl StatusArgs {
    /// Asks, and prints what was found.
    pub fn run(self, context: &Context) -> Result<u8> {
        let (paper, profile) = self.of.named(&context.project)?;
        let plan = Plan::new(context.places(), &paper, &profile, &Selection::default())?;
        let submitted = Submission::all(&submissions(context), &paper, &profile)?;
        let status = Status::new(context, &plan, &submitted);
        if self.json {
            print::json(&status)?;
        } else {
            status.print(&plan);
        }
        Ok(exit::OK)
    }
}

impl Status {
    fn new(context: &Context, plan: &Plan, submitted: &[(PathBuf, Submission)]) -> Self {
        let of = |wanted: State| plan.runs.iter().filter(move |run| run.state == wanted);
        let mut states = BTreeMap::new();
        for run in &plan.runs {
            *states.entry(state(run.state)).or_default() += 1;
        }
        let (listed, scheduler) = jobs(submitted);
        let answered = listed.is_some();
        let listed = listed.unwrap_or_default();
        let known = |id: &&str| listed.iter().any(|job| job.array() == *id);
        let recorded = submitted.iter().flat_map(|(_, record)| record.jobs());
        let recorded = recorded.filter(|_| answered);
        let forgotten = recorded.filter(|id| !known(id)).map(String::from);
        Self {
            paper: plan.paper.clone(),
            profile: plan.profile.clone(),
            runs: plan.runs.len(),
            states,
            running: of(State::Running)
                .map(|run| RunStatus {
                    id: run.id.clone(),
                    label: run.label.clone(),
                    why: context.store.owner(&run.id).unwrap_or_default(),
                })
                .collect(),
            failed: of(State::Failed)
                .chain(of(State::Unresolvable))
                .map(|run| RunStatus {
                    id: run.id.clone(),
                    label: run.label.clone(),
                    why: run.why.clone(),
                })
                .collect(),
            forgotten: forgotten.collect(),
            jobs: listed,
            scheduler,
            answered,
        }
    }

    fn print(&self, plan: &Plan) {
        for run in &self.running {
            println!("running  {:<16}  {}  ({})", run.id, run.label, run.why);
        }
        for run in &self.failed {
            println!("failed   {:<16}  {}  ({})", run.id, run.label, run.why);
        }
        for job in self.jobs.iter().filter(|job| says_something(job)) {
            let details = [job.nodes.as_str(), job.why.as_str()];
            let details = details.into_iter().filter(|detail| !detail.is_empty());
            let details: Vec<&str> = details.collect();
            println!(
                "job      {:<16}  {}  {}",
                job.id,
                job.state,
                details.join(", ")
            );
        }
        let ended = self.jobs.len() - self.jobs.iter().filter(|job| says_something(job)).count();
        if ended > 0 {
            println!("{ended} jobs have ended without an error");
        }
        if !self.forgotten.is_empty() {
            println!("SLURM no longer lists: {}", self.forgotten.join(", "));
        }
        if !self.scheduler.is_empty() {
            println!("{}", self.scheduler);
        }
        println!("{} runs: {}", self.runs, counts(plan));
        let left = self.runs - plan.count(State::Done) - plan.count(State::Unresolvable);
        let at_work = |job: &Job| job.state.meaning() <= Meaning::Interrupted;
        if left > 0 && self.answered && self.running.is_empty() && !self.jobs.iter().any(at_work) {
            println!(
                "{left} are left and no job is at work: `totune sweep submit {} {} --slurm` continues{}",
                self.paper,
                self.profile,
                if self.failed.is_empty() {
                    ""
                } else {
                    ", with --retry-failed for those that failed"
                }
            );
        }
    }
}

/// Whether a job is worth a line: all but those that have ended well.
fn says_something(job: &Job) -> bool {
    job.state.meaning() != Meaning::Ended
}

/// The submitted jobs as the scheduler lists them, `None` where it does not answer; and the reason where that is so, or
/// where it knows less than usual.
fn jobs(submitted: &[(PathBuf, Submission)]) -> (Option<Vec<Job>>, String) {
    let ids: Vec<String> = submitted
        .iter()
        .flat_map(|(_, record)| record.jobs())
        .map(String::from)
        .collect();
    match Slurm::default().jobs(&ids) {
        Ok((jobs, true)) => (Some(jobs), String::new()),
        Ok((jobs, false)) => (
            Some(jobs),
            "sacct says nothing, so jobs that have ended may be missing".to_string(),
        ),
        Err(error) => (None, format!("{error:#}")),
    }
}

impl CancelArgs {
    /// Cancels the jobs of all submissions that were not cancelled before.
    pub fn run(self, context: &Context) -> Result<u8> {
        let (paper, profile) = self.of.named(&context.project)?;
        let submitted = Submission::all(&submissions(context), &paper, &profile)?;
        let open = submitted
            .into_iter()
            .filter(|(_, record)| !record.cancelled);
        let mut cancelled = Vec::new();
        for (folder, mut record) in open {
            // The collecting job first, or it would start as soon as the arrays end.
            let ids: Vec<String> = record.jobs().map(String::from).rev().collect();
            Slurm::default().cancel(&ids)?;
            cancelled.extend(ids);
            record.cancelled = true;
            record.write(&folder)?;
        }
        if !context.global.quiet {
            match cancelled.len() {
                0 => eprintln!("no submission of {paper} {profile} to cancel"),
                _ => eprintln!("cancelled: {}", cancelled.join(", ")),
            }
        }
        Ok(exit::OK)
    }
}
