//! `totune sweep plan`: the runs of a profile and their states, or an estimate of their time.

use anyhow::{Result, bail};
use clap::Args;
use totune_sweep::{Plan, RunSpec, State};

use super::estimate;
use crate::command::selection::RunSelection;
use crate::context::Context;
use crate::exit;
use crate::print;

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

impl PlanArgs {
    /// Lists the runs or estimates their time.
    pub fn run(self, context: &Context) -> Result<u8> {
        let plan = self.which.plan(context)?;
        refuse_misfits(context, plan.runs.iter().map(|run| &run.spec))?;
        if self.estimate {
            return estimate::run(context, &plan, self.seconds, self.json);
        }
        if self.json {
            print::json(&plan)?;
        } else {
            print_plan(&plan);
        }
        Ok(exit::OK)
    }
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
