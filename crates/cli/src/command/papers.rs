//! `totune papers`: list of the papers that can be reproduced.

use std::collections::BTreeMap;

use anyhow::Result;
use clap::Args;
use rayon::prelude::*;
use totune_sweep::Experiment;

use crate::context::Context;
use crate::exit;
use crate::print;

/// List papers, their experiments, and the number of runs of each profile
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  totune papers\n  totune papers --json")]
pub struct Papers {
    /// Print JSON: for each paper its experiments, for each of these the number of runs of a profile
    #[arg(long)]
    json: bool,
}

/// Number of runs of each profile.
type Counts = BTreeMap<String, usize>;

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
        let mut found: BTreeMap<String, BTreeMap<String, Counts>> = BTreeMap::new();
        for ((experiments, mut wrong), paper) in papers {
            if !self.json {
                println!("{paper}");
            }
            let counted: Vec<Result<Vec<(&str, usize)>>> =
                experiments.par_iter().map(runs).collect();
            let of_paper = found.entry(paper).or_default();
            for (experiment, counted) in experiments.iter().zip(counted) {
                match counted {
                    Ok(counts) if self.json => {
                        let counts = counts.into_iter().map(|(name, n)| (name.to_string(), n));
                        of_paper.insert(experiment.name.clone(), counts.collect());
                    }
                    Ok(counts) => {
                        let counts = counts.iter().map(|(name, n)| format!("{name} {n}"));
                        let counts = counts.collect::<Vec<_>>().join(", ");
                        println!("  {:<width$} runs: {counts}", experiment.name);
                    }
                    Err(error) => wrong.push(format!("{error:#}")),
                }
            }
            for error in wrong {
                eprintln!("error: {error}");
                code = exit::SOME_FAILED;
            }
        }
        if self.json {
            print::json(&found)?;
        }
        Ok(code)
    }
}

/// The profiles of an experiment with their numbers of runs.
fn runs(experiment: &Experiment) -> Result<Vec<(&str, usize)>> {
    let count = |profile| Ok((profile, experiment.expand(profile)?.len()));
    experiment.profiles().into_par_iter().map(count).collect()
}
