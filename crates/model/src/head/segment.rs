//! Operations without weights on the token states of a text, for heads.
//!
//! Padding is on the right and has no influence; a row with nothing but padding is read as zeros.

use burn::tensor::Tensor;
use burn::tensor::activation::softmax;

use crate::Segment;

impl Segment {
    /// Replaces the states of the same tokens.
    pub(super) fn with(&self, states: Tensor<3>) -> Self {
        Self {
            states,
            mask: self.mask.clone(),
        }
    }

    /// The mask, `[batch, seq, 1]`.
    pub(super) fn weights(&self) -> Tensor<3> {
        self.mask.clone().unsqueeze_dim(2)
    }

    /// 0 for a real token, far below everything else for padding, `[batch, seq, 1]`; 0 in a row without a real token.
    pub(super) fn bias(&self) -> Tensor<3> {
        let real = self.weights();
        (real.clone() - real.max_dim(1)) * 1e9
    }

    /// Number of real tokens, `[batch, 1]`, at least 1.
    pub(super) fn lengths(&self) -> Tensor<2> {
        self.mask.clone().sum_dim(1).clamp_min(1.0)
    }

    /// Max pooling: the largest value of each dimension, `[batch, width]`.
    pub(super) fn max(&self) -> Tensor<2> {
        let states = self.states.clone() + self.bias();
        states.max_dim(1).squeeze_dim(1)
    }

    /// The smallest value of each dimension, `[batch, width]`.
    pub(super) fn min(&self) -> Tensor<2> {
        let states = self.states.clone() - self.bias();
        states.min_dim(1).squeeze_dim(1)
    }

    /// The mean, `[batch, width]`.
    pub(super) fn mean(&self) -> Tensor<2> {
        let sum = (self.states.clone() * self.weights()).sum_dim(1);
        sum.squeeze_dim(1) / self.lengths()
    }

    /// The first token, `[batch, width]`.
    pub(super) fn first(&self) -> Tensor<2> {
        self.states.clone().narrow(1, 0, 1).squeeze_dim(1)
    }

    /// The last real token, `[batch, width]`.
    pub(super) fn last(&self) -> Tensor<2> {
        let [batch, _, width] = self.states.dims();
        let last = (self.lengths() - 1.0).int().unsqueeze_dim::<3>(2); // [batch, 1, 1]
        let last = last.expand([batch, 1, width]);
        self.states.clone().gather(1, last).squeeze_dim(1)
    }

    /// The mean of the states weighted by the softmax of `scores` `[batch, seq, 1]`: `[batch, width]`.
    pub(super) fn weighted(&self, scores: Tensor<3>) -> Tensor<2> {
        let shares = softmax(scores + self.bias(), 1); // [batch, seq, 1]
        let sum = (self.states.clone() * shares).sum_dim(1);
        sum.squeeze_dim(1)
    }
}

/// Soft alignment by dot products (Chen et al. 2017, equations 11 to 13): for each token of `a` the mean of the states
/// of `b`, weighted by a softmax over its real tokens, and the same for each token of `b`.
pub(super) fn align(a: &Segment, b: &Segment) -> [Tensor<3>; 2] {
    let scores = dots(a, b); // [batch, seq_a, seq_b]
    let back = scores.clone().swap_dims(1, 2);
    [mix(scores, b), mix(back, a)]
}

/// Aligns one text with itself, as [`align`].
pub(super) fn align_self(x: &Segment) -> Tensor<3> {
    mix(dots(x, x), x)
}

/// The dot product of each token of `a` with each of `b`, `[batch, seq_a, seq_b]`.
fn dots(a: &Segment, b: &Segment) -> Tensor<3> {
    a.states.clone().matmul(b.states.clone().swap_dims(1, 2))
}

/// Means of the states of `of`, weighted by the softmax of each row of `scores` `[batch, rows, seq]`.
fn mix(scores: Tensor<3>, of: &Segment) -> Tensor<3> {
    let shares = softmax(scores + of.bias().swap_dims(1, 2), 2);
    shares.matmul(of.states.clone()) // [batch, rows, width]
}

/// `[x; c; x - c; x * c]`, `[batch, seq, 4 width]` (Chen et al. 2017, equations 14 and 15).
pub(super) fn enhance(x: Tensor<3>, c: Tensor<3>) -> Tensor<3> {
    let (difference, product) = (x.clone() - c.clone(), x.clone() * c.clone());
    Tensor::cat(vec![x, c, difference, product], 2)
}
