//! `totune sweep run`: executing what is missing of a plan.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use totune_sweep::{Machine, Plan, PlannedRun, Selection, Shard, State, Summary};

use super::plan::{counts, refuse_misfits};
use crate::command::cluster::Devices;
use crate::command::selection::RunSelection;
use crate::context::Context;
use crate::exit;
use crate::interval::{Checkpointing, Interval};
use crate::progress::{Audience, Curves};
use crate::signals;

/// Run missing and interrupted runs
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune sweep run hart2020 small
  totune sweep run hart2020 small --only 3f2a91
  totune sweep run wang2023 small --experiment tables --dataset cola
  totune sweep run hart2020 small --shard 2/4     one of four that share a store
  totune sweep run hart2020 paper --devices cuda:0,1,2,3
  totune sweep run wang2023 small --devices cuda:0 --processes 16
  totune sweep run hart2020 small --retry-failed
  totune sweep run hart2020 small --tensorboard curves    then: tensorboard --logdir curves
  totune sweep run hart2020 small --log-format json
  totune sweep run hart2020 base --checkpoint-every 5m

Every run has a log in its folder, runs/<ab>/<id>/run.log.
An interrupted sweep resumes when the same command is run again; finished runs are kept, and the
interrupted one resumes from its newest checkpoint. Ctrl-C, SIGTERM, SIGUSR1, SIGUSR2 and a
closed terminal (SIGHUP, unless nohup has it ignored) write one after the current step.
Several sweeps may work on one store: each run has one owner at a time.")]
pub struct RunArgs {
    #[command(flatten)]
    which: RunSelection,
    /// Devices of this machine, each of which gets processes of its own: cuda:0,1,2,3
    #[arg(long, value_name = "DEVICES", conflicts_with_all = ["device", "shard", "tensorboard"])]
    devices: Option<Devices>,
    /// Processes for each of the devices: small runs fill a GPU together
    #[arg(long, value_name = "N", default_value_t = NonZero::<usize>::MIN, requires = "devices")]
    processes: NonZero<usize>,
    /// Work as the i-th of N on one store: all runs, but first a share of its own
    #[arg(long, value_name = "i/N", conflicts_with = "shard")]
    worker: Option<Shard>,
    /// Do not wait for trials of a search that other processes make
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    checkpointing: Checkpointing,
    #[command(flatten)]
    curves: Curves,
}

impl RunArgs {
    /// Executes the runs, on several devices by a process for each.
    pub fn run(self, context: &Context) -> Result<u8> {
        if let Some(devices) = &self.devices {
            let mut selected = self.which.arguments();
            if self.no_wait {
                selected.push("--no-wait".to_string());
            }
            let every = self.checkpointing.checkpoint_every;
            selected.extend(["--checkpoint-every".to_string(), every.to_string()]);
            let devices = devices.times(self.processes);
            return devices.run(context, self.worker, &selected);
        }
        let (paper, profile) = self.which.named(context)?;
        let of = (paper.as_str(), profile.as_str());
        let selection = Selection {
            worker: self.worker,
            ..self.which.selection()
        };
        let others = if self.no_wait {
            Others::Leave
        } else {
            Others::Await
        };
        let output = (self.checkpointing.checkpoint_every, &self.curves);
        execute(context, of, selection, others, output)
    }
}

/// Interval at which a sweep checks whether another process has finished the runs it waits for, or fallen silent.
const LOOK: Duration = Duration::from_secs(1);

/// Treatment of trials of a search that other processes make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// This process does the runs that they decide on, when they have ended.
    Await,
    /// A process that starts later does those runs.
    Leave,
}

