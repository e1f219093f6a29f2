//! `totune bench`: side by side with other programs.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use totune_model::EncoderCatalogue;

use crate::bench::{self, PeerOptions};
use crate::context::Context;
use crate::exit;

/// Time training, inference, single layers, reading, the cache and probes beside other programs
#[derive(Debug, Subcommand)]
pub enum Bench {
    Peer(Peer),
    Data(Data),
    Cache(CacheArgs),
    Bf16(Bf16Args),
    Lstm(Recurrent),
    Elmo(Recurrent),
    Crf(Recurrent),
    Heads(Recurrent),
    Probes(Probes),
    #[command(hide = true)]
    Worker(Worker),
    #[command(hide = true)]
    CacheWorker(Worker),
    #[command(hide = true)]
    DataWorker(Worker),
    #[command(hide = true)]
    RecurrentWorker(Worker),
    #[command(hide = true)]
    ProbesWorker(Worker),
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

/// Time what keeping the states of frozen layers saves, beside the arithmetic and beside PyTorch
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune bench cache                                            about twelve minutes on two cores
  totune bench cache --only rte --sweep none                    epochs of one task
  totune bench cache --only none --sweep rte --epochs 3         a longer sweep, nothing else
  totune bench cache --only cola --layers 4 --sweep none        one more strategy

Takes RTE, MRPC and CoLA below the data root and all-MiniLM-L6-v2 below the encoder root, whole. What a run does not
measure stays in cache.json as it was, if that is of the same machine.
Needs a Python with torch and transformers. Nothing else should run meanwhile.")]
pub struct CacheArgs {
    /// Python with torch and transformers
    #[arg(long, default_value = "python3", env = "TOTUNE_PYTHON")]
    python: PathBuf,
    /// Folder for cache.json and cache.md [default: results/bench in the project]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Epochs that are timed of each side; `last-1`, whose scores are compared, takes at least two
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Only this task's epochs, or `none`; may be given more than once [default: rte, mrpc and cola]
    #[arg(long, value_name = "TASK")]
    only: Vec<String>,
    /// Top layers that move, 0 for `frozen`; may be given more than once
    #[arg(long, value_name = "K", default_values_t = [1, 2, 0], value_parser = clap::value_parser!(u16).range(0..6))]
    layers: Vec<u16>,
    /// Task whose sweep of 40 runs is run whole, or `none`; may be given more than once
    #[arg(long, value_name = "TASK", default_values_t = ["cola".to_string()])]
    sweep: Vec<String>,
    /// Epochs of each run of a sweep
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    epochs: u16,
    /// Epochs of PyTorch that are timed of each kind, for a sweep
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    peer_epochs: u16,
    /// Time PyTorch with length bucketing too
    #[arg(long)]
    bucketed: bool,
}

/// Time bfloat16 products against f32, ours and PyTorch's, alternating in one run
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune bench bf16
  totune bench bf16 --only 'rte, 32 bucketed, training' --rounds 1

Takes RTE, MRPC and CoLA below the data root and the tokenizer of all-MiniLM-L6-v2 below the encoder root.
Needs a Python with torch and transformers. Nothing else should run meanwhile.")]
pub struct Bf16Args {
    /// Python with torch and transformers
    #[arg(long, default_value = "python3", env = "TOTUNE_PYTHON")]
    python: PathBuf,
    /// Folder for bf16.json and bf16.md [default: results/bench in the project]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Rounds of alternation
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Only cases whose name contains this; may be given more than once
    #[arg(long)]
    only: Vec<String>,
}

/// Time recurrent layers (`lstm`, `elmo`) or conditional random fields (`crf`) beside PyTorch's and burn's, alternating in one run
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune bench lstm
  totune bench crf --rounds 3
  totune bench lstm --only 'BiLSTM, training' --steps 10

Needs a Python with torch. Nothing else should run meanwhile.")]
pub struct Recurrent {
    /// Python with torch
    #[arg(long, default_value = "python3", env = "TOTUNE_PYTHON")]
    python: PathBuf,
    /// Folder for the .json and the .md file [default: results/bench in the project]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Rounds of alternation
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Steps of each side in a round
    #[arg(long, default_value_t = 30, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    steps: u16,
    /// Only cases whose name contains this; may be given more than once
    #[arg(long)]
    only: Vec<String>,
}

/// Time diagnostic classifiers and mutual information of all layers beside scikit-learn and Python
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune bench probes                                    about a quarter of an hour on two cores
  totune bench probes --only 'MRPC' --rounds 1 --layers 3

Makes its matrices up, in files of up to 400 MB below the folder for temporary files.
Needs a Python with scikit-learn. Nothing else should run meanwhile.")]
pub struct Probes {
    /// Python with scikit-learn
    #[arg(long, default_value = "python3", env = "TOTUNE_PYTHON")]
    python: PathBuf,
    /// Folder for probes.json and probes.md [default: results/bench in the project]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Rounds of alternation
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Layers of a task
    #[arg(long, default_value_t = 13, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    layers: u16,
    /// Width of a layer
    #[arg(long, default_value_t = 768, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    columns: u16,
    /// Only cases whose name contains this; may be given more than once
    #[arg(long)]
    only: Vec<String>,
}

impl Recurrent {
    fn run(self, what: bench::What, context: &Context) -> Result<()> {
        let project = context.project.root.clone();
        let page = bench::recurrent(&bench::RecurrentOptions {
            what,
            out: self.out.unwrap_or_else(|| bench::default_out(&project)),
            project,
            python: self.python,
            rounds: self.rounds.into(),
            steps: self.steps.into(),
            threads: context.threads(),
            only: self.only,
        })?;
        println!("{}", page.display());
        Ok(())
    }
}

/// One side of a comparison, started by the command for it
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
            Self::Cache(args) => {
                let project = &context.project;
                let page = bench::cache(&args.options(context), project, &context.roots)?;
                println!("{}", page.display());
            }
            Self::Bf16(args) => {
                let project = &context.project;
                let out = args
                    .out
                    .unwrap_or_else(|| bench::default_out(&project.root));
                let options = bench::Bf16Options {
                    out,
                    python: args.python,
                    rounds: args.rounds.into(),
                    threads: context
                        .global
                        .threads
                        .map_or(vec![1, context.threads()], |n| vec![n.into()]),
                    only: args.only,
                };
                let page = bench::bf16(&options, project, &context.roots)?;
                println!("{}", page.display());
            }
            Self::Lstm(args) => args.run(bench::What::Lstm, context)?,
            Self::Elmo(args) => args.run(bench::What::Elmo, context)?,
            Self::Crf(args) => args.run(bench::What::Crf, context)?,
            Self::Heads(args) => args.run(bench::What::Heads, context)?,
            Self::RecurrentWorker(worker) => {
                let machine = context.machine()?;
                bench::recurrent_worker(&worker.case, &machine.device, &machine.device_name)?;
            }
            Self::Probes(probes) => {
                let project = context.project.root.clone();
                let page = bench::probes(&bench::ProbesOptions {
                    out: probes.out.unwrap_or_else(|| bench::default_out(&project)),
                    project,
                    python: probes.python,
                    rounds: probes.rounds.into(),
                    threads: context.threads(),
                    layers: probes.layers.into(),
                    columns: probes.columns.into(),
                    only: probes.only,
                })?;
                println!("{}", page.display());
            }
            Self::ProbesWorker(worker) => bench::probes_worker(&worker.case)?,
            Self::CacheWorker(worker) => bench::cache_worker(&worker.case, context)?,
            Self::DataWorker(worker) => bench::data_worker(&worker.case)?,
            Self::Worker(worker) => {
                let machine = context.machine()?;
                bench::worker(&worker.case, &machine.device, &machine.device_name)?;
            }
        }
        Ok(exit::OK)
    }
}

