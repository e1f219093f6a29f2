//! Our side of `peer`, `bf16` and `pretrain`: steps of a BERT with a classifier or as a masked language model.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Int, Tensor};
use serde::{Deserialize, Serialize};
use totune_adapt::{
    Adaptation, BitFit, Constant, Defaults, Dtype, Lora, Schedule, StopRule, Trainable,
    require_gradients, sizes,
};
use totune_model::fused::{AdamW, AdamWConfig, Rate, clip_global_norm, cross_entropy};
use totune_model::{
    Activations, Bert, BertConfig, Classifier, Encoder, HeadSpec, Layers, LinearSpec, MaskedLm,
    MaskedLmConfig, Pass, PoolerKind, Pooling, RandomWeights, Shape as _, TokenBatch,
};

use crate::batches;
use crate::memory::TrainingStep;
pub use crate::shape::Shape;
use crate::worker::{Worker, answer_with, last_words};

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

/// Takes steps on request; with the last message comes the peak memory by the formula, where there is one for the case.
pub fn work(case: &Step, worker: &Worker) -> Result<()> {
    let device = &worker.machine.device;
    let mut facts = BTreeMap::new();
    if let Some(step) = case.counted() {
        // The program with everything that a step loads, measured, and the tensors of this case, counted.
        let program = peak_of_tiny_steps(case, device)?;
        let bytes = program + step.memory().peak() as u64;
        facts.insert("memory by formula (MB)".to_string(), bytes as f64 / 1e6);
    }
    let mut steps = Steps::new(case, device)?;
    let step = || {
        steps.step();
        Ok(())
    };
    answer_with(&worker.machine.device_name, step, |()| {
        last_words(Vec::new(), facts)
    })
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
    let mut grads = GradientsParams::from_grads(loss.backward(), &model);
    clip_global_norm(&model, &mut grads, Some(clip));
    optimizer.step(model, grads, &|_| Some(rate))
}

/// The lowest block with a trained parameter, as in [`Pass`].
#[derive(Debug, Clone, Copy)]
struct Lowest(usize);

impl Lowest {
    const EMBEDDINGS: Self = Self(0);
}

// There is one, for as long as the process lives.
#[expect(clippy::large_enum_variant)]
enum Network {
    Classifier(Classifier<Bert>, Lowest),
    MaskedLm(MaskedLm),
}

/// Learning rate and weight decay of the training steps.
pub const RATE: Rate = Rate {
    lr: 1e-5,
    weight_decay: 0.01,
};

impl Network {
    fn new(case: &Step, device: &Device) -> Result<Self> {
        let train = case.mode == Mode::Train;
        if case.head == Head::MaskedLm {
            let mut weights = RandomWeights::new(1, 0.02);
            let precision = case.dtype.precision();
            let model = MaskedLmConfig::new(case.config()).load(&mut weights, device)?;
            let model = model.with_dropout(case.dropout).with_precision(precision);
            return Ok(Self::MaskedLm(if train { model.train() } else { model }));
        }
        if let Some(strategy) = case.trained.strategy() {
            let encoder = encoder(case, device)?;
            return partly_trained(&strategy, encoder, &head(case), device);
        }
        let model = classifier(case, device)?;
        Ok(Self::Classifier(
            if train { model.train() } else { model },
            Lowest::EMBEDDINGS,
        ))
    }

    /// Scores of the predictions, `[examples or masked tokens, labels or vocab]`.
    fn logits(&self, batch: &Batch, pass: &Pass) -> Tensor<2> {
        match self {
            Self::Classifier(model, Lowest(lowest)) => {
                let pass = pass.clone().frozen(*lowest, true);
                model.forward(&batch.tokens, &pass).labels()
            }
            Self::MaskedLm(model) => model.logits(&batch.tokens, batch.places.clone(), pass),
        }
    }

    fn updated(self, loss: &Tensor<1>, optimizer: &mut AdamW) -> Self {
        match self {
            Self::Classifier(model, lowest) => {
                Self::Classifier(updated(model, loss, optimizer, RATE, 1.0), lowest)
            }
            Self::MaskedLm(model) => Self::MaskedLm(updated(model, loss, optimizer, RATE, 1.0)),
        }
    }
}

/// The encoder of a case, with random weights.
fn encoder(case: &Step, device: &Device) -> Result<Bert> {
    let encoder = case
        .config()
        .load(&mut RandomWeights::new(1, 0.02), device)?;
    Ok(encoder.with_precision(case.dtype.precision()))
}

