//! The choice between two kernels: our own on the CPU, LibTorch's elsewhere.

use burn::tensor::Tensor;

use super::LstmWeights;
use super::cpu::Rows;
use super::layer::Layer;
use super::library::Library;
use crate::fused::libtorch::{Input, apply, owns_in_main_memory};

/// Kernel of [`super::lstm`].
pub fn lstm(x: Tensor<3>, mask: Option<&Tensor<2>>, w: LstmWeights) -> Tensor<3> {
    let layer = Layer::new(&x, mask, &[&w]);
    let ours = owns_in_main_memory(&x.device());
    let [a, b, c, d] = inputs(w);
    let inputs = [x.into(), a, b, c, d];
    if ours {
        apply(Rows(layer), inputs)
    } else {
        apply(Library(layer), inputs)
    }
}

/// Kernel of [`super::bilstm`].
pub fn bilstm(x: Tensor<3>, mask: Option<&Tensor<2>>, weights: [LstmWeights; 2]) -> Tensor<3> {
    let [forward, backward] = weights;
    let layer = Layer::new(&x, mask, &[&forward, &backward]);
    let ours = owns_in_main_memory(&x.device());
    let ([a, b, c, d], [e, f, g, h]) = (inputs(forward), inputs(backward));
    let inputs = [x.into(), a, b, c, d, e, f, g, h];
    if ours {
        apply(Rows(layer), inputs)
    } else {
        apply(Library(layer), inputs)
    }
}

pub(super) fn inputs(w: LstmWeights) -> [Input; 4] {
    [
        w.weight_ih.into(),
        w.weight_hh.into(),
        w.bias_ih.into(),
        w.bias_hh.into(),
    ]
}
