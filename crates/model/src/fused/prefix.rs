//! Attention with a prefix: keys and values in front of those of the tokens, which every token sees.

use burn::tensor::Tensor;

use super::{Dropout, attention};

/// Keys and values of a prefix, of all heads.
#[derive(Debug, Clone)]
pub struct PrefixWeights {
    /// `[length, hidden]`.
    pub key: Tensor<2>,
    /// The same shape.
    pub value: Tensor<2>,
}

impl PrefixWeights {
    /// Puts the prefix in front of keys and values, `[batch, heads, seq, head_dim]` each.
    fn before(self, [k, v]: [Tensor<4>; 2]) -> [Tensor<4>; 2] {
        let [batch, heads, _, head_dim] = k.dims();
        let [length, _] = self.key.dims();
        let extended = |prefix: Tensor<2>, x: Tensor<4>| {
            let prefix = prefix
                .reshape([1, length, heads, head_dim])
                .swap_dims(1, 2)
                .expand([batch, heads, length, head_dim]);
            Tensor::cat(vec![prefix, x], 2) // [batch, heads, length + seq, head_dim]
        };
        [extended(self.key, k), extended(self.value, v)]
    }

    /// Extends a bias on attention scores by zeros for the prefix: `[.., seq]` to `[.., length + seq]`.
    fn visible(&self, bias: Tensor<4>) -> Tensor<4> {
        let [batch, heads, queries, _] = bias.dims();
        let [length, _] = self.key.dims();
        let prefix = Tensor::zeros([batch, heads, queries, length], &bias.device());
        Tensor::cat(vec![prefix, bias], 3)
    }
}

/// [`attention`] behind a prefix, if there is one; `k`, `v` and `bias` are those of the tokens.
pub(crate) fn prefixed_attention(
    prefix: Option<PrefixWeights>,
    [q, k, v]: [Tensor<4>; 3],
    bias: Option<Tensor<4>>,
    probabilities: Dropout,
) -> Tensor<4> {
    let Some(prefix) = prefix else {
        return attention([q, k, v], bias, probabilities);
    };
    let bias = bias.map(|bias| prefix.visible(bias));
    let [k, v] = prefix.before([k, v]);
    attention([q, k, v], bias, probabilities)
}
