//! `totune sweep profile`.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use totune_sweep::{Phases, Plan, State};

use crate::command::selection::{NamedRuns, PaperProfile};
use crate::context::Context;
use crate::exit;
use crate::print;
use crate::progress::span;

/// Say what the wall time of finished runs went into
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune sweep profile wang2023 small
  totune sweep profile wang2023 small --dataset cola
  totune sweep profile hart2020 small --json

loading     reading, checking and tokenising the inputs, once for all runs of a process
preparing   computing the activations of frozen layers, or reading cached ones
training    training steps; for runs without an encoder, fitting
scoring     passing dev and test through the model
between     checkpoints, the best weights so far, logs
publishing  writing the results

Only runs that one process did from beginning to end in this folder have phases.")]
pub struct ProfileArgs {
    /// The grid.
    #[command(flatten)]
    of: PaperProfile,
    /// Part of the grid.
    #[command(flatten)]
    named: NamedRuns,
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
}

/// The phases of several runs together.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Sum {
    /// Number of runs.
    runs: usize,
    /// Wall seconds of each phase.
    seconds: Phases,
}

/// Phases by experiment, and in all.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Profile {
    paper: String,
    profile: String,
    /// Finished runs without phases.
    unknown: usize,
    experiments: BTreeMap<String, Sum>,
    all: Sum,
}

impl ProfileArgs {
    /// Prints the phases of the selected runs.
    pub fn run(self, context: &Context) -> Result<u8> {
        let selection = self.named.selection();
        let (paper, profile) = self.of.named(&context.project)?;
        let plan = Plan::new(context.places(), &paper, &profile, &selection)?;
        let mut found = Profile {
            paper,
            profile,
            unknown: 0,
            experiments: BTreeMap::new(),
            all: Sum::default(),
        };
        for run in plan.runs.iter().filter(|run| run.state == State::Done) {
            let Some(phases) = context.store.phases(&run.id) else {
                found.unknown += 1;
                continue;
            };
            let name = run.spec.experiment.clone();
            found.experiments.entry(name).or_default().add(&phases);
            found.all.add(&phases);
        }
        if self.json {
            print::json(&found)?;
        } else {
            found.print();
        }
        Ok(exit::OK)
    }
}

impl Sum {
    fn add(&mut self, phases: &Phases) {
        self.runs += 1;
        self.seconds.add(phases);
    }
}

impl Profile {
    fn print(&self) {
        let (paper, profile, runs) = (&self.paper, &self.profile, self.all.runs);
        if runs == 0 {
            println!(
                "{paper} {profile}: no finished run in this folder has phases; `totune sweep run` records them"
            );
            return;
        }
        println!(
            "{paper} {profile}: {runs} of {} finished runs have phases\n",
            runs + self.unknown
        );
        let width = self
            .experiments
            .keys()
            .map(String::len)
            .max()
            .unwrap_or(0)
            .max(10);
        let names = self
            .all
            .seconds
            .all()
            .map(|(name, _)| format!("{name:>10}"));
        println!(
            "{:width$}  {:>5}  {:>8}  {}",
            "experiment",
            "runs",
            "time",
            names.join("  ")
        );
        let all = ("all".to_string(), &self.all);
        let experiments = self
            .experiments
            .iter()
            .map(|(name, sum)| (name.clone(), sum));
        for (name, sum) in experiments.chain([all]) {
            let total = sum.seconds.total();
            let shares = sum.seconds.all().map(|(_, seconds)| share(seconds, total));
            let time = span(Duration::from_secs_f64(total.max(0.0)));
            println!(
                "{name:width$}  {:>5}  {time:>8}  {}",
                sum.runs,
                shares.join("  ")
            );
        }
        println!();
        let total = self.all.seconds.total();
        for (name, seconds) in self.all.seconds.all() {
            let marks =
                "█".repeat((50.0 * seconds / total.max(f64::MIN_POSITIVE)).round() as usize);
            let line = format!("{name:<10}  {}  {marks}", share(seconds, total));
            println!("{}", line.trim_end());
        }
    }
}

fn share(seconds: f64, total: f64) -> String {
    let share = 100.0 * seconds / total.max(f64::MIN_POSITIVE);
    format!("{share:>8.1} %")
}
