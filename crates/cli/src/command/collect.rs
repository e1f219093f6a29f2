//! `totune collect`: merges finished runs into the tables that reports read.

use anyhow::Result;
use clap::Args;
use totune_sweep::{Plan, Selection, collect, upgrade_results};

use crate::command::selection::PaperProfile;
use crate::context::Context;
use crate::exit;

/// Merge finished runs into results/<paper>/<profile>/
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune collect hart2020 small
  totune collect hart2020 small --partial     although runs are missing
  totune collect hart2020 small --upgrade     only earlier results, with today's names of arms")]
pub struct Collect {
    /// The grid.
    #[command(flatten)]
    of: PaperProfile,
    /// Collect even if runs are missing; earlier tables are replaced, unless runs would be lost
    #[arg(long)]
    pub partial: bool,
    /// Rewrite collected results in the present schema and with the present names of arms; no run is read
    #[arg(long, conflicts_with = "partial")]
    pub upgrade: bool,
}

impl Collect {
    /// Collects, and prints a summary.
    pub fn run(self, context: &Context) -> Result<u8> {
        let (paper, profile) = self.of.named(&context.project)?;
        if self.upgrade {
            let runs = upgrade_results(&context.project, &paper, &profile)?;
            if !context.global.quiet {
                eprintln!("{runs} runs");
            }
            let folder = context.project.results(&paper, &profile);
            println!("{}", folder.display());
            return Ok(exit::OK);
        }
        let selection = Selection::default();
        let plan = Plan::new(context.places(), &paper, &profile, &selection)?;
        let collected = collect(context.places(), &plan, self.partial)?;
        if !context.global.quiet {
            let absent = match collected.absent {
                0 => String::new(),
                absent => format!(", {absent} of the plan missing"),
            };
            let failed = match collected.failed {
                0 => String::new(),
                failed => format!(", {failed} of them failed"),
            };
            let unresolvable = match collected.unresolvable {
                0 => String::new(),
                unresolvable => {
                    format!(", {unresolvable} unresolvable: no trial of their search has a score")
                }
            };
            eprintln!("{} runs{failed}{absent}{unresolvable}", collected.runs);
        }
        println!("{}", collected.folder.display());
        Ok(if collected.failed > 0 {
            exit::SOME_FAILED
        } else {
            exit::OK
        })
    }
}
