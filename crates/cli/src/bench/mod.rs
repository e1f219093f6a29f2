//! `totune bench`: side by side with other programs, and with ourselves set otherwise. A file or folder for each.
//!
//! Here is `totune bench peer`: our training step and inference beside PyTorch + transformers, alternating in one run.
//!
//! Each side runs in a process of its own that sleeps while the other works, so that neither disturbs the other and
//! each one's peak memory is its own. The peer is `bench/peer.py`; ours is this binary, started again as `worker`.

mod bf16;
mod cache;
mod data;
mod probes;
mod recurrent;
mod side;
mod table;
mod worker;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};
use totune_adapt::Dtype;
use totune_model::BertConfig;

pub use bf16::{Bf16Options, bf16};
pub use cache::{CacheOptions, TASKS, cache, worker as cache_worker};
pub use data::{DataOptions, data, worker as data_worker};
pub use probes::{ProbesOptions, probes, worker as probes_worker};
pub use recurrent::{RecurrentOptions, What, recurrent, worker as recurrent_worker};
use side::Side;
pub use worker::worker;

/// What is timed: a shape, a batch and a way to run it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Case {
    /// Name of the shape.
    pub shape: String,
    /// `train` or `inference`.
    pub mode: Mode,
    /// Optimiser of the PyTorch side; ours has one.
    pub optimizer: String,
    /// Examples in a batch.
    pub batch: usize,
    /// Tokens in an example; none is padding.
    pub seq: usize,
    /// Dropout everywhere.
    pub dropout: f64,
    /// Threads of both sides.
    pub threads: usize,
    /// Wordpieces.
    pub vocab: usize,
    /// Width.
    pub hidden: usize,
    /// Layers.
    pub layers: usize,
    /// Heads.
    pub heads: usize,
    /// Feed-forward width.
    pub intermediate: usize,
    /// Number type of the products of the encoder's layers.
    pub dtype: Dtype,
    /// File with the batches to go round (`bf16/batches.rs`); without one, a synthetic batch.
    pub batches: Option<PathBuf>,
    /// What stands above the encoder.
    pub head: Head,
}

/// What stands above the encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Head {
    /// Pooler and a linear layer: a class for each example.
    Classifier,
    /// Masked language modelling: a wordpiece for every [`Case::MASKED`]th token.
    MaskedLm,
}

/// What one step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Forward, loss, backward, clipping by the global norm, AdamW over all parameters.
    Train,
    /// Forward and argmax.
    Inference,
}

impl Case {
    /// One token in so many is predicted by [`Head::MaskedLm`], about BERT's 15 %; `bench/peer.py` has it too.
    const MASKED: usize = 7;

    fn config(&self) -> BertConfig {
        BertConfig {
            vocab_size: self.vocab,
            hidden_size: self.hidden,
            num_hidden_layers: self.layers,
            num_attention_heads: self.heads,
            intermediate_size: self.intermediate,
            max_position_embeddings: 512,
            type_vocab_size: 2,
            layer_norm_eps: 1e-12,
            hidden_dropout_prob: self.dropout,
            attention_probs_dropout_prob: self.dropout,
            pooler: totune_model::PoolerKind::Tanh,
        }
    }

    /// Floating-point operations of a step, from the products alone (`docs/scaling.md`), for choosing how many steps
    /// to run.
    fn work(&self) -> f64 {
        let (h, s) = (self.hidden as f64, self.seq as f64);
        let token = self.layers as f64 * (24.0 * h * h + 4.0 * s * h);
        let passes = if self.mode == Mode::Train { 3.0 } else { 1.0 };
        token * passes * (self.batch * self.seq) as f64
    }
}

/// Settings of the whole comparison.
#[derive(Debug, Clone)]
pub struct PeerOptions {
    /// Project folder, for `bench/peer.py`.
    pub project: PathBuf,
    /// Python with torch and transformers.
    pub python: PathBuf,
    /// Where the results go.
    pub out: PathBuf,
    /// Rounds of alternation.
    pub rounds: usize,
    /// Threads of both sides.
    pub threads: usize,
    /// Only cases whose name contains one of these; all where there is none.
    pub only: Vec<String>,
}

