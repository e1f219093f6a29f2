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
        let read = |paper: String| Ok((context.project.read_experiments(&paper)?, paper));
        let papers = context.project.papers()?.into_iter().map(read);
        let papers = papers.collect::<Result<Vec<_>>>()?;
        let all = papers.iter().flat_map(|((experiments, _), _)| experiments);
        let longest = all.map(|experiment| experiment.name.chars().count()).max();
        let width = longest.unwrap_or(0);
        for ((experiments, mut wrong), paper) in papers {
            println!("{paper}");
            let counted: Vec<Result<String>> = experiments.par_iter().map(runs).collect();
            for (experiment, counted) in experiments.iter().zip(counted) {
                match counted {
                    Ok(runs) => println!("  {:<width$} runs: {runs}", experiment.name),
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
