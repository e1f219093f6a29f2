//! Our side of `peer`, `bf16` and `pretrain`: steps of a BERT with a classifier or as a masked language model.

mod network;
mod steps;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};
use totune_adapt::{Adaptation, BitFit, Dtype, Lora, Trainable};
use totune_model::fused::{AdamW, AdamWConfig, Rate, TensorMemory, clip_global_norm};
use totune_model::{BertConfig, PoolerKind};

use crate::memory::TrainingStep;
pub use crate::shape::Shape;
use crate::worker::{Worker, answer_with, last_words};

pub use network::{RATE, classifier};
pub use steps::Steps;

/// A step to time: a shape, a batch and a way to run it. `bench/transformer.py` reads the same.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Step {
    /// The contents of a step: training or inference.
    pub mode: Mode,
    /// The head on top of the encoder.
    pub head: Head,
    /// The encoder.
    pub shape: Shape,
    /// Examples in a batch.
    pub batch: usize,
    /// Tokens in an example; none is padding.
    pub seq: usize,
    /// Dropout everywhere, but for [`Step::attention_dropout`].
    pub dropout: f64,
    /// Dropout of the probabilities of attention, where it is another.
    #[serde(default)]
    pub attention_dropout: Option<f64>,
    /// Threads of the side.
    pub threads: usize,
    /// The dtype of the matmuls in the encoder's layers.
    pub dtype: Dtype,
    /// File with batches to go through in turn (`batches.rs`); without one, a synthetic batch.
    pub batches: Option<PathBuf>,
    /// PyTorch's AdamW, `default` or `fused`; ours has one.
    pub optimizer: String,
    /// True if PyTorch's network is compiled by `torch.compile`.
    #[serde(default)]
    pub compiled: bool,
    /// The parameters that are trained.
    #[serde(default)]
    pub trained: TrainedPart,
    /// True if the backward pass computes the inner results of layers again, instead of keeping them.
    #[serde(default)]
    pub recomputed: bool,
}

/// Trained parameters of a classifier besides its linear layer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrainedPart {
    /// All.
    #[default]
    All,
    /// Low-rank updates of queries and values, of rank 8.
    Lora,
    /// Biases of the layers.
    Biases,
}

impl TrainedPart {
    /// The strategy that trains these; `None` where no parameter is frozen.
    fn strategy(self) -> Option<Adaptation> {
        match self {
            Self::All => None,
            Self::Lora => Some(Adaptation::Lora(Lora::new(8, RATE.lr))),
            Self::Biases => Some(Adaptation::BitFit(BitFit {
                pooler: Trainable::No,
                embeddings: Trainable::No,
                ..BitFit::new(RATE.lr)
            })),
        }
    }
}

/// The head on top of the encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Head {
    /// Pooler and a linear layer: a class for each example.
    Classifier,
    /// Masked language modelling: a wordpiece for every [`Step::MASKED`]th token.
    MaskedLm,
}

/// The contents of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Forward, loss, backward, clipping by the global norm, AdamW over the trained parameters.
    Train,
    /// Forward and argmax.
    Inference,
}

impl Step {
    /// Training of all parameters of a classifier on `batch` synthetic texts of `seq` tokens, with dropout 0.1, in f32;
    /// a comparison names what it changes.
    pub fn training(shape: Shape, [batch, seq]: [usize; 2], threads: usize) -> Self {
        Self {
            mode: Mode::Train,
            head: Head::Classifier,
            shape,
            batch,
            seq,
            dropout: 0.1,
            attention_dropout: None,
            threads,
            dtype: Dtype::F32,
            batches: None,
            optimizer: "fused".to_string(),
            compiled: false,
            trained: TrainedPart::All,
            recomputed: false,
        }
    }

    /// Every so many tokens, one is predicted by [`Head::MaskedLm`], about BERT's 15 %; `bench/transformer.py` has it
    /// too.
    pub const MASKED: usize = 7;

    /// Steps of an epoch of one synthetic batch, after which words that the batch has not take their steps.
    pub const EPOCH: usize = 16;

