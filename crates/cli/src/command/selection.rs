//! Options that select runs of a plan.

use anyhow::Result;
use clap::Args;
use totune_sweep::{Plan, Selection, Shard};

use crate::context::Context;

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
    /// Only this experiment, trials of its search included; may be given several times
    #[arg(long, value_name = "NAME")]
    experiment: Vec<String>,
    /// Only runs on this dataset; may be given several times
    #[arg(long, value_name = "NAME")]
    dataset: Vec<String>,
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
        let named = [
            ("--only", &self.only),
            ("--experiment", &self.experiment),
            ("--dataset", &self.dataset),
        ];
        for (name, values) in named {
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
            experiments: self.experiment.clone(),
            datasets: self.dataset.clone(),
            shard: self.shard,
            worker: None,
            retry_failed: self.retry_failed,
        }
    }
}
