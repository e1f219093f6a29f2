//! `totune bench`: our training step, inference and reading beside other programs'.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use totune_model::EncoderCatalogue;

use crate::bench::{self, PeerOptions};
use crate::context::Context;
use crate::exit;

/// Time training, inference and reading beside other programs
#[derive(Debug, Subcommand)]
pub enum Bench {
    Peer(Peer),
    Data(Data),
    #[command(hide = true)]
    Worker(Worker),
    #[command(hide = true)]
    DataWorker(Worker),
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

/// Time reading and tokenising beside Hugging Face's datasets and tokenizers, alternating in one run
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune bench data
  totune bench data --rows 40000 --rounds 3

Takes glue/MNLI/train.tsv below the data root and repeats it, or makes rows up where it is not there.
Needs a Python with datasets and tokenizers. Nothing else should run meanwhile.")]
pub struct Data {
    /// Python with datasets and tokenizers
    #[arg(long, default_value = "python3", env = "TOTUNE_PYTHON")]
    python: PathBuf,
    /// Folder for data.json and data.md [default: results/bench in the project]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Folder with tokenizer.json or vocab.txt [default: of all-MiniLM-L6-v2, or else a tiny fixture]
    #[arg(long, value_name = "FOLDER")]
    vocabulary: Option<PathBuf>,
    /// Rounds of alternation
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Rows of the file
    #[arg(long, default_value_t = 400_000)]
    rows: usize,
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
            Self::Data(data) => {
                let project = context.project.root.clone();
                let page = bench::data(&bench::DataOptions {
                    source: context.roots.data.join("glue/MNLI/train.tsv"),
                    vocabulary: data.vocabulary(context)?,
                    out: data.out.unwrap_or_else(|| bench::default_out(&project)),
                    project,
                    python: data.python,
                    rounds: data.rounds.max(1),
                    rows: data.rows.max(1),
                })?;
                println!("{}", page.display());
            }
            Self::DataWorker(worker) => bench::data_worker(&worker.case)?,
            Self::Worker(worker) => {
                let machine = context.machine()?;
                bench::worker(&worker.case, &machine.device, &machine.device_name)?;
            }
        }
        Ok(exit::OK)
    }
}

impl Data {
    fn vocabulary(&self, context: &Context) -> Result<PathBuf> {
        if let Some(folder) = &self.vocabulary {
            return Ok(folder.clone());
        }
        let encoders = EncoderCatalogue::read(&context.project.root.join("encoders"))?;
        let card = encoders.find("all-minilm-l6-v2")?;
        let found = card.locate(&[context.roots.of_encoder(&context.project, card.fixture)]);
        Ok(found.unwrap_or_else(|| context.project.root.join("fixtures/data")))
    }
}
