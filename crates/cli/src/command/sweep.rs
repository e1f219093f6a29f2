//! `totune sweep`: planning and executing runs.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use totune_sweep::{
    Estimate, KindCost, Machine, Plan, PlannedRun, RunSpec, Selection, Shard, State, Summary,
    Timing,
};

use crate::command::cluster::{self, Devices};
use crate::command::phases::ProfileArgs;
use crate::command::selection::RunSelection;
use crate::command::timing::TimeArgs;
use crate::context::Context;
use crate::exit;
use crate::interval::{Checkpointing, Interval};
use crate::progress::{Audience, Curves};
use crate::signals;

/// Plan runs and run them
#[derive(Debug, Subcommand)]
pub enum Sweep {
    Plan(PlanArgs),
    Run(RunArgs),
    Time(TimeArgs),
    Profile(ProfileArgs),
    Restore(RestoreArgs),
    Submit(cluster::SubmitArgs),
    Status(cluster::StatusArgs),
    Cancel(cluster::CancelArgs),
}

/// List every run of a paper's profile, its state, and why it would run
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune sweep plan hart2020 small
  totune sweep plan hart2020 small --json
  totune sweep plan hart2020 small --shard 2/4
  totune sweep plan peters2019 --estimate
  totune sweep plan peters2019 --estimate --seconds 60 --json

An estimate times a few steps of each kind of run on this device, with random weights and synthetic
examples; it needs neither data nor checkpoints, and nothing else should run meanwhile. Where a step
of a whole batch would take too long, one of fewer examples is timed, and the table says so.")]
pub struct PlanArgs {
    #[command(flatten)]
    which: RunSelection,
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
    /// Estimate the time of the runs on this device instead of listing them
    #[arg(long)]
    estimate: bool,
    /// Seconds to time each kind of run, which takes at least a step of one example
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 20.0,
        requires = "estimate"
    )]
    seconds: f64,
}

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
interrupted one resumes from its newest checkpoint. Ctrl-C, SIGTERM, SIGUSR1 and SIGUSR2 write one
after the current step.
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

/// Put collected runs back into the store, so that a sweep continues on another machine
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune sweep restore wang2023 small      the finished runs of results/wang2023/small/
  totune sweep run wang2023 small          the others

On the machine before: totune collect wang2023 small --partial")]
pub struct RestoreArgs {
    /// Paper, such as hart2020
    paper: String,
    /// Profile: fixture, mini, small, base or paper
    #[arg(default_value = "paper")]
    profile: String,
}

impl Sweep {
    /// Plans or runs.
    pub fn run(self, context: &Context) -> Result<u8> {
        match self {
            Self::Plan(args) => {
                let plan = args.which.plan(context)?;
                refuse_misfits(context, plan.runs.iter().map(|run| &run.spec))?;
                if args.estimate {
                    let quiet = context.global.quiet;
                    let hear = |timing: &Timing| {
                        if !quiet {
                            eprintln!("{}", heard(timing));
                        }
                    };
                    let machine = context.machine()?;
                    let environment = context.environment(&machine);
                    let found = totune_sweep::estimate(&plan, environment, args.seconds, &hear)?;
                    if args.json {
                        println!("{}", serde_json::to_string_pretty(&found)?)
                    } else {
                        print_estimate(&found)
                    }
                    if machine.stop.load(Ordering::Relaxed) {
                        return Ok(exit::STOPPED);
                    }
                } else if args.json {
                    print_json(&plan)?;
                } else {
                    print_plan(&plan);
                }
                Ok(exit::OK)
            }
            Self::Time(args) => args.run(context),
            Self::Profile(args) => args.run(context),
            Self::Restore(args) => {
                let restored = totune_sweep::restore(context.places(), &args.paper, &args.profile)?;
                if !context.global.quiet {
                    eprintln!(
                        "{} runs restored, {} were there",
                        restored.written, restored.kept
                    );
                }
                Ok(exit::OK)
            }
            Self::Submit(args) => args.run(context),
            Self::Status(args) => args.run(context),
            Self::Cancel(args) => args.run(context),
            Self::Run(args) => {
                if let Some(devices) = &args.devices {
                    let mut selected = args.which.arguments();
                    if args.no_wait {
                        selected.push("--no-wait".to_string());
                    }
                    let every = args.checkpointing.checkpoint_every;
                    selected.extend(["--checkpoint-every".to_string(), every.to_string()]);
                    let devices = devices.times(args.processes);
                    return devices.run(context, args.worker, &selected);
                }
                let of = (args.which.paper.as_str(), args.which.profile.as_str());
                let selection = Selection {
                    worker: args.worker,
                    ..args.which.selection()
                };
                let others = if args.no_wait {
                    Others::Leave
                } else {
                    Others::Await
                };
                let output = (args.checkpointing.checkpoint_every, &args.curves);
                execute(context, of, selection, others, output)
            }
        }
    }
}

/// Formats a line of progress.
fn heard(timing: &Timing) -> String {
    match timing {
        Timing::Begins { number, of, label } => format!("timing {number} of {of}: {label}"),
        Timing::Ends(kind) => format!(
            "  {:.3} s a step (timed {}), {:.2} hours for {} runs",
            kind.seconds_per_step,
            timed(kind),
            kind.hours,
            kind.runs
        ),
    }
}

/// Formats the timed steps: `2 x 32`, or `2 x 4 of 32` where a step of a whole batch was too long.
fn timed(kind: &KindCost) -> String {
    let (steps, examples) = (kind.timed.steps, kind.timed.examples);
    if examples < kind.batch_size {
        format!("{steps} x {examples} of {}", kind.batch_size)
    } else {
        format!("{steps} x {examples}")
    }
}