impl CacheArgs {
    fn options(self, context: &Context) -> bench::CacheOptions {
        let chosen = |tasks: Vec<String>| -> Vec<String> {
            let wanted = tasks.into_iter().filter(|task| task != "none");
            wanted.collect()
        };
        let tasks = match self.only.as_slice() {
            [] => bench::TASKS.map(str::to_string).to_vec(),
            _ => chosen(self.only),
        };
        let mut orders = vec!["random".to_string()];
        if self.bucketed {
            orders.push("bucketed".to_string());
        }
        bench::CacheOptions {
            python: self.python,
            out: self
                .out
                .unwrap_or_else(|| bench::default_out(&context.project.root)),
            rounds: self.rounds.into(),
            threads: context.threads(),
            tasks,
            layers: self.layers.into_iter().map(usize::from).collect(),
            sweeps: chosen(self.sweep),
            epochs: self.epochs.into(),
            peer_epochs: self.peer_epochs.into(),
            orders,
            budget: context.global.states_budget,
        }
    }
}

impl Data {
    fn vocabulary(&self, context: &Context) -> Result<PathBuf> {
        if let Some(folder) = &self.vocabulary {
            return Ok(folder.clone());
        }
        let encoders = EncoderCatalogue::read(&context.project.root.join("encoders"))?;
        let card = encoders.find("all-minilm-l6-v2")?;
        let found = card.locate(&context.roots.of_encoder(&context.project, card.fixture));
        Ok(found.unwrap_or_else(|| context.project.root.join("fixtures/data")))
    }
}
