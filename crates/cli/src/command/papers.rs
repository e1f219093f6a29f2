//! `totune papers`: what there is to reproduce.

use anyhow::Result;
use clap::Args;

use crate::context::Context;
use crate::exit;

/// List papers, their experiments, and the number of runs of each profile
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  totune papers")]
pub struct Papers {}

impl Papers {
    /// Prints one line for each experiment.
    pub fn run(self, context: &Context) -> Result<u8> {
        for paper in context.project.papers()? {
            println!("{paper}");
            for experiment in context.project.experiments(&paper)? {
                let mut counts = Vec::new();
                for profile in experiment.profiles() {
                    counts.push(format!("{profile} {}", experiment.expand(profile)?.len()));
                }
                println!("  {:<12} runs: {}", experiment.name, counts.join(", "));
            }
        }
        Ok(exit::OK)
    }
}
