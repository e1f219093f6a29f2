//! `totune encoders`: the pretrained checkpoints.

use anyhow::Result;
use clap::Subcommand;

use crate::command::fetch;
use crate::context::Context;

/// Encoders: the pretrained checkpoints
#[derive(Debug, Subcommand)]
pub enum Encoders {
    Fetch(fetch::FetchEncoders),
}

impl Encoders {
    /// Runs the command.
    pub fn run(self, context: &Context) -> Result<u8> {
        match self {
            Self::Fetch(fetch) => fetch.run(context),
        }
    }
}
