//! A linear classifier over one pooled vector per example.

use anyhow::{Result, ensure};
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::settings::{check_rates, drop};
use super::{HeadInput, HeadKind, Layers, Output, PooledInput, Pooling, Representation};
use crate::init::INIT_SD;
use crate::layer::Linear;
use crate::{Pass, RandomWeights, Weights};

/// Settings of a [`LinearHead`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LinearSpec {
    /// Vector that represents an example.
    pub pooling: Pooling,
    /// Layers of that vector.
    #[serde(default)]
    pub layers: Layers,
    /// Dropout on that vector.
    pub dropout: f64,
}

/// A linear classifier over one pooled vector per example, initialised as the released BERT classifier.
#[derive(Module, Debug)]
pub struct LinearHead {
    output: Linear,
    dropout: f64,
}

impl HeadKind for LinearHead {
    type Spec = LinearSpec;

    const LABEL: &'static str = "linear";
    const IS_LINEAR: bool = true;

    fn reads(spec: &LinearSpec) -> HeadInput {
        HeadInput::Vector(PooledInput {
            pooling: spec.pooling,
            layers: spec.layers,
        })
    }

    fn validate(spec: &LinearSpec) -> Result<()> {
        check_rates(&[("dropout", spec.dropout)])?;
        ensure!(
            spec.layers.is_top() || spec.pooling.commutes_with_a_mix(),
            "head.layers: found a mix of layers with pooling = {}, expected \"mean\" or \"first\": of these alone \
             the mix can be taken afterwards",
            serde_json::to_value(spec.pooling)?
        );
        ensure!(
            !spec.layers.normalised(),
            "head.layers: found layer-norm, expected it with a head over token states only"
        );
        Ok(())
    }

    fn initial(_: &LinearSpec, seed: u64) -> Box<dyn Weights> {
        Box::new(RandomWeights::new(seed, INIT_SD))
    }

    /// Takes `head.output` from `weights`.
    fn load(
        spec: &LinearSpec,
        width: usize,
        outputs: usize,
        weights: &mut dyn Weights,
        device: &Device,
    ) -> Result<Self> {
        Ok(Self {
            output: Linear::load(weights, "head.output", [width, outputs], device)?,
            dropout: spec.dropout,
        })
    }

    fn score(&self, read: Representation, pass: &Pass) -> Output {
        let pooled = drop(read.pooled(), self.dropout, pass);
        Output::Labels(self.output.forward(pooled)) // [batch, labels]
    }

    fn features(&self, read: Representation) -> Option<Tensor<2>> {
        Some(read.pooled())
    }

    fn linear(&mut self) -> Option<&mut Linear> {
        Some(&mut self.output)
    }
}
