//! Bi-attention without weights over the states of a pair (Peters et al. 2019, A.2), to fine-tune ELMo with.

use anyhow::Result;
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::segment::{align, enhance};
use super::settings::{Switch, check_rates, drop};
use super::{HeadInput, HeadKind, Layers, Output, Representation};
use crate::layer::Linear;
use crate::{Init, Pass, RandomWeights, Segment, Weights};

/// Settings of a [`BiAttention`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct BiAttentionSpec {
    /// Encoder layers that it reads.
    pub layers: Layers,
    /// Attention of each segment to the other.
    pub attention: Switch,
    /// Dropout on the pooled vector; the paper tuned it and does not report the value.
    pub dropout: f64,
}

impl Default for BiAttentionSpec {
    fn default() -> Self {
        Self {
            layers: Layers::Top,
            attention: Switch::On,
            dropout: 0.5,
        }
    }
}

/// Soft alignment of two sides, pooling, and one linear layer, whose weights are the only ones.
#[derive(Module, Debug)]
pub struct BiAttention {
    output: Linear,
    #[module(skip)]
    attention: Switch,
    dropout: f64,
}

impl HeadKind for BiAttention {
    type Spec = BiAttentionSpec;

    const LABEL: &'static str = "bi-attention";
    const COMPARES_PAIRS: bool = true;

    fn reads(spec: &BiAttentionSpec) -> HeadInput {
        HeadInput::Tokens(spec.layers)
    }

    fn validate(spec: &BiAttentionSpec) -> Result<()> {
        check_rates(&[("dropout", spec.dropout)])
    }

    fn initial(_: &BiAttentionSpec, seed: u64) -> Box<dyn Weights> {
        Box::new(RandomWeights::initialised(Init::Pytorch, seed))
    }

    /// Takes `output` from `weights`.
    fn load(
        spec: &BiAttentionSpec,
        width: usize,
        outputs: usize,
        weights: &mut dyn Weights,
        device: &Device,
    ) -> Result<Self> {
        Self::validate(spec)?;
        // Mean and maximum of four vectors for each of two sides, or a maximum for each.
        let read = match spec.attention {
            Switch::On => 2 * 2 * 4 * width,
            Switch::Off => 2 * width,
        };
        Ok(Self {
            output: Linear::load(weights, "output", [read, outputs], device)?,
            attention: spec.attention,
            dropout: spec.dropout,
        })
    }

    fn score(&self, read: Representation, pass: &Pass) -> Output {
        let [a, b] = read.pair();
        Output::Labels(self.forward(a, b, pass))
    }
}

impl BiAttention {
    /// Scores of each label, or one number, `[batch, outputs]`.
    pub fn forward(&self, a: Segment, b: Segment, pass: &Pass) -> Tensor<2> {
        let pooled = match self.attention {
            Switch::On => {
                let attended = align(&a, &b);
                let sides = [a, b].into_iter().zip(attended);
                let pooled = sides.flat_map(|(side, other)| {
                    let enhanced = side.with(enhance(side.states.clone(), other)); // [batch, seq, 4 width]
                    [enhanced.mean(), enhanced.max()]
                });
                pooled.collect()
            }
            // The paper compares with "without cross-sentence bi-attention" and says no more; its ELMo classifier pools
            // by the maximum.
            Switch::Off => vec![a.max(), b.max()],
        };
        let pooled = Tensor::cat(pooled, 1);
        self.output.forward(drop(pooled, self.dropout, pass))
    }
}
