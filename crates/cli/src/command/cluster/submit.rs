//! `totune sweep submit`: a sweep as jobs of a scheduler.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use totune_cluster::{Request, Slurm, Submission};
use totune_sweep::{Plan, timestamp};

use super::{jobs, submissions};
use crate::command::selection::RunSelection;
use crate::command::sweep::{counts, is_silent, refuse_misfits};
use crate::context::Context;
use crate::device::DeviceRequest;
use crate::exit;
use crate::interval::Checkpointing;

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
    /// GPUs of each job, one run on each at a time; 0 for jobs without
    #[arg(long, value_name = "N", default_value_t = 1)]
    gpus: usize,
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
    /// Another option for sbatch, such as --sbatch=--qos=long; may be given several times
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    sbatch: Vec<String>,
    /// A line of the script before the command, such as 'module load cuda'; may be given several times
    #[arg(long, value_name = "LINE")]
    setup: Vec<String>,
    /// Seconds between the signal to stop and the time limit
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u32).range(1..=65535))]
    notice: u32,
    /// Times a job may be started again, after its time limit, preemption or a failure of its node
    #[arg(long, value_name = "N", default_value_t = 20)]
    restarts: u32,
    /// Minutes of runs that are worth a job of their own, where runs of the same kind have been timed
    #[arg(long, value_name = "MINUTES", default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..))]
    pack: u64,
    /// Collect at the end even if runs are missing
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
        let mut scripts = Vec::new();
        for (stage, tasks) in [("runs", first), ("after-search", second)] {
            if tasks > 0 {
                let command = self.worker(context, tasks)?;
                let job = self.request(&folder, &format!("{name}-{stage}"), Some(tasks), command);
                scripts.push(write(&folder, stage, job)?);
            }
        }
        let job = self.request(
            &folder,
            &format!("{name}-collect"),
            None,
            self.collect(context)?,
        );
        scripts.push(write(&folder, "collect", job)?);
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
        // Before the first job, so that a full disk is found before there are jobs that it cannot name.
        record.write(&folder)?;
        for (at, (name, script)) in scripts.iter().enumerate() {
            // The last one collects, after all arrays; an array begins when the one before it has ended.
            let is_last = at + 1 == scripts.len();
            let id = slurm.submit(script, name, &record.arrays)?;
            if is_last {
                record.collect = Some(id);
            } else {
                record.arrays.push(id);
            }
            // After each job, so that none is lost if the next one is refused.
            record.write(&folder).with_context(|| {
                let ids: Vec<&str> = record.jobs().collect();
                format!(
                    "submitted, and `totune sweep cancel` may not know them: {}; they work all the same, or `scancel {}` ends them",
                    ids.join(", "),
                    ids.join(" ")
                )
            })?;
        }
        if !context.global.quiet {
            let search = match second {
                0 => String::new(),
                jobs => format!(", then {jobs} for what waits for a search"),
            };
            let ids: Vec<&str> = record.jobs().collect();
            eprintln!(
                "{first} jobs for the runs{search}, then one that collects: {}",
                ids.join(", ")
            );
        }
        println!("{}", folder.display());
        Ok(exit::OK)
    }

    /// Numbers of jobs for the runs and for those that wait for a search; `None`, and said, where nothing is to be done.
    fn workers(&self, context: &Context, slurm: &Slurm) -> Result<Option<(usize, usize)>> {
        ensure!(
            self.which.shard.is_none(),
            "--shard: a submission divides its runs among its jobs; expected none"
        );
        self.refuse_lines()?;
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
        let share = Duration::from_secs(self.pack * 60 * self.gpus.max(1) as u64);
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

    /// Refuses values that would end a line of the script, or a comment in it.
    fn refuse_lines(&self) -> Result<()> {
        let values = [
            ("--time", Some(&self.time)),
            ("--partition", self.partition.as_ref()),
            ("--account", self.account.as_ref()),
            ("--memory", self.memory.as_ref()),
        ];
        let options = self.sbatch.iter().map(|option| ("--sbatch", Some(option)));
        for (name, value) in values.into_iter().chain(options) {
            if let Some(value) = value.filter(|value| value.is_empty() || value.contains('\n')) {
                bail!("{name}: found `{value}`, expected a value on one line");
            }
        }
        let is_word = |value: &String| value.split_whitespace().count() == 1;
        ensure!(
            is_word(&self.time),
            "--time: found `{}`, expected a time such as 4:00:00",
            self.time
        );
        if let Some(option) = self.sbatch.iter().find(|option| !option.starts_with('-')) {
            bail!("--sbatch: found `{option}`, expected an option such as --qos=long");
        }
        Ok(())
    }

    /// The command of a worker.
    fn worker(&self, context: &Context, tasks: usize) -> Result<Vec<String>> {
        let mut command = jobs::program(context)?;
        if let Some(cpus) = self.cpus {
            command.extend(["--threads".to_string(), cpus.to_string()]);
        } else if let Some(threads) = context.global.threads {
            command.extend(["--threads".to_string(), threads.to_string()]);
        }
        let device = match (context.global.device, self.gpus) {
            (DeviceRequest::Auto, 0) => DeviceRequest::Auto.on_cpu(),
            // Named, so that a job that gets no GPU fails instead of computing on the CPU.
            (DeviceRequest::Auto, _) => DeviceRequest::Cuda(0),
            (asked, _) => asked,
        };
        let several = matches!(device, DeviceRequest::Cuda(_)) && self.gpus > 1;
        if !several {
            command.extend(["--device".to_string(), device.to_string()]);
        }
        command.extend(["sweep", "run"].map(String::from));
        command.extend(self.which.arguments());
        let every = self.checkpointing.checkpoint_every;
        command.extend(["--checkpoint-every".to_string(), every.to_string()]);
        if several {
            let gpus: Vec<String> = (0..self.gpus).map(|gpu| gpu.to_string()).collect();
            command.extend(["--devices".to_string(), format!("cuda:{}", gpus.join(","))]);
        }
        let number = format!("$SLURM_ARRAY_TASK_ID/{tasks}");
        command.extend(["--worker".to_string(), number, "--no-wait".to_string()]);
        Ok(command)
    }

    /// The command that collects; it needs no device.
    fn collect(&self, context: &Context) -> Result<Vec<String>> {
        let mut command = jobs::program(context)?;
        let (paper, profile) = self.which.named(context)?;
        command.extend(["collect".to_string(), paper, profile]);
        if self.partial {
            command.push("--partial".to_string());
        }
        Ok(command)
    }

    fn request(
        &self,
        folder: &Path,
        name: &str,
        tasks: Option<usize>,
        command: Vec<String>,
    ) -> Request {
        let named = [("partition", &self.partition), ("account", &self.account)];
        let named = named.into_iter().filter_map(|(name, value)| {
            let value = value.as_ref()?;
            Some(format!("--{name}={value}"))
        });
        let is_array = tasks.is_some();
        Request {
            name: name.to_string(),
            made_by: format!(
                "totune sweep submit {} --slurm",
                self.which.arguments().join(" ")
            ),
            tasks,
            time: if is_array {
                self.time.clone()
            } else {
                "1:00:00".to_string()
            },
            gpus: if is_array { self.gpus } else { 0 },
            cpus: self.cpus.filter(|_| is_array),
            memory: self.memory.clone().filter(|_| is_array),
            options: named.chain(self.sbatch.iter().cloned()).collect(),
            notice: self.notice,
            restarts: self.restarts,
            logs: folder.to_path_buf(),
            setup: self.setup.clone(),
            command,
            stopped: exit::REQUEUE,
        }
    }
}

/// Writes the script of a stage; returns the name of its job and its path.
fn write(folder: &Path, stage: &str, job: Request) -> Result<(String, PathBuf)> {
    let path = folder.join(format!("{stage}.sh"));
    totune_disk::write_atomically(&path, job.script().as_bytes())?;
    Ok((job.name, path))
}
