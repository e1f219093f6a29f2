//! Two linear layers on a vector: the light head of Wang et al. 2019.

use anyhow::Result;
use burn::module::Module;
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::settings::{check_rates, check_sizes, drop};
use crate::layer::Linear;
use crate::{Init, NewWeights, Pass, Weights};

/// How a [`FullyConnected`] looks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct FullyConnectedSpec {
    /// Width between the layers; not stated, BERT-base's own.
    pub hidden: usize,
    /// Dropout on what each layer reads; the paper has 0.1 "on all layers".
    pub dropout: f64,
}

impl Default for FullyConnectedSpec {
    fn default() -> Self {
        Self {
            hidden: 768,
            dropout: 0.1,
        }
    }
}

impl FullyConnectedSpec {
    /// Refuses sizes of zero and rates outside `[0, 1)`, naming the key below `head`.
    pub fn validate(&self) -> Result<()> {
        check_sizes(&[("hidden", self.hidden)])?;
        check_rates(&[("dropout", self.dropout)])
    }
}

/// Two linear layers with a rectifier between (Wang et al. 2019, section 3; the activation is not stated).
#[derive(Module, Debug)]
pub struct FullyConnected {
    hidden: Linear,
    output: Linear,
    dropout: f64,
}

impl FullyConnected {
    /// New layers on vectors of `width`, begun as the paper has it: [`Init::KaimingNormal`].
    ///
    /// # Errors
    /// When a setting is out of its range.
    pub fn new(
        spec: &FullyConnectedSpec,
        width: usize,
        outputs: usize,
        seed: u64,
        device: &Device,
    ) -> Result<Self> {
        let mut weights = NewWeights::new(Init::KaimingNormal, seed);
        Self::load(spec, width, outputs, &mut weights, device)
    }

    /// Takes `hidden` and `output` from `weights`.
    ///
    /// # Errors
    /// When a setting is out of its range, or those of `weights`.
    pub fn load(
        spec: &FullyConnectedSpec,
        width: usize,
        outputs: usize,
        weights: &mut dyn Weights,
        device: &Device,
    ) -> Result<Self> {
        spec.validate()?;
        Ok(Self {
            hidden: Linear::load(weights, "hidden", [width, spec.hidden], device)?,
            output: Linear::load(weights, "output", [spec.hidden, outputs], device)?,
            dropout: spec.dropout,
        })
    }

    /// `[.., width]` to `[.., outputs]`: a vector per example, or one per word.
    pub fn forward<const D: usize>(&self, x: Tensor<D>, pass: &Pass) -> Tensor<D> {
        let x = relu(self.hidden.forward(drop(x, self.dropout, pass)));
        self.output.forward(drop(x, self.dropout, pass))
    }
}