/// All cases: two shapes, two batches, training with and without dropout against both of PyTorch's AdamW, inference.
fn cases(threads: usize) -> Vec<[Case; 2]> {
    let shapes = [("MiniLM", 384, 6, 1536), ("BERT-base", 768, 12, 3072)];
    let mut cases = Vec::new();
    for (name, hidden, layers, intermediate) in shapes {
        for (batch, seq) in [(16, 64), (32, 128)] {
            for (mode, dropout) in [
                (Mode::Train, 0.0),
                (Mode::Train, 0.1),
                (Mode::Inference, 0.0),
            ] {
                let case = |optimizer: &str| Case {
                    shape: name.to_string(),
                    mode,
                    optimizer: optimizer.to_string(),
                    batch,
                    seq,
                    dropout,
                    threads,
                    vocab: 30522,
                    hidden,
                    layers,
                    heads: 12,
                    intermediate,
                    dtype: Dtype::F32,
                    batches: None,
                    head: Head::Classifier,
                };
                cases.push([case("default"), case("fused")]);
            }
        }
    }
    cases
}

/// Seconds and memory of one side over all rounds.
#[derive(Debug, Clone, Serialize)]
pub struct Timing {
    /// `totune`, `pytorch` or `pytorch-fused`.
    pub side: String,
    /// What ran, with versions.
    pub version: String,
    /// Seconds of every step after the warm-up.
    pub seconds: Vec<f64>,
    /// Median of them.
    pub median: f64,
    /// Tokens per second at the median.
    pub tokens_per_second: f64,
    /// Peak resident memory of the process, in bytes.
    pub peak_memory: u64,
}

/// One case with all its sides.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// The case (with PyTorch's default optimiser).
    pub case: Case,
    /// Ours first.
    pub timings: Vec<Timing>,
}

/// Runs the comparison and writes `peer.json` and `peer.md` below `options.out`.
///
/// # Errors
/// When Python, torch or transformers are not there, or a side fails.
pub fn peer(options: &PeerOptions) -> Result<PathBuf> {
    let mut outcomes = Vec::new();
    for [case, fused] in cases(options.threads) {
        let name = table::name(&case);
        let wanted = options.only.iter().any(|only| name.contains(only));
        if !options.only.is_empty() && !wanted {
            continue;
        }
        eprintln!("{name}");
        let outcome = compare(options, &case, &fused)?;
        for timing in &outcome.timings {
            eprintln!(
                "  {:<14} {:>8.1} ms  {:>7.0} tokens/s  {:>5.0} MB",
                timing.side,
                timing.median * 1e3,
                timing.tokens_per_second,
                timing.peak_memory as f64 / 1e6
            );
        }
        outcomes.push(outcome);
        // Written after each case: what was measured survives an interruption.
        table::write(&options.out, &outcomes)?;
    }
    if outcomes.is_empty() {
        bail!("--only: no case matches");
    }
    Ok(options.out.join("peer.md"))
}

fn compare(options: &PeerOptions, case: &Case, fused: &Case) -> Result<Outcome> {
    let script = options.project.join("bench/peer.py");
    let python =
        |name, case: &Case| Side::python(name, &options.python, &script, case, case.threads);
    let mut sides = vec![Side::ours(case)?, python("pytorch", case)?];
    if case.mode == Mode::Train {
        sides.push(python("pytorch-fused", fused)?);
    }
    // Steps for about three seconds a round, but at least two.
    let steps = ((3.0 / (case.work() / 150e9)).round() as usize).clamp(2, 40);
    for side in &mut sides {
        side.run(2)?; // warm-up
    }
    let mut seconds = vec![Vec::new(); sides.len()];
    for _ in 0..options.rounds {
        for (side, seconds) in sides.iter_mut().zip(&mut seconds) {
            seconds.extend(side.run(steps)?);
        }
    }
    let tokens = (case.batch * case.seq) as f64;
    let timings = sides
        .into_iter()
        .zip(seconds)
        .map(|(side, seconds)| {
            let median = median(&seconds);
            Ok(Timing {
                side: side.name.clone(),
                version: side.version.clone(),
                median,
                tokens_per_second: tokens / median,
                seconds,
                peak_memory: side.finish()?["peak_memory"].as_u64().unwrap_or(0),
            })
        })
        .collect::<Result<_>>()?;
    Ok(Outcome {
        case: case.clone(),
        timings,
    })
}

fn median(values: &[f64]) -> f64 {
    totune_stats::quartiles(values)[2]
}

/// Where `bench peer` writes by default.
pub fn default_out(project: &Path) -> PathBuf {
    project.join("results/bench")
}
