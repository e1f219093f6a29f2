//! `totune sweep submit`: a sweep as jobs of a scheduler.

mod job;
mod refuse;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use totune_cluster::{Slurm, Submission};
use totune_sweep::{Plan, timestamp};

use super::submissions;
use crate::command::selection::RunSelection;
use crate::command::sweep::{counts, is_silent, refuse_misfits};
use crate::context::Context;
use crate::exit;
use crate::interval::Checkpointing;

/// Name of the stage that collects.
const COLLECT: &str = "collect";

/// Submit the missing runs of a paper's profile to SLURM, as an array of workers and a job that collects
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune sweep submit hart2020 paper --slurm --time 4:00:00 --partition gpu
  totune sweep submit hart2020 paper --slurm --max-jobs 50 --cpus 8 --memory 32G
  totune sweep submit hart2020 paper --slurm --setup 'module load cuda' --sbatch=--qos=long
  totune sweep submit hart2020 small --slurm --gpus 0 --cpus 16    without GPUs
  totune sweep submit hart2020 paper --slurm --dry-run             writes the scripts only
  totune sweep status hart2020 paper

Each task of the array is a worker that takes one run after the other, so short runs share a job;
runs that start from the same cached activations stay together. Runs that wait for a search are done
by a second array, which depends on the first, and the last job collects the results.
A task is warned before its time limit, writes a checkpoint and requeues itself; after preemption
or a failure of its node SLURM requeues it. Scripts, logs and ids of the jobs are in runs/slurm/.
Fetch data and encoders first: compute nodes often have no network.")]
pub struct SubmitArgs {
    #[command(flatten)]
    which: RunSelection,
    #[command(flatten)]
    checkpointing: Checkpointing,
    /// Submit to SLURM
    #[arg(long, required = true)]
    slurm: bool,
    /// GPUs of each job, one run on each at a time; 0 for jobs without [default: 1, with --device cpu or flex 0]
    #[arg(long, value_name = "N")]
    gpus: Option<usize>,
    /// Time limit of each job, as sbatch takes it: minutes, h:mm:ss or d-hh:mm:ss
    #[arg(long, value_name = "TIME", default_value = "4:00:00")]
    time: String,
    /// Partition
    #[arg(long, value_name = "NAME")]
    partition: Option<String>,
    /// Account
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// Maximum number of jobs at a time
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = positive)]
    max_jobs: usize,
    /// Cores of each job
    #[arg(long, value_name = "N", value_parser = positive)]
    cpus: Option<usize>,
    /// Memory of each job, as sbatch takes it: 32G
    #[arg(long, value_name = "SIZE")]
    memory: Option<String>,
    /// Another option for sbatch, such as --sbatch=--qos=long or --sbatch='--comment=my runs'; may be given several times
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    sbatch: Vec<String>,
    /// A line of the script before the command, such as 'module load cuda'; may be given several times
    #[arg(long, value_name = "LINE")]
    setup: Vec<String>,
    /// Seconds between the signal to stop and the time limit, fewer than that has
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u32).range(1..=65535))]
    notice: u32,
    /// Times a job may be started again, after its time limit, preemption or a failure of its node
    #[arg(long, value_name = "N", default_value_t = 20)]
    restarts: u32,
    /// Minutes of runs that are worth a job of their own, where runs of the same kind have been timed
    #[arg(long, value_name = "MINUTES", default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..))]
    pack: u64,
    /// Collect at the end even if runs are missing, as where only a part of the grid is selected
    #[arg(long)]
    partial: bool,
    /// Write the scripts, submit nothing
    #[arg(long)]
    dry_run: bool,
}

fn positive(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "expected a whole number above 0".to_string())
}

/// Whether the owner of a run does not renew its lease, as one that has ended without a word. On other machines nobody can be
/// asked, so that this takes as long as the time between two renewals.
fn is_left(context: &Context, plan: &Plan) -> Result<bool> {
    let silent = || {
        plan.runs
            .iter()
            .filter(|run| is_silent(context, run))
            .count()
    };
    let n = silent();
    if n == 0 {
        return Ok(false);
    }
    let wait = context.store.renewal()?.mul_f64(1.5);
    let seconds = wait.as_secs_f64();
    context.note([format!(
        "looking for {seconds:.0} s whether the owners of {n} runs are still at them"
    )]);
    std::thread::sleep(wait);
    Ok(silent() > 0)
}

