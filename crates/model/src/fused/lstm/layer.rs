//! Arguments shared by both implementations of an LSTM layer.

use burn::backend::libtorch::TchTensor;
use burn::tensor::Tensor;

use super::LstmWeights;
use crate::fused::libtorch::held;

/// Arguments of a layer other than its inputs.
#[derive(Debug, Clone)]
pub struct Layer {
    /// `[batch, seq]`.
    pub mask: Option<TchTensor>,
    /// True if a gradient may be needed.
    pub tracked: bool,
}

impl Layer {
    /// Collects the arguments for `x` and the weights of each direction.
    pub fn new(x: &Tensor<3>, mask: Option<&Tensor<2>>, weights: &[&LstmWeights]) -> Self {
        let tracked = weights.iter().any(|w| w.weight_ih.is_autodiff());
        Self {
            mask: mask.map(held),
            tracked: tracked || x.is_autodiff(),
        }
    }
}
