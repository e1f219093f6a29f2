//! Rotary positions (Su et al. 2021).

use burn::tensor::module::embedding;
use burn::tensor::{Tensor, TensorData};

use crate::TokenBatch;

/// Rotary positions: pairs of numbers `i` and `i + head_dim / 2` of a query or key are turned by an angle that grows with
/// the position.
pub(super) struct Rotation {
    /// `[1 or batch, 1, seq, head_dim]`.
    cos: Tensor<4>,
    /// The same shape.
    sin: Tensor<4>,
}

impl Rotation {
    /// The angles of a batch; `theta` is the base of the frequencies.
    pub(super) fn new(batch: &TokenBatch, head_dim: usize, theta: f64) -> Self {
        let [n, seq] = batch.shape();
        let device = batch.ids.device();
        let half = head_dim / 2;
        // Rounded to f32 where transformers rounds, so that distant positions have the same angles.
        let frequencies: Vec<f32> = (0..half)
            .map(|i| 1.0 / theta.powf(i as f64 / half as f64) as f32)
            .collect();
        let table = |of: fn(f64) -> f64| {
            let angles = (0..seq).flat_map(|position| {
                let angle = move |frequency: &f32| position as f32 * frequency;
                let row = frequencies.iter().map(angle);
                row.clone().chain(row)
            });
            let values: Vec<f32> = angles.map(|angle| of(angle.into()) as f32).collect();
            let table = Tensor::<2>::from_data(TensorData::new(values, [seq, head_dim]), &device);
            match batch.positions() {
                Some(positions) => embedding(table, positions).reshape([n, 1, seq, head_dim]),
                None => table.reshape([1, 1, seq, head_dim]),
            }
        };
        Self {
            cos: table(f64::cos),
            sin: table(f64::sin),
        }
    }

    /// `[batch, heads, seq, head_dim]` to the same shape.
    pub(super) fn apply(&self, x: Tensor<4>) -> Tensor<4> {
        let [first, second] = halves(x.clone());
        let turned = Tensor::cat(vec![-second, first], 3);
        x * self.cos.clone() + turned * self.sin.clone()
    }
}

/// The two halves of the last dimension.
pub(super) fn halves<const D: usize>(x: Tensor<D>) -> [Tensor<D>; 2] {
    let half = x.dims()[D - 1] / 2;
    [0, half].map(|start| x.clone().narrow(D - 1, start, half))
}