    /// Multiplications and additions in the matrix products of a step: forward, and twice as many backward where
    /// everything is trained, by inputs and by weights. `None` where it is not counted: real batches, few trained
    /// parameters, and a forward pass that is made again.
    pub fn flop(&self) -> Option<f64> {
        if self.batches.is_some() || self.trained != TrainedPart::All || self.recomputed {
            return None;
        }
        let Shape {
            vocab,
            hidden,
            layers,
            intermediate,
            ..
        } = self.shape;
        let [batch, seq, vocab, h, layers, wide] =
            [self.batch, self.seq, vocab, hidden, layers, intermediate].map(|n| n as f64);
        let tokens = batch * seq;
        // Four projections, two products of attention, two of the feed-forward network.
        let layer = tokens * (8.0 * h * h + 4.0 * seq * h + 4.0 * h * wide);
        let head = match self.head {
            Head::Classifier => batch * (2.0 * h * h + 4.0 * h),
            Head::MaskedLm => {
                (tokens / Self::MASKED as f64).ceil() * (2.0 * h * h + 2.0 * h * vocab)
            }
        };
        let forward = layers * layer + head;
        Some(match self.mode {
            Mode::Inference => forward,
            Mode::Train => 3.0 * forward,
        })
    }

    /// The step as the formula of its memory takes it; `None` for what the formula does not know.
    fn counted(&self) -> Option<TrainingStep> {
        let is_known = self.mode == Mode::Train
            && self.head == Head::Classifier
            && self.trained == TrainedPart::All
            && self.dtype == Dtype::F32
            && !self.recomputed
            && self.batches.is_none();
        is_known.then_some(TrainingStep {
            shape: self.shape,
            batch: self.batch,
            seq: self.seq,
            trained_layers: self.shape.layers,
            moments: 2,
        })
    }

    fn config(&self) -> BertConfig {
        BertConfig {
            vocab_size: self.shape.vocab,
            hidden_size: self.shape.hidden,
            num_hidden_layers: self.shape.layers,
            num_attention_heads: self.shape.heads,
            intermediate_size: self.shape.intermediate,
            max_position_embeddings: 512,
            type_vocab_size: 2,
            layer_norm_eps: 1e-12,
            hidden_dropout_prob: self.dropout,
            attention_probs_dropout_prob: self.attention_dropout.unwrap_or(self.dropout),
            pooler: PoolerKind::Tanh,
        }
    }
}

/// Takes steps on request; with the last message comes the most bytes of tensors that were alive at once, and the
/// peak memory by the formula where there is one for the case.
pub fn work(case: &Step, worker: &Worker) -> Result<()> {
    let device = &worker.machine.device;
    let mut facts = BTreeMap::new();
    if let Some(step) = case.counted() {
        // The program with everything that a step loads, measured, and the tensors of this case, counted.
        let program = peak_of_tiny_steps(case, device)?;
        let tensors = step.memory().peak() as u64;
        facts.insert(
            "memory by formula (MB)".to_string(),
            megabytes(program + tensors),
        );
        facts.insert("tensors by formula (MB)".to_string(), megabytes(tensors));
    }
    let counted = TensorMemory::begin(device);
    let mut steps = Steps::new(case, device)?;
    let step = || Ok(steps.step());
    answer_with(&worker.machine.device_name, step, |values| {
        if let Some(counted) = counted {
            facts.insert("tensors (MB)".to_string(), megabytes(counted.end()));
        }
        last_words(values, facts)
    })
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// The peak memory of this program after such steps of a tiny encoder.
fn peak_of_tiny_steps(case: &Step, device: &Device) -> Result<u64> {
    let tiny = Step {
        shape: Shape::TINY,
        batch: 2,
        seq: 8,
        ..case.clone()
    };
    let mut steps = Steps::new(&tiny, device)?;
    steps.step();
    steps.step();
    Ok(totune_sweep::peak_memory())
}

/// AdamW as PyTorch has it.
pub fn adam_w() -> AdamW {
    AdamW::new(&AdamWConfig {
        beta_1: 0.9,
        beta_2: 0.999,
        epsilon: 1e-8,
        bias_correction: true,
    })
}

/// Backward, clipping to `clip` and an update of everything.
pub fn updated<M: Module>(
    model: M,
    loss: &Tensor<1>,
    optimizer: &mut AdamW,
    rate: Rate,
    clip: f64,
) -> M {
    let grads = clipped(&model, loss, clip);
    optimizer.step(model, grads, &|_| Some(rate))
}

/// Backward, and clipping to `clip`.
fn clipped<M: Module>(model: &M, loss: &Tensor<1>, clip: f64) -> GradientsParams {
    let mut grads = GradientsParams::from_grads(loss.backward(), model);
    clip_global_norm(model, &mut grads, Some(clip));
    grads
}
