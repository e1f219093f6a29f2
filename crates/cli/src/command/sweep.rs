//! `totune sweep`: planning and executing runs.

use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use totune_sweep::{
    Estimate, KindCost, Machine, Plan, RunSpec, Selection, Shard, State, Summary, Timing,
};

use crate::command::timing::TimeArgs;
use crate::context::Context;
use crate::exit;
use crate::progress::{Audience, Curves};

/// Plan runs and run them
#[derive(Debug, Subcommand)]
pub enum Sweep {
    Plan(PlanArgs),
    Run(RunArgs),
    Time(TimeArgs),
    Restore(RestoreArgs),
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
  totune sweep run hart2020 small --retry-failed
  totune sweep run hart2020 small --tensorboard curves    then: tensorboard --logdir curves
  totune sweep run hart2020 small --log-format json

Every run has a log in its folder, runs/<id>/run.log.
An interrupted sweep resumes when the same command is run again; finished runs are kept.
Several sweeps may work on one store: each run has one owner at a time.")]
pub struct RunArgs {
    #[command(flatten)]
    which: RunSelection,
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

/// Selection of runs.
#[derive(Debug, Args)]
struct RunSelection {
    /// Paper, such as hart2020
    paper: String,
    /// Profile: fixture, mini, small, base or paper
    #[arg(default_value = "paper")]
    profile: String,
    /// Only the run with this id or unambiguous prefix of it; may be given several times
    #[arg(long, value_name = "RUN-ID")]
    only: Vec<String>,
    /// Only this experiment, trials of its search included; may be given several times
    #[arg(long, value_name = "NAME")]
    experiment: Vec<String>,
    /// Only runs on this dataset; may be given several times
    #[arg(long, value_name = "NAME")]
    dataset: Vec<String>,
    /// Only the i-th of N shards of the runs
    #[arg(long, value_name = "i/N")]
    shard: Option<Shard>,
    /// Rerun failed runs
    #[arg(long)]
    retry_failed: bool,
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
            Self::Run(args) => {
                let (paper, profile) = (args.which.paper.clone(), args.which.profile.clone());
                let selection = args.which.selection();
                execute(context, (&paper, &profile), selection, &args.curves)
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

impl RunSelection {
    fn plan(self, context: &Context) -> Result<Plan> {
        let (paper, profile) = (self.paper.clone(), self.profile.clone());
        Plan::new(context.places(), &paper, &profile, &self.selection())
    }

    fn selection(self) -> Selection {
        Selection {
            only: self.only,
            experiments: self.experiment,
            datasets: self.dataset,
            shard: self.shard,
            retry_failed: self.retry_failed,
        }
    }
}

/// Interval at which a sweep checks whether another process has finished the trials it waits for.
const LOOK: Duration = Duration::from_secs(1);

/// Executes a plan with progress on stderr, and plans again until no run waits for a search any more; returns the exit
/// code.
pub fn execute(
    context: &Context,
    (paper, profile): (&str, &str),
    mut selection: Selection,
    curves: &Curves,
) -> Result<u8> {
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
            round(context, &plan, &mut desk, curves)?
        };
        finished += summary.finished;
        if idle && finished == 0 && !context.global.quiet {
            eprintln!("nothing to run: {}", counts(&plan));
        }
        let waits = plan.count(State::Waiting) > 0;
        if summary.stopped || !waits || (idle && !plan.waits_for_others) {
            summary.finished = finished;
            return Ok(tell(context, &plan, &summary));
        }
        if summary.finished == 0 {
            if !told && !context.global.quiet {
                eprintln!("waiting for trials that another process owns");
                told = true;
            }
            std::thread::sleep(LOOK);
        }
        let stopped = |desk: &Desk| desk.machine.stop.load(Ordering::Relaxed);
        if desk.as_ref().is_some_and(stopped) {
            summary.stopped = true;
            summary.finished = finished;
            return Ok(tell(context, &plan, &summary));
        }
    }
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
    desk: &mut Option<Desk>,
    curves: &Curves,
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
            let machine = context.machine()?;
            let audience = Audience::new(context, &machine.device_name, curves)?;
            none.insert(Desk { machine, audience })
        }
    };
    let environment = context.environment(machine);
    totune_sweep::execute(plan, &context.store, environment, &audience.listeners())
}

fn refuse_misfits<'a>(
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
            "{waiting} runs wait for trials of their search in other shards; rerun the same command later"
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
fn counts(plan: &Plan) -> String {
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

fn state(state: State) -> &'static str {
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
