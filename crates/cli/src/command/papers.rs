//! `totune papers`: list of the papers that can be reproduced.

use anyhow::Result;
use clap::Args;
use rayon::prelude::*;
use totune_sweep::Experiment;

use crate::context::Context;
use crate::exit;

/// List papers, their experiments, and the number of runs of each profile
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  totune papers")]
pub struct Papers {}

impl Papers {
    /// Prints one line for each experiment; an invalid file does not hide the others.
    pub fn run(self, context: &Context) -> Result<u8> {
        let mut code = exit::OK;
        for paper in context.project.papers()? {
            println!("{paper}");
            let (experiments, mut wrong) = context.project.read_experiments(&paper)?;
            let counted: Vec<Result<String>> = experiments.par_iter().map(runs).collect();
            for (experiment, counted) in experiments.iter().zip(counted) {
                match counted {
                    Ok(runs) => println!("  {:<12} runs: {runs}", experiment.name),
                    Err(error) => wrong.push(format!("{error:#}")),
                }
            }
            for error in wrong {
                eprintln!("error: {error}");
                code = exit::SOME_FAILED;
            }
        }
        Ok(code)
    }
}

/// The profiles of an experiment with their numbers of runs: "fixture 4, small 60".
fn runs(experiment: &Experiment) -> Result<String> {
    let count = |profile: &str| Ok(format!("{profile} {}", experiment.expand(profile)?.len()));
    let counts = experiment.profiles().into_par_iter().map(count);
    Ok(counts.collect::<Result<Vec<_>>>()?.join(", "))
}
