//! What both ways to compute a layer are told.

use burn::backend::libtorch::TchTensor;
use burn::tensor::Tensor;

use super::LstmWeights;
use crate::fused::libtorch::raw;

/// What a layer needs next to its inputs.
#[derive(Debug, Clone)]
pub struct Layer {
    /// `[batch, seq]`.
    pub mask: Option<TchTensor>,
    /// Whether a gradient may be asked for.
    pub tracked: bool,
}

impl Layer {
    /// For `x` and the weights of each direction.
    pub fn new(x: &Tensor<3>, mask: Option<&Tensor<2>>, weights: &[&LstmWeights]) -> Self {
        let tracked = weights.iter().any(|w| w.weight_ih.is_autodiff());
        Self {
            mask: mask.map(|mask| TchTensor::new(raw(mask))),
            tracked: tracked || x.is_autodiff(),
        }
    }
}
