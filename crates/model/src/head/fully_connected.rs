//! Two linear layers on a vector: the simple head of Wang et al. 2019.

use anyhow::Result;
use burn::module::Module;
use burn::tensor::activation::{gelu, relu};
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::settings::{check_rates, check_sizes, drop};
use super::{HeadInput, HeadKind, Layers, Output, Representation};
use crate::layer::Linear;
use crate::{Init, Pass, RandomWeights, Weights};

/// Settings of a [`FullyConnected`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct FullyConnectedSpec {
    /// Encoder layers that it reads.
    pub layers: Layers,
    /// Width between the layers; not stated, BERT-base's own.
    pub mlp_hidden: usize,
    /// Dropout on the input of each layer; the paper has 0.1 "on all layers".
    pub dropout: f64,
    /// Function between the layers.
    pub activation: Activation,
}

/// Function between the layers of a [`FullyConnected`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// ReLU, as transformers has it for DistilBERT; the paper does not state it.
    #[default]
    Relu,
    /// GELU, as in ELECTRA (Clark et al. 2020).
    Gelu,
}

impl Default for FullyConnectedSpec {
    fn default() -> Self {
        Self {
            layers: Layers::Top,
            mlp_hidden: 768,
            dropout: 0.1,
            activation: Activation::Relu,
        }
    }
}

/// Two linear layers with an activation between (Wang et al. 2019, section 3).
#[derive(Module, Debug)]
pub struct FullyConnected {
    hidden: Linear,
    output: Linear,
    dropout: f64,
    #[module(skip)]
    activation: Activation,
}

impl HeadKind for FullyConnected {
    type Spec = FullyConnectedSpec;

    const LABEL: &'static str = "fully-connected";

    fn reads(spec: &FullyConnectedSpec) -> HeadInput {
        HeadInput::Tokens(spec.layers)
    }

    fn validate(spec: &FullyConnectedSpec) -> Result<()> {
        check_sizes(&[("mlp-hidden", spec.mlp_hidden)])?;
        check_rates(&[("dropout", spec.dropout)])
    }

    fn initial(_: &FullyConnectedSpec, seed: u64) -> Box<dyn Weights> {
        Box::new(RandomWeights::initialised(Init::KaimingNormal, seed))
    }

    /// Takes `hidden` and `output` from `weights`.
    fn load(
        spec: &FullyConnectedSpec,
        width: usize,
        outputs: usize,
        weights: &mut dyn Weights,
        device: &Device,
    ) -> Result<Self> {
        Self::validate(spec)?;
        Ok(Self {
            hidden: Linear::load(weights, "hidden", [width, spec.mlp_hidden], device)?,
            output: Linear::load(weights, "output", [spec.mlp_hidden, outputs], device)?,
            dropout: spec.dropout,
            activation: spec.activation,
        })
    }

    fn score(&self, read: Representation, pass: &Pass) -> Output {
        // The first token, of an encoder that has one a `[CLS]`.
        Output::Labels(self.forward(read.whole().first(), pass))
    }
}

impl FullyConnected {
    /// `[.., width]` to `[.., outputs]`: a vector per example, or one per word.
    pub fn forward<const D: usize>(&self, x: Tensor<D>, pass: &Pass) -> Tensor<D> {
        let x = self.hidden.forward(drop(x, self.dropout, pass));
        let x = match self.activation {
            Activation::Relu => relu(x),
            Activation::Gelu => gelu(x),
        };
        self.output.forward(drop(x, self.dropout, pass))
    }
}
