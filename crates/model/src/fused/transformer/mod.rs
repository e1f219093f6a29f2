//! The two sublayers of a post-norm transformer layer (BERT), each as one operation.
//!
//! On the CPU with LibTorch each group of operations between two products (bias and GELU; splitting heads; mask, softmax
//! and dropout; dropout, residual and normalisation) is one pass over memory, forward and backward. With
//! [`Precision::Bf16`] the operands of all its products are bfloat16, those of attention included, and are stored as such
//! for the backward pass; the scores of attention, softmax, normalisation and the residual are f32. Where bfloat16 operands
//! are multiplied as such, the results of products other than the scores are rounded to bfloat16 once more, also the
//! gradients of weights, which come out as f32.
//!
//! | device | condition | implementation |
//! |---|---|---|
//! | LibTorch, CPU | | `kernel/` with `sublayers.cpp` and `passes.cpp`: products of LibTorch, all else in passes of our own |
//! | LibTorch, others | | `operators/`: one node of few and large operators |
//! | LibTorch, any | GELU by tanh, an adapter, a prefix, or dropout before a low-rank update | `plain_…` below: the operations next to this folder |
//! | other backends | | the same |
//!
//! Those that are not on the CPU, and `plain_…`, round only the operands of the products with weights.

#[cfg(feature = "tch")]
mod kernel;
#[cfg(feature = "tch")]
mod operators;

use burn::tensor::Tensor;
use burn::tensor::activation::{gelu, gelu_approximate};
use serde::{Deserialize, Serialize};

#[cfg(feature = "tch")]
use super::libtorch::Input;
use super::{
    Dropout, Precision, PrefixWeights, Unpadding, dropout, layer_norm, linear, padded,
    prefixed_attention, unpadded,
};
use crate::lora::Update;
use crate::pass::Activations;

/// Weight `[out, in]` and bias `[out]` of a product.
#[derive(Debug, Clone)]
pub struct Affine {
    /// `[out, in]`.
    pub weight: Tensor<2>,
    /// `[out]`.
    pub bias: Tensor<1>,
    /// Low-rank update added to the product, if the update has dropout on.
    pub update: Option<Update>,
}

impl Affine {
    /// `[.., in]` to `[.., out]`.
    pub(crate) fn of<const D: usize>(self, x: Tensor<D>, precision: Precision) -> Tensor<D> {
        match self.update {
            None => linear(x, self.weight, self.bias, precision),
            Some(update) => {
                let added = update.of(x.clone());
                linear(x, self.weight, self.bias, precision) + added
            }
        }
    }
}

/// Weights of a bottleneck adapter.
#[derive(Debug, Clone)]
pub struct AdapterWeights {
    /// `[width, hidden]`.
    pub down: Affine,
    /// `[hidden, width]`.
    pub up: Affine,
}

impl AdapterWeights {
    /// `y + up(gelu(down(y)))` for `y` `[batch, seq, hidden]`.
    pub(crate) fn of(self, y: Tensor<3>, precision: Precision) -> Tensor<3> {
        let inner = gelu(self.down.of(y.clone(), precision)); // [batch, seq, width]
        y + self.up.of(inner, precision)
    }
}

/// The output of a sublayer after its adapter, if it has one.
pub(crate) fn adapted(
    adapter: Option<AdapterWeights>,
    y: Tensor<3>,
    precision: Precision,
) -> Tensor<3> {
    match adapter {
        Some(adapter) => adapter.of(y, precision),
        None => y,
    }
}

/// Scale and shift of layer normalisation, `[hidden]` each.
#[derive(Debug, Clone)]
pub struct NormWeights {
    /// Scale.
    pub weight: Tensor<1>,
    /// Shift.
    pub bias: Tensor<1>,
    /// Added to the variance.
    pub epsilon: f64,
}

/// The form of GELU between the two products of a feed-forward sublayer, under the names of transformers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Gelu {
    /// By the error function, as it is defined.
    #[serde(rename = "gelu")]
    Erf,
    /// By tanh, as the first GPT has it.
    #[serde(rename = "gelu_new")]
    Tanh,
}