impl SubmitArgs {
    /// Writes the scripts and submits them.
    pub fn run(self, context: &Context) -> Result<u8> {
        let slurm = Slurm::default();
        let Some((first, second)) = self.workers(context, &slurm)? else {
            return Ok(exit::OK);
        };
        let (paper, profile) = self.which.named(context)?;
        let name = format!("totune-{paper}-{profile}-{}", totune_disk::unique_name());
        let folder = submissions(context).join(&name);
        totune_disk::create_folder(&folder)?;
        let scripts = self.scripts(context, &folder, (first, second))?;
        if self.dry_run {
            let paths = scripts.iter().map(|(_, script)| script.display());
            paths.for_each(|path| println!("{path}"));
            return Ok(exit::OK);
        }
        let mut record = Submission {
            name,
            paper,
            profile,
            submitted: timestamp(),
            arrays: Vec::new(),
            collect: None,
            cancelled: false,
        };
        submit(&slurm, &scripts, &folder, &mut record)?;
        if !context.global.quiet {
            let search = match second {
                0 => String::new(),
                jobs => format!(", then {jobs} for what waits for a search"),
            };
            let last = if self.collects() {
                ", then one that collects"
            } else {
                "; none collects a part of the grid without --partial"
            };
            let ids: Vec<&str> = record.jobs().collect();
            eprintln!(
                "{first} jobs for the runs{search}{last}: {}",
                ids.join(", ")
            );
        }
        println!("{}", folder.display());
        Ok(exit::OK)
    }

    /// Writes the scripts of all stages, of which the first two have so many workers; returns the names of their jobs and
    /// their paths.
    fn scripts(
        &self,
        context: &Context,
        folder: &Path,
        (first, second): (usize, usize),
    ) -> Result<Vec<(String, PathBuf)>> {
        let arrays = [("runs", first), ("after-search", second)];
        let arrays = arrays.into_iter().filter(|(_, tasks)| *tasks > 0);
        let stages = arrays
            .map(|(stage, tasks)| (stage, Some(tasks)))
            .chain(self.collects().then_some((COLLECT, None)));
        let write = |(stage, tasks)| {
            let job = self.job(context, folder, stage, tasks)?;
            let path = folder.join(format!("{stage}.sh"));
            totune_disk::write_atomically(&path, job.script().as_bytes())?;
            Ok((job.name, path))
        };
        stages.map(write).collect()
    }

    /// Whether a job collects in the end. Of a part of the grid only where that is asked for: it replaces earlier tables, which
    /// may have more.
    fn collects(&self) -> bool {
        self.partial || !self.which.is_part()
    }

    /// Numbers of jobs for the runs and for those that wait for a search; `None`, and said, where nothing is to be done.
    fn workers(&self, context: &Context, slurm: &Slurm) -> Result<Option<(usize, usize)>> {
        self.refuse()?;
        let plan = self.which.plan(context)?;
        let specs = || plan.to_run().into_iter().map(|run| &run.spec);
        refuse_misfits(context, specs())?;
        if let Some(message) = totune_sweep::missing(&context.project, &context.roots, specs())? {
            bail!("files are missing; nothing was submitted\n\n{message}");
        }
        let most = if self.dry_run {
            self.max_jobs
        } else {
            self.max_jobs.min(slurm.max_task()?)
        };
        let share = Duration::from_secs(self.pack * 60 * self.gpus(context).max(1) as u64);
        let mut workers = plan.workers(most, share);
        // A worker waits for the lease of an owner that has ended unseen, and takes the run over.
        if workers == (0, 0) && is_left(context, &plan)? {
            workers.0 = 1;
        }
        if workers == (0, 0) {
            if !context.global.quiet {
                eprintln!("nothing to submit: {}", counts(&plan));
            }
            return Ok(None);
        }
        Ok(Some(workers))
    }
}

/// Submits scripts, and records their jobs.
fn submit(
    slurm: &Slurm,
    scripts: &[(String, PathBuf)],
    folder: &Path,
    record: &mut Submission,
) -> Result<()> {
    // Before the first job, so that a full disk is found before there are jobs that it cannot name.
    record.write(folder)?;
    for (name, script) in scripts {
        // An array begins when the one before it has ended, and what collects after all of them.
        let id = match slurm.submit(script, name, &record.arrays) {
            Err(error) if !record.arrays.is_empty() => {
                return Err(error.context(go_on(record)));
            }
            submitted => submitted?,
        };
        if name.ends_with(&format!("-{COLLECT}")) {
            record.collect = Some(id);
        } else {
            record.arrays.push(id);
        }
        // After each job, so that none is lost if the next one is refused.
        record.write(folder).with_context(|| {
            let ids: Vec<&str> = record.jobs().collect();
            format!(
                "submitted, and `totune sweep cancel` may not know them: {}; they work all the same, or `scancel {}` ends them",
                ids.join(", "),
                ids.join(" ")
            )
        })?;
    }
    Ok(())
}

/// The message about the jobs of a submission of which SLURM refused a later one.
fn go_on(record: &Submission) -> String {
    let Submission { paper, profile, .. } = record;
    format!(
        "jobs {} were accepted before and go on (`totune sweep cancel {paper} {profile}` ends them; `totune collect {paper} {profile}`, with --partial for a part of the grid, collects once they have ended)",
        record.arrays.join(", ")
    )
}
