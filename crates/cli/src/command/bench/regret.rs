//! `totune bench regret`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use clap::Args;
use totune_bench::regret::{DATASETS, NAME, RegretRequest, Rows, run};

use crate::command::compare::strategies;
use crate::command::train;
use crate::context::Context;
use crate::exit;
use crate::interval::budget;

/// Options of `totune bench regret`.
#[derive(Debug, Default, PartialEq, Args)]
#[command(next_help_heading = "Options of regret")]
pub(super) struct RegretArgs {
    /// Datasets, separated by commas [default: sst-2,conll2003,sts-b,disaster-tweets]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    datasets: Vec<String>,
    /// Numbers of rows that each dataset is cut to, separated by commas [default: 500,2000,all]
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    rows: Vec<Rows>,
    /// Budget of `totune compare` [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = budget)]
    budget: Option<Duration>,
    /// Encoder [default: totune-bert-mini]
    #[arg(long, value_name = "NAME")]
    encoder: Option<String>,
    /// Strategies, separated by commas [default: those of `totune compare`]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    strategies: Vec<String>,
    /// Seeds of the grid at length [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=100))]
    seeds: Option<u16>,
}

impl RegretArgs {
    /// Refuses these options where another benchmark is named.
    pub fn none(&self) -> Result<()> {
        ensure!(
            *self == Self::default(),
            "--datasets, --rows, --budget, --encoder, --strategies and --seeds: expected only with `{NAME}`"
        );
        Ok(())
    }

    /// Runs the benchmark and prints the path of its page.
    pub fn run(self, context: &Context, work: Option<PathBuf>, out: PathBuf) -> Result<u8> {
        let machine = context.machine()?;
        let or = |given: Vec<String>, usual: &[&str]| match given.as_slice() {
            [] => usual.iter().map(ToString::to_string).collect(),
            _ => given,
        };
        let default = || context.project.root.join("runs/bench-regret");
        let request = RegretRequest {
            datasets: or(self.datasets, &DATASETS),
            rows: match self.rows.as_slice() {
                [] => vec![Rows::Some(500), Rows::Some(2000), Rows::All],
                _ => self.rows,
            },
            budget: self.budget.unwrap_or(Duration::from_secs(600)),
            encoder: self.encoder.unwrap_or_else(|| train::ENCODER.to_string()),
            strategies: strategies(&self.strategies)?,
            seeds: u64::from(self.seeds.unwrap_or(1)),
            work: work.unwrap_or_else(default),
            out,
        };
        Ok(match run(&request, context.environment(&machine))? {
            Some(page) => {
                println!("{}", page.display());
                exit::OK
            }
            None => exit::STOPPED,
        })
    }
}
