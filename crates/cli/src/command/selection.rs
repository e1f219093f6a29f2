//! Options that select runs of a plan.

use anyhow::Result;
use clap::Args;
use totune_sweep::{Plan, Selection, Shard};

use crate::context::Context;

/// Options that name a part of a grid.
#[derive(Debug, Args)]
pub struct NamedRuns {
    /// Only this experiment, trials of its search included; may be given several times
    #[arg(long = "experiment", value_name = "NAME")]
    experiments: Vec<String>,
    /// Only this arm, a strategy or setting that an experiment compares; may be given several times
    #[arg(long = "arm", value_name = "NAME")]
    arms: Vec<String>,
    /// Only runs on this dataset; may be given several times
    #[arg(long = "dataset", value_name = "NAME")]
    datasets: Vec<String>,
}

impl NamedRuns {
    /// The selection of a plan.
    pub fn selection(&self) -> Selection {
        Selection {
            experiments: self.experiments.clone(),
            arms: self.arms.clone(),
            datasets: self.datasets.clone(),
            ..Selection::default()
        }
    }

    /// Each option with its values.
    fn options(&self) -> [(&'static str, &[String]); 3] {
        [
            ("--experiment", &self.experiments),
            ("--arm", &self.arms),
            ("--dataset", &self.datasets),
        ]
    }
}

/// Selection of runs.
#[derive(Debug, Args)]
pub struct RunSelection {
    /// Paper, such as hart2020
    pub paper: String,
    /// Profile: fixture, mini, small, base or paper
    #[arg(default_value = "paper")]
    pub profile: String,
    /// Only the run with this id or unambiguous prefix of it; may be given several times
    #[arg(long, value_name = "RUN-ID")]
    only: Vec<String>,
    /// Part of the grid.
    #[command(flatten)]
    named: NamedRuns,
    /// Only the i-th of N shards of the runs
    #[arg(long, value_name = "i/N")]
    pub shard: Option<Shard>,
    /// Rerun failed runs
    #[arg(long)]
    retry_failed: bool,
}

impl RunSelection {
    /// The selected runs.
    pub fn plan(&self, context: &Context) -> Result<Plan> {
        Plan::new(
            context.places(),
            &self.paper,
            &self.profile,
            &self.selection(),
        )
    }

    /// The selection on a command line, as arguments.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![self.paper.clone(), self.profile.clone()];
        let only: (&str, &[String]) = ("--only", &self.only);
        for (name, values) in [only].into_iter().chain(self.named.options()) {
            arguments.extend(
                values
                    .iter()
                    .flat_map(|value| [name.to_string(), value.clone()]),
            );
        }
        if self.retry_failed {
            arguments.push("--retry-failed".to_string());
        }
        arguments
    }

    /// The selection of a plan.
    pub fn selection(&self) -> Selection {
        Selection {
            only: self.only.clone(),
            shard: self.shard,
            retry_failed: self.retry_failed,
            ..self.named.selection()
        }
    }
}
