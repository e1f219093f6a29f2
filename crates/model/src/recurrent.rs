//! Recurrent layers: LSTM in one direction and in two.

use anyhow::Result;
use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};

use crate::Weights;
use crate::fused::{self, LstmWeights};
use crate::layer::parameter;

/// The weights of one direction of one layer, as PyTorch stores them: gates in the order input, forget, cell, output.
#[derive(Module, Debug)]
pub struct LstmCell {
    /// Weights of the input, `[4 hidden, in]`.
    pub weight_ih: Param<Tensor<2>>,
    /// Weights of the state of the step before, `[4 hidden, hidden]`.
    pub weight_hh: Param<Tensor<2>>,
    /// Bias of the input, `[4 hidden]`.
    pub bias_ih: Param<Tensor<1>>,
    /// Bias of the state, `[4 hidden]`; added to the other one, as in PyTorch.
    pub bias_hh: Param<Tensor<1>>,
}

impl LstmCell {
    /// Takes `<name>.weight_ih_<suffix>` and the three others from `weights`.
    fn load(
        weights: &mut dyn Weights,
        name: &str,
        suffix: &str,
        [input, hidden]: [usize; 2],
        device: &Device,
    ) -> Result<Self> {
        let name = |part: &str| format!("{name}.{part}_{suffix}");
        let gates = 4 * hidden;
        Ok(Self {
            weight_ih: parameter(weights, &name("weight_ih"), [gates, input], device)?,
            weight_hh: parameter(weights, &name("weight_hh"), [gates, hidden], device)?,
            bias_ih: parameter(weights, &name("bias_ih"), [gates], device)?,
            bias_hh: parameter(weights, &name("bias_hh"), [gates], device)?,
        })
    }

    fn weights(&self) -> LstmWeights {
        LstmWeights {
            weight_ih: self.weight_ih.val(),
            weight_hh: self.weight_hh.val(),
            bias_ih: self.bias_ih.val(),
            bias_hh: self.bias_hh.val(),
        }
    }
}

/// LSTM layers on top of each other, each reading from left to right.
#[derive(Module, Debug)]
pub struct Lstm {
    /// Layers from the bottom.
    pub layers: Vec<LstmCell>,
}

impl Lstm {
    /// Takes `<name>.weight_ih_l0`, `<name>.weight_hh_l0`, `<name>.bias_ih_l0`, `<name>.bias_hh_l0` and those of the
    /// other layers from `weights`.
    ///
    /// # Errors
    /// The errors of `weights`.
    pub fn load(
        weights: &mut dyn Weights,
        name: &str,
        [input, hidden]: [usize; 2],
        layers: usize,
        device: &Device,
    ) -> Result<Self> {
        let layer = |i: usize| {
            let width = if i == 0 { input } else { hidden };
            LstmCell::load(weights, name, &format!("l{i}"), [width, hidden], device)
        };
        Ok(Self {
            layers: (0..layers).map(layer).collect::<Result<_>>()?,
        })
    }

    /// The top layer's states `[batch, seq, hidden]` of `x` `[batch, seq, in]`.
    ///
    /// `mask` `[batch, seq]` is 1 for real tokens and 0 for padding, on the right; states there are zero.
    pub fn forward(&self, x: Tensor<3>, mask: Option<&Tensor<2>>) -> Tensor<3> {
        let layers = self.layers.iter();
        layers.fold(x, |x, layer| fused::lstm(x, mask, layer.weights()))
    }
}

/// Both directions of one layer.
#[derive(Module, Debug)]
pub struct BiLstmLayer {
    /// Cell that reads from left to right.
    pub forward: LstmCell,
    /// Cell that reads from right to left.
    pub backward: LstmCell,
}

/// Bidirectional LSTM layers on top of each other: each reads both directions of the one below.
#[derive(Module, Debug)]
pub struct BiLstm {
    /// Layers from the bottom.
    pub layers: Vec<BiLstmLayer>,
}

impl BiLstm {
    /// Takes the names of [`Lstm::load`] from `weights`, for the backward direction with the suffix `_reverse`.
    ///
    /// # Errors
    /// The errors of `weights`.
    pub fn load(
        weights: &mut dyn Weights,
        name: &str,
        [input, hidden]: [usize; 2],
        layers: usize,
        device: &Device,
    ) -> Result<Self> {
        let layer = |i: usize| {
            let shape = [if i == 0 { input } else { 2 * hidden }, hidden];
            Ok(BiLstmLayer {
                forward: LstmCell::load(weights, name, &format!("l{i}"), shape, device)?,
                backward: LstmCell::load(weights, name, &format!("l{i}_reverse"), shape, device)?,
            })
        };
        Ok(Self {
            layers: (0..layers).map(layer).collect::<Result<_>>()?,
        })
    }

    /// The top layer's states `[batch, seq, 2 hidden]` of `x` `[batch, seq, in]`, forward states first.
    ///
    /// `mask` `[batch, seq]` is 1 for real tokens and 0 for padding, on the right; none where nothing is padded.
    /// Padding has no influence in either direction, and states there are zero.
    pub fn forward(&self, x: Tensor<3>, mask: Option<&Tensor<2>>) -> Tensor<3> {
        self.layers.iter().fold(x, |x, layer| {
            let weights = [layer.forward.weights(), layer.backward.weights()];
            fused::bilstm(x, mask, weights)
        })
    }
}