impl Gelu {
    fn of(self, x: Tensor<3>) -> Tensor<3> {
        match self {
            Self::Erf => gelu(x),
            Self::Tanh => gelu_approximate(x),
        }
    }
}

/// Weights of [`feed_forward`].
#[derive(Debug, Clone)]
pub struct FeedForwardWeights {
    /// `[intermediate, hidden]`.
    pub inner: Affine,
    /// `[hidden, intermediate]`.
    pub outer: Affine,
    /// Activation between both.
    pub gelu: Gelu,
    /// Adapter in front of the residual.
    pub adapter: Option<AdapterWeights>,
    /// Layer normalisation of the result.
    pub norm: NormWeights,
}

impl FeedForwardWeights {
    /// Returns true if the activation is that of the kernel, and there is no adapter and no low-rank update separate from
    /// its weight.
    #[cfg_attr(
        not(feature = "tch"),
        expect(dead_code, reason = "asked before a kernel")
    )]
    fn fits_kernel(&self) -> bool {
        let updates = [&self.inner, &self.outer].map(|affine| affine.update.is_some());
        self.gelu == Gelu::Erf && self.adapter.is_none() && updates == [false; 2]
    }

    /// The tensors that a kernel reads: input, inner weight and bias, outer weight and bias, scale, shift.
    #[cfg(feature = "tch")]
    fn inputs(self, x: Tensor<3>) -> [Input; 7] {
        let (inner, outer, norm) = (self.inner, self.outer, self.norm);
        [
            x.into(),
            inner.weight.into(),
            inner.bias.into(),
            outer.weight.into(),
            outer.bias.into(),
            norm.weight.into(),
            norm.bias.into(),
        ]
    }
}

/// Arguments of [`feed_forward`] other than its weights.
#[derive(Debug, Clone, Copy)]
pub struct FeedForward {
    /// Dropout on the output.
    pub hidden: Dropout,
    /// Precision of the products.
    pub precision: Precision,
    /// Inner results for the backward pass.
    pub activations: Activations,
}

/// `norm(x + dropout(outer(gelu(inner(x)))))` for `x` `[batch, seq, hidden]`.
pub fn feed_forward(x: Tensor<3>, weights: FeedForwardWeights, settings: FeedForward) -> Tensor<3> {
    #[cfg(feature = "tch")]
    if super::libtorch::owns(&x.device()) && weights.fits_kernel() {
        return if super::libtorch::owns_in_main_memory(&x.device()) {
            kernel::feed_forward(x, weights, settings)
        } else {
            operators::feed_forward(x, weights, settings)
        };
    }
    plain_feed_forward(x, weights, settings.hidden, settings.precision)
}

fn plain_feed_forward(
    x: Tensor<3>,
    weights: FeedForwardWeights,
    drop: Dropout,
    precision: Precision,
) -> Tensor<3> {
    let FeedForwardWeights {
        inner,
        outer,
        gelu,
        adapter,
        norm,
    } = weights;
    let wide = gelu.of(inner.of(x.clone(), precision)); // [batch, seq, intermediate]
    let y = outer.of(wide, precision);
    let y = dropout(y, drop.rate, drop.seed);
    let y = adapted(adapter, y, precision);
    layer_norm(x + y, norm.weight, norm.bias, norm.epsilon)
}

/// Weights of [`self_attention`]; the products are `[hidden, hidden]`.
#[derive(Debug, Clone)]
pub struct SelfAttentionWeights {
    /// Queries, keys and values.
    pub projections: [Affine; 3],
    /// Product on the heads' results.
    pub output: Affine,
    /// Keys and values in front of those of the tokens.
    pub prefix: Option<PrefixWeights>,
    /// Adapter in front of the residual.
    pub adapter: Option<AdapterWeights>,
    /// Layer normalisation of the result.
    pub norm: NormWeights,
}

