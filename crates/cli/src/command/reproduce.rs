//! `totune reproduce`: run what a paper lacks, collect, report.

use anyhow::Result;
use clap::Args;
use totune_sweep::{Plan, Selection, collect};

use crate::command::selection::PaperProfile;
use crate::command::sweep::Others;
use crate::context::Context;
use crate::exit;
use crate::interval::Checkpointing;
use crate::progress::Curves;

/// Run the missing runs of a paper's grid, collect the results and write the report
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune reproduce hart2020 fixture              tiny committed data and encoder, offline, a minute
  totune reproduce hart2020 small --device cpu
  totune reproduce hart2020                      the paper's own encoder and sizes (profile paper)
  totune reproduce reviews                       an experiment of your own, its only profile

Finished runs are kept. The last line is the path of the page.")]
pub struct Reproduce {
    /// The grid.
    #[command(flatten)]
    of: PaperProfile,
    /// Rerun failed runs
    #[arg(long)]
    pub retry_failed: bool,
    /// Checkpoints within runs.
    #[command(flatten)]
    pub checkpointing: Checkpointing,
    /// Additional output.
    #[command(flatten)]
    pub curves: Curves,
}

impl Reproduce {
    /// Runs, collects, reports.
    pub fn run(self, context: &Context) -> Result<u8> {
        let selection = Selection {
            retry_failed: self.retry_failed,
            ..Selection::default()
        };
        let interval = self.checkpointing.checkpoint_every;
        let (paper, profile) = self.of.named(&context.project)?;
        let of = (paper.as_str(), profile.as_str());
        let output = (interval, &self.curves);
        let code = super::sweep::execute(context, of, selection, Others::Await, output)?;
        if code == exit::STOPPED {
            return Ok(code);
        }
        let everything = Selection::default();
        let plan = Plan::new(context.places(), &paper, &profile, &everything)?;
        let collected = collect(context.places(), &plan, false)?;
        if !context.global.quiet {
            eprintln!(
                "{} runs in {}",
                collected.runs,
                context.shown(&collected.folder)
            );
        }
        let page = super::report::write(context, &paper, &profile)?;
        println!("{}", page.display());
        Ok(code)
    }
}
