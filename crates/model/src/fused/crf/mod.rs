//! The log likelihood of a chain of tags, and its derivative by the marginals of the forward-backward recursion.

#[cfg(feature = "tch")]
mod kernel;

use burn::tensor::{Int, Tensor};

/// Transition and boundary scores of a CRF.
#[derive(Debug, Clone)]
pub struct CrfWeights {
    /// `[tags, tags]`: from the row's tag to the column's.
    pub transitions: Tensor<2>,
    /// Scores of the first word's tag, `[tags]`.
    pub start: Tensor<1>,
    /// Scores of the last word's tag, `[tags]`.
    pub end: Tensor<1>,
}

/// The log probability of `tags` `[batch, words]` under `emissions` `[batch, words, tags]`, for each row: `[batch]`.
///
/// `mask` `[batch, words]` is 1 for words and 0 for padding, which lies on the right; `tags` may hold anything there.
pub fn crf_log_likelihood(
    emissions: Tensor<3>,
    weights: CrfWeights,
    tags: Tensor<2, Int>,
    mask: Tensor<2>,
) -> Tensor<1> {
    let tags = tags * mask.clone().int();
    #[cfg(feature = "tch")]
    if super::libtorch::owns_in_main_memory(&emissions.device()) {
        return kernel::log_likelihood(emissions, weights, &tags, &mask);
    }
    plain(emissions, weights, tags, mask)
}

fn plain(
    emissions: Tensor<3>,
    weights: CrfWeights,
    tags: Tensor<2, Int>,
    mask: Tensor<2>,
) -> Tensor<1> {
    path_score(emissions.clone(), &weights, tags, mask.clone())
        - log_partition(emissions, weights, mask)
}

/// The score of one path in each row, `[batch]`.
fn path_score(
    emissions: Tensor<3>,
    weights: &CrfWeights,
    tags: Tensor<2, Int>,
    mask: Tensor<2>,
) -> Tensor<1> {
    let [batch, words, n_tags] = emissions.dims();
    let emitted = emissions.gather(2, tags.clone().unsqueeze_dim(2));
    let emitted = emitted.squeeze_dim::<2>(2) * mask.clone(); // [batch, words]
    let mut score = emitted.sum_dim(1).squeeze_dim::<1>(1);
    if words > 1 {
        let [before, after] = [0, 1].map(|i| tags.clone().narrow(1, i, words - 1));
        let pairs = (before * n_tags as i64 + after).reshape([batch * (words - 1)]);
        let moves = weights.transitions.clone().reshape([n_tags * n_tags]);
        let moves = moves.select(0, pairs).reshape([batch, words - 1]);
        let moves = moves * mask.clone().narrow(1, 1, words - 1);
        score = score + moves.sum_dim(1).squeeze_dim(1);
    }
    let last = mask.sum_dim(1).int() - 1; // [batch, 1]
    let first = tags.clone().narrow(1, 0, 1).squeeze_dim(1);
    let last = tags.gather(1, last).squeeze_dim(1);
    score + weights.start.clone().select(0, first) + weights.end.clone().select(0, last)
}

/// The log of the sum over all paths of exp(score), `[batch]`: one step for each word over all rows and pairs of tags.
fn log_partition(emissions: Tensor<3>, weights: CrfWeights, mask: Tensor<2>) -> Tensor<1> {
    let [_, words, _] = emissions.dims();
    let word = |i| emissions.clone().narrow(1, i, 1).squeeze_dim::<2>(1); // [batch, tags]
    let transitions = weights.transitions.unsqueeze_dim::<3>(0); // [1, from, to]
    let mut alpha = word(0) + weights.start.unsqueeze_dim(0); // [batch, tags]
    for i in 1..words {
        let paths = alpha.clone().unsqueeze_dim::<3>(2) + transitions.clone();
        let next = log_sum_exp(paths, 1).squeeze_dim::<2>(1) + word(i);
        let real = mask.clone().narrow(1, i, 1); // [batch, 1]
        // At padding a row keeps its values.
        alpha = alpha.clone() + (next - alpha) * real;
    }
    log_sum_exp(alpha + weights.end.unsqueeze_dim(0), 1).squeeze_dim(1)
}

fn log_sum_exp<const D: usize>(x: Tensor<D>, dim: usize) -> Tensor<D> {
    let largest = x.clone().max_dim(dim).detach();
    (x - largest.clone()).exp().sum_dim(dim).log() + largest
}

#[cfg(all(test, feature = "tch"))]
mod tests {
    use burn::tensor::{Device, Tensor};

    use super::{CrfWeights, crf_log_likelihood, plain};
    use crate::fused::compare::check;

    const BATCH: usize = 4;
    const WORDS: usize = 6;

    fn check_tags(n_tags: usize, scale: f32, tolerance: f32) {
        let shapes = [
            vec![BATCH, WORDS, n_tags],
            vec![n_tags, n_tags],
            vec![n_tags],
            vec![n_tags],
        ];
        let run = |inputs: &[Tensor<1>], device: &Device, fused: bool| {
            let device = device.clone().inner();
            let rows = [6, 1, 4, 3].map(|n| [0, 1, 2, 3, 4, 5].map(|i| f32::from(i < n)));
            let mask = Tensor::from_data(rows, &device);
            let tags: Vec<i64> = (0..(BATCH * WORDS) as i64)
                .map(|i| i * i % n_tags as i64)
                .collect();
            let tags = Tensor::<1, burn::tensor::Int>::from_data(tags.as_slice(), &device);
            let tags = tags.reshape([BATCH, WORDS]);
            let emissions = (inputs[0].clone() * scale).reshape([BATCH, WORDS, n_tags]);
            let weights = CrfWeights {
                transitions: (inputs[1].clone() * scale).reshape([n_tags, n_tags]),
                start: inputs[2].clone(),
                end: inputs[3].clone(),
            };
            if fused {
                crf_log_likelihood(emissions, weights, tags, mask)
            } else {
                plain(emissions, weights, tags, mask)
            }
        };
        check(&shapes, tolerance, |inputs, device| {
            run(inputs, device, true)
        });
        check(&shapes, tolerance, |inputs, device| {
            run(inputs, device, false)
        });
    }

    #[test]
    fn libtorch_and_plain_agree() {
        check_tags(3, 1.0, 2e-5);
        check_tags(9, 1.0, 2e-5);
        check_tags(17, 4.0, 2e-5);
    }

    #[test]
    fn scores_far_apart_do_not_overflow() {
        // Scores in the thousands are 32-bit floats four digits behind the point, in the plain body.
        check_tags(5, 300.0, 5e-4);
    }
}