impl SelfAttentionWeights {
    /// Returns true if there is no prefix, no adapter, and no low-rank update separate from its weight.
    #[cfg_attr(
        not(feature = "tch"),
        expect(dead_code, reason = "asked before a kernel")
    )]
    fn fits_kernel(&self) -> bool {
        let mut all = self.projections.iter().chain([&self.output]);
        self.prefix.is_none() && self.adapter.is_none() && all.all(|affine| affine.update.is_none())
    }

    /// The tensors that a kernel reads: input, weight and bias of queries, keys, values and output, scale, shift.
    #[cfg(feature = "tch")]
    fn inputs(self, x: Tensor<3>) -> [Input; 11] {
        let ([q, k, v], output, norm) = (self.projections, self.output, self.norm);
        [
            x.into(),
            q.weight.into(),
            q.bias.into(),
            k.weight.into(),
            k.bias.into(),
            v.weight.into(),
            v.bias.into(),
            output.weight.into(),
            output.bias.into(),
            norm.weight.into(),
            norm.bias.into(),
        ]
    }
}

/// Arguments of [`self_attention`] other than its weights.
#[derive(Debug, Clone)]
pub struct SelfAttention {
    /// Attention heads; divides the width.
    pub heads: usize,
    /// `[batch, 1, 1, seq]`: zero for keys that are seen and very negative for others. It gets no gradient.
    pub mask: Option<Tensor<4>>,
    /// Places of the tokens, where padding has been taken out of the input.
    pub unpadding: Option<Unpadding>,
    /// Dropout on the probabilities.
    pub probabilities: Dropout,
    /// Dropout on the output.
    pub hidden: Dropout,
    /// Precision of the products.
    pub precision: Precision,
    /// Inner results for the backward pass.
    pub activations: Activations,
}

/// `norm(x + dropout(output(attention(projections(x)))))` for `x` `[batch, seq, hidden]`, or `[1, tokens, hidden]` with an
/// unpadding.
pub fn self_attention(
    x: Tensor<3>,
    weights: SelfAttentionWeights,
    settings: SelfAttention,
) -> Tensor<3> {
    #[cfg(feature = "tch")]
    if super::libtorch::owns(&x.device()) && weights.fits_kernel() {
        if super::libtorch::owns_in_main_memory(&x.device()) {
            return kernel::self_attention(x, weights, settings);
        }
        // A batch made where our own kernels run may come here without its padding.
        if settings.unpadding.is_none() {
            return operators::self_attention(x, weights, settings);
        }
    }
    plain_self_attention(x, weights, settings)
}

fn plain_self_attention(
    x: Tensor<3>,
    weights: SelfAttentionWeights,
    settings: SelfAttention,
) -> Tensor<3> {
    let SelfAttention {
        heads,
        mask,
        unpadding,
        probabilities,
        hidden: drop,
        precision,
        activations: _,
    } = settings;
    let heads_of = weights.projections.map(|affine| {
        let part = padded(unpadding.as_ref(), affine.of(x.clone(), precision));
        let [batch, seq, hidden] = part.dims();
        part.reshape([batch, seq, heads, hidden / heads])
            .swap_dims(1, 2) // [batch, heads, seq, head_dim]
    });
    let context = prefixed_attention(weights.prefix, heads_of, mask, probabilities);
    let context = merged(context, unpadding.as_ref());
    let y = weights.output.of(context, precision);
    let y = dropout(y, drop.rate, drop.seed);
    let y = adapted(weights.adapter, y, precision);
    layer_norm(
        x + y,
        weights.norm.weight,
        weights.norm.bias,
        weights.norm.epsilon,
    )
}

/// The heads of each token next to each other: `[batch, heads, seq, head_dim]` to `[batch, seq, hidden]`, or to
/// `[1, tokens, hidden]` with an unpadding.
pub(crate) fn merged(context: Tensor<4>, unpadding: Option<&Unpadding>) -> Tensor<3> {
    let [batch, heads, seq, head_dim] = context.dims();
    let rows = context.swap_dims(1, 2);
    unpadded(unpadding, rows.reshape([batch, seq, heads * head_dim]))
}
