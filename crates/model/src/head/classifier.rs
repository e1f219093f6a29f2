//! A linear classifier over one pooled vector per example.

use anyhow::Result;
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use crate::layer::Linear;
use crate::{Encoder, Pass, RandomWeights, States, TokenBatch, fused};

/// Which vector stands for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pooling {
    /// The pretrained pooler's output, `tanh(W h + b)` of the first token, as in the released BERT classifier.
    Pooler,
    /// The top layer's first token.
    First,
    /// The mean of the top layer over real tokens.
    Mean,
    /// The first token of the four top layers, concatenated (Devlin et al. 2019, section 5.3).
    #[serde(rename = "concat-4")]
    Concat4,
}

/// How a classifier head looks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HeadSpec {
    /// Which vector stands for an example.
    pub pooling: Pooling,
    /// Dropout on that vector.
    pub dropout: f64,
}

/// A linear classifier over one pooled vector per example.
#[derive(Module, Debug)]
pub struct ClassifierHead {
    output: Linear,
    #[module(skip)]
    pooling: Pooling,
    dropout: f64,
}

/// Standard deviation of new weights, as in the released BERT classifier.
const INIT_SD: f64 = 0.02;

impl ClassifierHead {
    /// A new head for `encoder` with `n_labels` outputs; weights are drawn from `seed`, biases are zero.
    pub fn new<E: Encoder>(
        spec: &HeadSpec,
        encoder: &E,
        n_labels: usize,
        seed: u64,
        device: &Device,
    ) -> Result<Self> {
        let hidden = encoder.hidden();
        let width = match spec.pooling {
            Pooling::Concat4 => 4 * hidden,
            _ => hidden,
        };
        anyhow::ensure!(
            spec.pooling != Pooling::Concat4 || encoder.n_layers() >= 4,
            "pooling = \"concat-4\" needs an encoder of at least 4 layers, this one has {}",
            encoder.n_layers()
        );
        anyhow::ensure!(
            spec.pooling != Pooling::Pooler || encoder.has_pooler(),
            "pooling = \"pooler\" needs an encoder with a pooler, this one has none"
        );
        let mut weights = RandomWeights::new(seed, INIT_SD);
        Ok(Self {
            output: Linear::load(&mut weights, "head.output", [width, n_labels], device)?,
            pooling: spec.pooling,
            dropout: spec.dropout,
        })
    }

    /// Scores each label from an encoder's states: `[batch, labels]`.
    pub fn forward(&self, states: &States, batch: &TokenBatch, pass: &Pass) -> Tensor<2> {
        self.score(self.pooling.of(states, batch), pass)
    }

    /// Scores each label from what stands for each example, `[batch, width]`.
    pub(crate) fn score(&self, pooled: Tensor<2>, pass: &Pass) -> Tensor<2> {
        let rate = if pass.training { self.dropout } else { 0.0 };
        self.output
            .forward(fused::dropout(pooled, rate, pass.draw()))
    }
}

impl Pooling {
    /// How many layers below the top it reads.
    pub fn depth(self) -> usize {
        match self {
            Self::Pooler | Self::First | Self::Mean => 0,
            Self::Concat4 => 3,
        }
    }

    /// The vector that stands for each example, `[batch, width]`.
    pub fn of(self, states: &States, batch: &TokenBatch) -> Tensor<2> {
        let first = |hidden: &Tensor<3>| hidden.clone().narrow(1, 0, 1).squeeze_dim(1);
        match self {
            Self::Pooler => states
                .pooled
                .clone()
                .expect("pooling = \"pooler\" needs an encoder with a pooler"),
            Self::First => first(&states.top()),
            Self::Mean => {
                let weights = batch.weights().unsqueeze_dim::<3>(2); // [batch, seq, 1]
                let sum = (states.top() * weights.clone()).sum_dim(1).squeeze_dim(1);
                let count = weights.sum_dim(1).squeeze_dim(1); // [batch, 1]
                sum / count
            }
            Self::Concat4 => {
                let top = &states.hidden[states.hidden.len() - 4..];
                Tensor::cat(top.iter().rev().map(first).collect(), 1)
            }
        }
    }
}