/// Executes a plan with progress on stderr, and plans again until no run waits for a search any more; returns the exit
/// code.
pub fn execute(
    context: &Context,
    (paper, profile): (&str, &str),
    mut selection: Selection,
    others: Others,
    output: (Interval, &Curves),
) -> Result<u8> {
    // From the beginning: a process that only waits is asked to end as well.
    let stop = signals::stop_flag()?;
    let mut resources = None;
    let mut finished = 0;
    let mut said = false;
    loop {
        let plan = Plan::new(context.places(), paper, profile, &selection)?;
        // A run that fails again in this round is not tried a third time in the next.
        selection.retry_failed = false;
        let idle = plan.to_run().is_empty();
        let mut summary = if idle {
            Summary::of_nothing(&plan)
        } else {
            execute_once(context, &plan, (&mut resources, &stop), output)?
        };
        finished += summary.finished;
        if idle && finished == 0 && !context.global.quiet {
            eprintln!("nothing to run: {}", counts(&plan));
        }
        let awaits = others == Others::Await && plan.waits_for_others;
        let waits = plan.count(State::Waiting) > 0 && (!idle || awaits);
        let silent = || plan.runs.iter().any(|run| is_silent(context, run));
        if summary.stopped || !(waits || silent()) {
            summary.finished = finished;
            return Ok(conclude(context, &plan, &summary));
        }
        if summary.finished == 0 {
            if !said && !context.global.quiet {
                eprintln!("waiting for runs that another process owns, or for its lease to end");
                said = true;
            }
            std::thread::sleep(LOOK);
        }
        if stop.load(Ordering::Relaxed) {
            summary.stopped = true;
            summary.finished = finished;
            return Ok(conclude(context, &plan, &summary));
        }
    }
}

/// Whether the owner of a run may have ended since, or before anybody knew: then this process may yet take the run over.
pub(in crate::command) fn is_silent(context: &Context, run: &PlannedRun) -> bool {
    run.state == State::Running && context.store.may_be_left(&run.id)
}

/// Resources shared by the rounds of a sweep.
struct Resources {
    machine: Machine,
    audience: Audience,
}

/// Executes a plan with runs to do.
fn execute_once(
    context: &Context,
    plan: &Plan,
    (resources, stop): (&mut Option<Resources>, &Arc<AtomicBool>),
    (checkpoints, curves): (Interval, &Curves),
) -> Result<Summary> {
    // Missing files are reported before a device is chosen: on a fresh machine that is the first thing to know.
    let specs = || plan.to_run().into_iter().map(|run| &run.spec);
    refuse_misfits(context, specs())?;
    if let Some(message) = totune_sweep::missing(&context.project, &context.roots, specs())? {
        bail!("files are missing; nothing was run and nothing was written\n\n{message}");
    }
    let Resources { machine, audience } = match resources {
        Some(resources) => resources,
        none => {
            let machine = Machine {
                checkpoint_every: checkpoints.0,
                stop: stop.clone(),
                ..context.machine()?
            };
            let audience = Audience::new(context, &machine.device_name, curves)?;
            none.insert(Resources { machine, audience })
        }
    };
    let environment = context.environment(machine);
    totune_sweep::execute(plan, &context.store, environment, &audience.listeners())
}

/// Says what is left to do, and returns the exit code.
fn conclude(context: &Context, plan: &Plan, summary: &Summary) -> u8 {
    let say = |text: String| {
        if !context.global.quiet {
            eprintln!("{text}");
        }
    };
    if summary.elsewhere > 0 {
        say(format!(
            "{} runs are owned by another process; rerun the same command later for what it leaves",
            summary.elsewhere
        ));
    }
    let waiting = plan.count(State::Waiting);
    if waiting > 0 && !summary.stopped {
        say(format!(
            "{waiting} runs wait for trials of their search that other processes make; rerun the same command after those"
        ));
    }
    if summary.failed > 0 {
        say(format!(
            "{} of {} runs failed; `totune sweep plan {} {}` says why, --retry-failed reruns them",
            summary.failed,
            plan.runs.len(),
            plan.paper,
            plan.profile
        ));
    }
    if summary.stopped {
        eprintln!(
            "interrupted after {} runs; rerun the same command to resume (finished runs are kept)",
            summary.finished
        );
        return exit::STOPPED;
    }
    if summary.failed > 0 {
        exit::SOME_FAILED
    } else {
        exit::OK
    }
}
