//! `totune bench`: our training step and inference beside another program's.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::bench::{self, PeerOptions};
use crate::context::Context;
use crate::exit;

/// Time training and inference beside PyTorch
#[derive(Debug, Subcommand)]
pub enum Bench {
    Peer(Peer),
    #[command(hide = true)]
    Worker(Worker),
}

/// Time our training step and inference beside PyTorch and transformers, alternating in one run
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune bench peer
  totune bench peer --only 'MiniLM, batch 16' --rounds 3

Needs a Python with torch and transformers. Nothing else should run meanwhile.")]
pub struct Peer {
    /// Python with torch and transformers
    #[arg(long, default_value = "python3", env = "TOTUNE_PYTHON")]
    python: PathBuf,
    /// Folder for peer.json and peer.md [default: results/bench in the project]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Rounds of alternation
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Only cases whose name contains this; may be given more than once
    #[arg(long)]
    only: Vec<String>,
}

/// One side of the comparison, started by `bench peer`
#[derive(Debug, Args)]
pub struct Worker {
    /// The case, as JSON
    case: String,
}

impl Bench {
    /// Compares, or works for a comparison.
    pub fn run(self, context: &Context) -> Result<u8> {
        match self {
            Self::Peer(peer) => {
                let project = context.project.root.clone();
                let page = bench::peer(&PeerOptions {
                    out: peer.out.unwrap_or_else(|| bench::default_out(&project)),
                    project,
                    python: peer.python,
                    rounds: peer.rounds,
                    threads: context.threads(),
                    only: peer.only,
                })?;
                println!("{}", page.display());
            }
            Self::Worker(worker) => {
                let machine = context.machine()?;
                bench::worker(&worker.case, &machine.device, &machine.device_name)?;
            }
        }
        Ok(exit::OK)
    }
}