fn print_estimate(found: &Estimate) {
    println!(
        "{:>6}  {:>9}  {:>10}  {:>12}  {:>9}  kind (on {})",
        "runs", "steps", "s a step", "timed", "hours", found.device
    );
    for kind in &found.kinds {
        println!(
            "{:>6}  {:>9}  {:>10.3}  {:>12}  {:>9.2}  {}",
            kind.runs,
            kind.steps,
            kind.seconds_per_step,
            timed(kind),
            kind.hours,
            kind.label
        );
    }
    println!(
        "{:>6}  {:>9}  {:>10}  {:>12}  {:>9.2}  all {} kinds, at most: all epochs, 30 tokens a text, evaluation included",
        found.kinds.iter().map(|kind| kind.runs).sum::<usize>(),
        found.kinds.iter().map(|kind| kind.steps).sum::<u64>(),
        "",
        "",
        found.hours,
        found.kinds.len()
    );
    for (why, runs) in &found.left_out {
        println!("{runs:>6}  left out: {why}");
    }
    for (name, runs) in &found.absent {
        println!("{runs:>6}  need files of `{name}`, which are missing");
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
    let mut desk = None;
    let mut finished = 0;
    let mut told = false;
    loop {
        let plan = Plan::new(context.places(), paper, profile, &selection)?;
        // A run that fails again in this round is not tried a third time in the next.
        selection.retry_failed = false;
        let idle = plan.to_run().is_empty();
        let mut summary = if idle {
            Summary::of_nothing(&plan)
        } else {
            round(context, &plan, (&mut desk, &stop), output)?
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
            return Ok(tell(context, &plan, &summary));
        }
        if summary.finished == 0 {
            if !told && !context.global.quiet {
                eprintln!("waiting for runs that another process owns, or for its lease to end");
                told = true;
            }
            std::thread::sleep(LOOK);
        }
        if stop.load(Ordering::Relaxed) {
            summary.stopped = true;
            summary.finished = finished;
            return Ok(tell(context, &plan, &summary));
        }
    }
}

/// Whether the owner of a run may have ended since, or before anybody knew: then this process may yet take the run over.
fn is_silent(context: &Context, run: &PlannedRun) -> bool {
    run.state == State::Running && context.store.may_be_left(&run.id)
}

/// Resources shared by the rounds of a sweep.
struct Desk {
    machine: Machine,
    audience: Audience,
}

/// Executes a plan with runs to do.
fn round(
    context: &Context,
    plan: &Plan,
    (desk, stop): (&mut Option<Desk>, &Arc<AtomicBool>),
    (checkpoints, curves): (Interval, &Curves),
) -> Result<Summary> {
    // Missing files are reported before a device is chosen: on a fresh machine that is the first thing to know.
    let specs = || plan.to_run().into_iter().map(|run| &run.spec);
    refuse_misfits(context, specs())?;
    if let Some(message) = totune_sweep::missing(&context.project, &context.roots, specs())? {
        bail!("files are missing; nothing was run and nothing was written\n\n{message}");
    }
    let Desk { machine, audience } = match desk {
        Some(desk) => desk,
        none => {
            let machine = Machine {
                checkpoint_every: checkpoints.0,
                stop: stop.clone(),
                ..context.machine()?
            };
            let audience = Audience::new(context, &machine.device_name, curves)?;
            none.insert(Desk { machine, audience })
        }
    };
    let environment = context.environment(machine);
    totune_sweep::execute(plan, &context.store, environment, &audience.listeners())
}

/// Refuses settings that do not fit the dataset or the encoder.
pub fn refuse_misfits<'a>(
    context: &Context,
    specs: impl IntoIterator<Item = &'a RunSpec>,
) -> Result<()> {
    match totune_sweep::misfits(&context.project, specs)? {
        Some(message) => bail!("settings do not fit the dataset or the encoder\n\n{message}"),
        None => Ok(()),
    }
}

fn tell(context: &Context, plan: &Plan, summary: &Summary) -> u8 {
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

fn print_json(plan: &Plan) -> Result<()> {
    println!("{}", serde_json::to_string_pretty(plan)?);
    Ok(())
}

fn print_plan(plan: &Plan) {
    for run in &plan.runs {
        let mark = if run.will_run { "run " } else { "    " };
        println!(
            "{mark} {:<16}  {:<10} {}  ({})",
            run.id,
            state(run.state),
            run.label,
            run.why
        );
    }
    println!(
        "{} runs: {}; {} would run",
        plan.runs.len(),
        counts(plan),
        plan.to_run().len()
    );
    for (why, runs) in plan.stale() {
        println!("{runs} stale: {why}; their folders are kept, and new runs take their place");
    }
    for unequal in plan.unequal_searches() {
        println!("not tuned equally hard: {unequal}");
    }
}

/// Formats the numbers of runs by state: `58 done, 2 failed`.
pub fn counts(plan: &Plan) -> String {
    let states = [
        State::Done,
        State::Running,
        State::Interrupted,
        State::Missing,
        State::Failed,
        State::Waiting,
        State::Unresolvable,
    ];
    let counts: Vec<String> = states
        .into_iter()
        .map(|of| (plan.count(of), of))
        .filter(|(count, _)| *count > 0)
        .map(|(count, of)| format!("{count} {}", state(of)))
        .collect();
    counts.join(", ")
}

/// Formats a state.
pub fn state(state: State) -> &'static str {
    match state {
        State::Done => "done",
        State::Running => "running",
        State::Interrupted => "interrupted",
        State::Missing => "missing",
        State::Failed => "failed",
        State::Waiting => "waiting",
        State::Unresolvable => "unresolvable",
    }
}
