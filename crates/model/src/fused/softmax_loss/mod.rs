//! Cross-entropy of a softmax over a large vocabulary, full or sampled, with its last linear layer.
//!
//! On LibTorch's CPU both are one node: logits exist only for a few rows at a time, and the gradients are computed
//! along with the loss, so that nothing of size rows × vocabulary is stored.

use burn::tensor::activation::log_softmax;
use burn::tensor::{Int, Tensor};

use super::Precision;

#[cfg(feature = "tch")]
mod kernel;

/// Rows that the plain body scores at once.
const ROWS: usize = 256;

/// Sampled candidates that replace the vocabulary in a sampled softmax.
#[derive(Debug, Clone)]
pub struct Candidates {
    /// Negative samples, all different, `[samples]`.
    pub ids: Tensor<1, Int>,
    /// Logarithm of the expected count of each, which its logit is lowered by, `[samples]`.
    pub log_expected: Tensor<1>,
    /// The same of each target, `[rows]`.
    pub target_log_expected: Tensor<1>,
}

/// The last layer of a softmax.
#[derive(Debug, Clone)]
pub struct Softmax {
    /// `[vocab, width]`.
    pub weight: Tensor<2>,
    /// `[vocab]`.
    pub bias: Tensor<1>,
    /// Precision of the products. With [`Precision::Bf16`] their operands are rounded to bfloat16, and logits and
    /// gradients once more, on a CPU that multiplies such numbers faster; elsewhere they stay f32.
    pub precision: Precision,
}

/// The mean over rows of `-log softmax(states Wᵀ + b)[target]`, `[1]`.
///
/// `states` is `[rows, width]`, `targets` `[rows]`. With `candidates` the
/// softmax is over the target and the samples, each logit lowered by the logarithm of its expected count (Jean et al.
/// 2015; TensorFlow's `sampled_softmax_loss`); a sample that is the row's target is left out.
pub fn softmax_loss(
    states: Tensor<2>,
    softmax: Softmax,
    targets: Tensor<1, Int>,
    candidates: Option<Candidates>,
) -> Tensor<1> {
    let Softmax { weight, bias, .. } = softmax;
    #[cfg(feature = "tch")]
    if super::libtorch::owns_in_main_memory(&states.device()) {
        let precision = softmax.precision;
        let tracked = states.is_autodiff() || weight.is_autodiff() || bias.is_autodiff();
        let kernel = kernel::SoftmaxLoss::new(&targets, candidates.as_ref(), precision, tracked);
        return super::libtorch::apply(kernel, [states.into(), weight.into(), bias.into()]);
    }
    plain(states, weight, bias, targets, candidates).mean()
}

/// The loss of each row by the full softmax, `[rows]`, in f32 and outside any graph.
pub fn softmax_losses(states: Tensor<2>, softmax: Softmax, targets: Tensor<1, Int>) -> Tensor<1> {
    let (states, weight, bias) = (states.inner(), softmax.weight.inner(), softmax.bias.inner());
    #[cfg(feature = "tch")]
    if super::libtorch::owns_in_main_memory(&states.device()) {
        return kernel::losses(&states, &weight, &bias, &targets);
    }
    let [rows, _] = states.dims();
    let losses = (0..rows).step_by(ROWS).map(|first| {
        let n = ROWS.min(rows - first);
        let targets = targets.clone().narrow(0, first, n);
        let states = states.clone().narrow(0, first, n);
        plain(states, weight.clone(), bias.clone(), targets, None)
    });
    Tensor::cat(losses.collect(), 0)
}

/// The loss of each row, `[rows]`.
fn plain(
    states: Tensor<2>,
    weight: Tensor<2>,
    bias: Tensor<1>,
    targets: Tensor<1, Int>,
    candidates: Option<Candidates>,
) -> Tensor<1> {
    let [rows, _] = states.dims();
    let Some(candidates) = candidates else {
        let logits = states.matmul(weight.transpose()) + bias.unsqueeze::<2>(); // [rows, vocab]
        let log_p = log_softmax(logits, 1);
        return log_p
            .gather(1, targets.unsqueeze_dim(1))
            .reshape([rows])
            .neg();
    };
    let own = weight.clone().select(0, targets.clone()); // [rows, width]
    let own = (states.clone() * own).sum_dim(1).reshape([rows]);
    let own = own + bias.clone().select(0, targets.clone()) - candidates.target_log_expected;
    let shift = bias.select(0, candidates.ids.clone()) - candidates.log_expected;
    let others = states.matmul(weight.select(0, candidates.ids.clone()).transpose());
    let others = others + shift.unsqueeze::<2>(); // [rows, samples]
    let [_, samples] = others.dims();
    let targets: Tensor<2, Int> = targets.unsqueeze_dim(1);
    let ids: Tensor<2, Int> = candidates.ids.unsqueeze_dim(0);
    let hits = targets
        .expand([rows, samples])
        .equal(ids.expand([rows, samples]));
    let others = others.mask_fill(hits, -1e30);
    let logits = Tensor::cat(vec![own.unsqueeze_dim(1), others], 1); // [rows, 1 + samples]
    log_softmax(logits, 1).narrow(1, 0, 1).reshape([rows]).neg()
}
