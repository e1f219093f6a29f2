//! `totune sweep time`: duration of an epoch of each kind of run on a quiet machine.

use anyhow::Result;
use clap::Args;
use totune_record::TimingRow;
use totune_sweep::{Noise, Plan, Selection, Silent, TimingEvent, TimingRequest, TimingSummary};

use crate::command::selection::{NamedRuns, PaperProfile};
use crate::context::Context;
use crate::exit;

/// Time the epochs of each kind of run on a quiet machine, for curves and costs
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune sweep time wang2023 small
  totune sweep time wang2023 small --epochs 5
  totune sweep time wang2023 small --batches 50    in a fraction of the time
  totune sweep time wang2023 small --anyway    although other jobs run; no page uses such seconds
  totune sweep time wang2023 small --again     measure everything anew
  totune sweep time wang2023 small --experiment tuned-lr --dataset rte

A kind of run is an arm on a dataset with an encoder; kinds that differ only in learning rates are
measured once. In each phase one epoch warms up and some are timed; the medians go to
results/<paper>/<profile>/timing.parquet, and curves and costs of `totune report` use them. Nothing
else should run meanwhile: a machine that is not quiet is refused.
An interrupted pass resumes when the same command is run again.")]
pub struct TimeArgs {
    /// The grid.
    #[command(flatten)]
    of: PaperProfile,
    /// Epochs to time in each phase
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    epochs: u16,
    /// Time epochs of N batches, drawn at random, and scale their seconds to whole ones
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    batches: Option<u16>,
    /// Time even if other processes use the machine, and flag the rows
    #[arg(long)]
    anyway: bool,
    /// Time again what was timed before
    #[arg(long)]
    again: bool,
    /// Part of the grid.
    #[command(flatten)]
    named: NamedRuns,
}

impl TimeArgs {
    /// Times, and prints a summary.
    pub fn run(self, context: &Context) -> Result<u8> {
        // The whole plan, whatever is timed of it: rows of kinds that it lacks are removed.
        let everything = Selection::default();
        let (paper, profile) = self.of.named(&context.project)?;
        let plan = Plan::new(context.places(), &paper, &profile, &everything)?;
        let only = self.named.selection();
        let machine = context.machine()?;
        let quiet = context.global.quiet;
        let request = TimingRequest {
            plan: &plan,
            store: &context.store,
            environment: context.environment(&machine),
            epochs: usize::from(self.epochs),
            batches: self.batches.map(usize::from),
            noise: if self.anyway {
                Noise::Marked
            } else {
                Noise::Refused
            },
            again: self.again,
            only: &only,
        };
        let hear = |event: &TimingEvent| {
            if !quiet {
                eprintln!("{}", heard(event));
            }
        };
        let summary = totune_sweep::time(&request, &Silent, &hear)?;
        println!("{}", told(&summary, &context.shown(&summary.folder)));
        if summary.stopped {
            eprintln!("interrupted; rerun the same command to resume");
            return Ok(exit::STOPPED);
        }
        Ok(exit::OK)
    }
}

/// Formats a line of progress.
fn heard(event: &TimingEvent) -> String {
    match event {
        TimingEvent::Begins { number, of, label } => format!("timing {number} of {of}: {label}"),
        TimingEvent::Ends(phases) => {
            let phases: Vec<String> = phases.iter().map(phase).collect();
            format!("  {}", phases.join("; "))
        }
    }
}

/// Formats a phase: `2.31 s an epoch (2.29 to 2.40), CPU share 97 %, 412 MB of tensors`.
fn phase(row: &TimingRow) -> String {
    let TimingRow {
        epoch_seconds,
        fastest,
        slowest,
        ..
    } = row;
    let mut text = format!("{epoch_seconds:.3} s an epoch ({fastest:.3} to {slowest:.3})");
    if let Some(batches) = row.batches {
        text += &format!(", scaled from {batches} batches");
    }
    if row.cache_seconds > 0.0 {
        text += &format!(", {:.3} s to cache", row.cache_seconds);
    }
    if let Some(share) = row.cpu_share() {
        text += &format!(", CPU share {:.0} %", 100.0 * share);
    }
    if let Some(bytes) = row.tensor_memory {
        text += &format!(", {:.0} MB of tensors", bytes as f64 / 1e6);
    }
    if !row.quiet {
        text += ", not quiet";
    }
    text
}

fn told(summary: &TimingSummary, folder: &str) -> String {
    let mut text = format!(
        "{} kinds of run timed, {} kept: {folder}/timing.parquet",
        summary.timed, summary.kept
    );
    if summary.noisy > 0 {
        text += &format!(
            "\n{} of them on a machine that was not quiet, whose seconds no page uses",
            summary.noisy
        );
    }
    for (what, runs) in &summary.left_out {
        text += &format!("\n{runs} runs have no epochs to time ({what})");
    }
    text
}
