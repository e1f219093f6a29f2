//! Scaled dot-product attention with dropout on the probabilities, as in BERT.

use burn::tensor::Tensor;
use burn::tensor::activation::softmax;

use super::{Dropout, dropout};

/// `dropout(softmax(q kᵀ / sqrt(head_dim) + bias)) v`.
///
/// `q` and the result are `[batch, heads, seq, head_dim]`, `k` and `v` `[batch, heads, keys, head_dim]`; `bias` is
/// `[batch, 1, 1, keys]` or `[batch, 1, seq, keys]`, zero for keys that are seen and very negative for others. It gets no
/// gradient.
pub fn attention(
    [q, k, v]: [Tensor<4>; 3],
    bias: Option<Tensor<4>>,
    probabilities: Dropout,
) -> Tensor<4> {
    #[cfg(feature = "tch")]
    if super::libtorch::owns(&q.device()) {
        let Dropout { rate, seed } = probabilities;
        let bias = bias.map(|bias| super::libtorch::held(&bias));
        let inputs: [super::libtorch::Input; 3] = [q.into(), k.into(), v.into()];
        return if rate > 0.0 && inputs[0].in_main_memory() {
            super::libtorch::apply(kernel::Dropped { bias, rate, seed }, inputs)
        } else {
            super::libtorch::apply(kernel::Library { bias, rate, seed }, inputs)
        };
    }
    plain([q, k, v], bias, probabilities)
}

fn plain(
    [q, k, v]: [Tensor<4>; 3],
    bias: Option<Tensor<4>>,
    Dropout { rate, seed }: Dropout,
) -> Tensor<4> {
    let [.., head_dim] = q.dims();
    let mut scores = q.matmul(k.swap_dims(2, 3)) * (head_dim as f64).powf(-0.5); // [batch, heads, seq, keys]
    if let Some(bias) = bias {
        scores = scores + bias;
    }
    let p = softmax(scores, 3);
    let p = if rate == 0.0 {
        p
    } else {
        dropout::plain(p, rate, seed)
    };
    p.matmul(v)
}

#[cfg(feature = "tch")]
mod kernel;