/// Pooler and linear layer.
fn head(case: &Step) -> HeadSpec {
    HeadSpec::Linear(LinearSpec {
        pooling: Pooling::Pooler,
        layers: Layers::Top,
        dropout: case.dropout,
    })
}

/// The encoder of a case with a head of two labels.
///
/// # Errors
/// When the head does not fit the encoder.
pub fn classifier(case: &Step, device: &Device) -> Result<Classifier<Bert>> {
    Classifier::new(encoder(case, device)?, &head(case), 2, 1, device)
}

/// A classifier in training of which a strategy trains few parameters.
fn partly_trained(
    strategy: &Adaptation,
    encoder: Bert,
    head: &HeadSpec,
    device: &Device,
) -> Result<Network> {
    let defaults = Defaults {
        weight_decay: RATE.weight_decay,
        no_decay: Vec::new(),
        schedule: Schedule::Constant(Constant { warmup: 0.0 }),
        epochs: 1,
        stop: StopRule::Epochs {},
        reads_pooler: true,
    };
    let n_layers = encoder.n_layers();
    let plan = strategy.plan(&defaults, n_layers)?;
    let model = Classifier::new(plan.prepare(encoder, 1)?, head, 2, 1, device)?.train();
    let paths: Vec<String> = sizes(&model).into_keys().collect();
    let assigned = plan.assign(&paths, n_layers)?.remove(0);
    let model = require_gradients(model, &|path| assigned.parameters.contains_key(path));
    Ok(Network::Classifier(model, Lowest(assigned.frozen_below)))
}

struct Batch {
    tokens: TokenBatch,
    /// Masked tokens, counted through the rows.
    places: Tensor<1, Int>,
    /// Labels of each example or each masked token.
    labels: Tensor<1, Int>,
}

/// Steps of a case, taken one by one.
pub struct Steps {
    mode: Mode,
    activations: Activations,
    /// Taken and put back by each step.
    network: Option<Network>,
    optimizer: AdamW,
    /// The batches, used in turn, one for each step.
    batches: Vec<Batch>,
    taken: u64,
}

impl Steps {
    /// Prepares the network and its batches.
    ///
    /// # Errors
    /// When a strategy does not fit the network, or a file of batches cannot be read.
    pub fn new(case: &Step, device: &Device) -> Result<Self> {
        let batches = match &case.batches {
            Some(file) => {
                let batch = |(tokens, labels)| Batch {
                    tokens,
                    places: Tensor::zeros([1], device),
                    labels,
                };
                let batches = batches::on_device(file, device)?.into_iter();
                batches.map(batch).collect()
            }
            None => vec![synthetic_batch(case, device)],
        };
        Ok(Self {
            mode: case.mode,
            activations: if case.recomputed {
                Activations::Recomputed
            } else {
                Activations::Kept
            },
            network: Some(Network::new(case, device)?),
            optimizer: adam_w(),
            batches,
            taken: 0,
        })
    }

    /// Takes the next step.
    pub fn step(&mut self) {
        let network = self.network.take().expect("put back by the step before");
        let batch = &self.batches[self.taken as usize % self.batches.len()];
        self.taken += 1;
        self.network = Some(match self.mode {
            Mode::Inference => {
                let logits = network.logits(batch, &Pass::evaluation());
                let _: i64 = logits.argmax(1).sum().into_scalar();
                network
            }
            Mode::Train => {
                let pass = Pass::training(self.taken).with(self.activations);
                let logits = network.logits(batch, &pass);
                let loss = cross_entropy(logits, batch.labels.clone());
                let _: f32 = loss.clone().into_scalar();
                network.updated(&loss, &mut self.optimizer)
            }
        });
    }
}

/// One batch without padding.
fn synthetic_batch(case: &Step, device: &Device) -> Batch {
    let shape = [case.batch, case.seq];
    let n = case.batch * case.seq;
    let words = case.shape.vocab as i64 - 1000;
    let ids: Vec<i64> = (0..n as i64).map(|i| 1000 + i * 7919 % words).collect();
    let places: Vec<i64> = (0..n as i64).step_by(Step::MASKED).collect();
    let labels: Vec<i64> = match case.head {
        Head::Classifier => (0..case.batch as i64).map(|i| i % 2).collect(),
        Head::MaskedLm => places.iter().map(|&at| ids[at as usize]).collect(),
    };
    Batch {
        tokens: TokenBatch::new(ids, vec![0; n], &vec![true; n], shape, device),
        places: Tensor::from_data(places.as_slice(), device),
        labels: Tensor::from_data(labels.as_slice(), device),
    }
}
