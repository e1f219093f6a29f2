//! A linear classifier over one pooled vector per example.

use anyhow::Result;
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::{Layers, Pooling, Readout, ScalarMix};
use crate::layer::Linear;
use crate::{Encoder, Pass, RandomWeights, States, TokenBatch, fused};

/// How a linear classifier looks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LinearSpec {
    /// Which vector stands for an example.
    pub pooling: Pooling,
    /// Which layers that vector is of.
    #[serde(default)]
    pub layers: Layers,
    /// Dropout on that vector.
    pub dropout: f64,
}

impl LinearSpec {
    /// What such a head reads of an encoder's states.
    pub fn readout(&self) -> Readout {
        Readout {
            pooling: self.pooling,
            layers: self.layers,
        }
    }
}

/// A linear classifier over one pooled vector per example.
#[derive(Module, Debug)]
pub struct ClassifierHead {
    output: Linear,
    mix: Option<ScalarMix>,
    #[module(skip)]
    readout: Readout,
    dropout: f64,
}

/// Standard deviation of new weights, as in the released BERT classifier.
const INIT_SD: f64 = 0.02;

impl ClassifierHead {
    /// A new head for `encoder`, which was checked, with `n_labels` outputs; weights are drawn from `seed`, biases are zero.
    pub fn new<E: Encoder>(
        spec: &LinearSpec,
        encoder: &E,
        n_labels: usize,
        seed: u64,
        device: &Device,
    ) -> Result<Self> {
        let readout = spec.readout();
        let (hidden, n_layers) = (encoder.hidden(), encoder.n_layers());
        let mixed = readout.mixed(n_layers);
        let width = match mixed {
            Some(_) => hidden,
            None => readout.width(hidden, n_layers),
        };
        let mut weights = RandomWeights::new(seed, INIT_SD);
        Ok(Self {
            output: Linear::load(&mut weights, "head.output", [width, n_labels], device)?,
            mix: mixed.map(|n| ScalarMix::new(n, device)),
            readout,
            dropout: spec.dropout,
        })
    }

    /// Scores each label from an encoder's states: `[batch, labels]`.
    pub fn forward(&self, states: &States, batch: &TokenBatch, pass: &Pass) -> Tensor<2> {
        self.score(self.readout.of(states, batch), pass)
    }

    /// Scores each label from what is read of each example, `[batch, width]`.
    pub(crate) fn score(&self, read: Tensor<2>, pass: &Pass) -> Tensor<2> {
        let pooled = match &self.mix {
            Some(mix) => mix.forward(read),
            None => read,
        };
        let rate = if pass.training { self.dropout } else { 0.0 };
        self.output
            .forward(fused::dropout(pooled, rate, pass.draw()))
    }
}
