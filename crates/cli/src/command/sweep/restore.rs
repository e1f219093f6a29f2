//! `totune sweep restore`: collected runs, back in the store.

use anyhow::Result;
use clap::Args;

use crate::command::selection::PaperProfile;
use crate::context::Context;
use crate::exit;

/// Put collected runs back into the store, so that a sweep continues on another machine
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune sweep restore wang2023 small      the finished runs of results/wang2023/small/
  totune sweep run wang2023 small          the others

On the machine before: totune collect wang2023 small --partial")]
pub struct RestoreArgs {
    /// The grid.
    #[command(flatten)]
    of: PaperProfile,
}

impl RestoreArgs {
    /// Restores the runs.
    pub fn run(self, context: &Context) -> Result<u8> {
        let (paper, profile) = self.of.named(&context.project)?;
        let restored = totune_sweep::restore(context.places(), &paper, &profile)?;
        if !context.global.quiet {
            eprintln!(
                "{} runs restored, {} were there",
                restored.written, restored.kept
            );
        }
        Ok(exit::OK)
    }
}
