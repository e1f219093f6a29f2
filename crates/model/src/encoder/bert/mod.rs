//! BERT (Devlin et al. 2019): post-layer-norm transformer, erf GELU, dropout on attention probabilities, pooler.
//!
//! Names below are ours; where each tensor is taken from `weights`, the name is the one in published checkpoints:
//!
//! | here | checkpoint |
//! |---|---|
//! | `embeddings.{word, position, segment}` | `embeddings.{word_embeddings, position_embeddings, token_type_embeddings}.weight` |
//! | `embeddings.norm` | `embeddings.LayerNorm` |
//! | `layers.<i>.attention.{query, key, value}` | `encoder.layer.<i>.attention.self.{query, key, value}` |
//! | `layers.<i>.attention.output`, `.norm` | `encoder.layer.<i>.attention.output.{dense, LayerNorm}` |
//! | `layers.<i>.feed_forward.{intermediate, output, norm}` | `encoder.layer.<i>.{intermediate.dense, output.dense, output.LayerNorm}` |
//! | `pooler.dense` | `pooler.dense` |
//! | `embeddings.projection`, of an ELECTRA or ALBERT | `embeddings_project` |
//!
//! Segments and the pooler may be absent, as in a DistilBERT; positions may begin further on, as in a RoBERTa; embeddings
//! may have another width than the layers, as in an ELECTRA; a layer may be applied several times, as in an ALBERT.
//! [`BertFamily`] says so for each architecture.

use std::ops::Range;

use anyhow::{Result, ensure};
use burn::module::{Module, Param};
use burn::tensor::module::embedding;
use burn::tensor::{Device, Tensor};

use super::low_rank::linears;
use super::transformer::Transformer;
use super::{Encoder, PoolerKind, Shape};
use crate::adapter::{Adapter, AdapterPlace};
use crate::fused::{
    Dropout, FeedForwardWeights, Gelu, SelfAttention, SelfAttentionWeights, Unpadding,
};
use crate::layer::{Linear, Norm, parameter};
use crate::pass::mix;
use crate::prefix::{Prefix, PrefixPlace};
use crate::{Pass, TokenBatch, Weights, fused};

mod config;
mod family;

pub use config::BertConfig;
pub use family::BertFamily;

/// A BERT encoder with its pooler, or that of an architecture that differs from it only in sizes and embeddings.
#[derive(Module, Debug)]
pub struct Bert {
    embeddings: Embeddings,
    layers: Vec<Layer>,
    pooler: Option<Pooler>,
    /// Number of times that each layer is applied.
    applications: usize,
}

/// Number of dropout seeds of one application of a layer: attention probabilities and the outputs of its two sublayers.
const DRAWS_OF_A_LAYER: u64 = 3;

impl Encoder for Bert {
    fn embed(&self, batch: &TokenBatch, pass: &Pass) -> Tensor<3> {
        self.embeddings.forward(batch, pass)
    }

    fn outputs(
        &self,
        x: Tensor<3>,
        layers: Range<usize>,
        batch: &TokenBatch,
        pass: &Pass,
    ) -> Vec<Tensor<3>> {
        self.through(x, layers, batch, pass)
    }

    fn pool(&self, top: Tensor<3>) -> Option<Tensor<2>> {
        self.pooler.as_ref().map(|pooler| pooler.forward(top)) // [batch, hidden]
    }

    fn n_dropout_seeds(&self, block: usize) -> u64 {
        1 + DRAWS_OF_A_LAYER * (self.applications * block) as u64
    }

    fn n_layers(&self) -> usize {
        self.layers.len()
    }

    fn hidden(&self) -> usize {
        self.embeddings.width()
    }

    fn has_pooler(&self) -> bool {
        self.pooler.is_some()
    }

    fn pad_id(&self) -> u32 {
        self.embeddings.pad_before.unwrap_or(0)
    }

    fn word_table(&mut self) -> Option<&mut Param<Tensor<2>>> {
        Some(&mut self.embeddings.word)
    }

    fn with_dropout(mut self, rate: f64) -> Self {
        self.embeddings.dropout = rate;
        for layer in &mut self.layers {
            layer.attention.dropout = rate;
            layer.attention.attention_dropout = rate;
            layer.feed_forward.set_dropout(rate);
        }
        self
    }

    fn linears(&mut self) -> Vec<(usize, String, &mut Linear)> {
        let layers = self.layers.iter_mut().map(|layer| {
            let (attention, feed_forward) = (&mut layer.attention, &mut layer.feed_forward);
            [
                &mut attention.query,
                &mut attention.key,
                &mut attention.value,
                &mut attention.output,
                &mut feed_forward.intermediate,
                &mut feed_forward.output,
            ]
        });
        linears(BertConfig::LINEARS, layers)
    }

    fn adapter_places(&mut self) -> Vec<AdapterPlace<'_>> {
        AdapterPlace::of_layers(self.layers.iter_mut().map(|layer| {
            let (attention, feed_forward) = (&mut layer.attention, &mut layer.feed_forward);
            [&mut attention.adapter, &mut feed_forward.adapter]
        }))
    }

    fn recomputes(&self) -> bool {
        let mut layers = self.layers.iter();
        layers.all(|layer| layer.feed_forward.gelu == Gelu::Erf)
    }

    fn prefix_places(&mut self) -> Vec<PrefixPlace<'_>> {
        let layers = self.layers.iter_mut();
        PrefixPlace::of_layers(layers.map(|layer| &mut layer.attention.prefix))
    }
}

impl Transformer for Bert {
    type View = View;

    fn view(&self, batch: &TokenBatch) -> View {
        View {
            bias: batch.attention_bias(),
            unpadding: batch.unpadding().cloned(),
        }
    }

    fn layer(&self, x: Tensor<3>, view: &View, block: usize, pass: &Pass) -> Tensor<3> {
        (0..self.applications).fold(x, |x, _| {
            self.layers[block - 1].forward(x, view, block, pass)
        })
    }
}

impl Bert {
    /// Takes the weights of a member of its family from `weights` and puts them on `device`.
    ///
    /// # Errors
    /// When a tensor is missing or has another shape, or heads do not divide the width.
    fn load<F: BertFamily>(family: &F, weights: &mut dyn Weights, device: &Device) -> Result<Self> {
        let config = family.bert();
        let (hidden, heads) = (config.hidden_size, config.num_attention_heads);
        ensure!(
            heads > 0 && hidden.is_multiple_of(heads),
            "num_attention_heads = {heads} does not divide hidden_size = {hidden}"
        );
        let load = |i: usize| {
            let mut layer = Layer::load(&config, weights, &format!("encoder.layer.{i}"), device)?;
            layer.feed_forward.gelu = family.activation();
            if !family.drops_feed_forward() {
                layer.feed_forward.dropout = None;
            }
            Ok(layer)
        };
        let layers = (0..config.num_hidden_layers).map(load);
        let layers = layers.collect::<Result<_>>()?;
        Ok(Self {
            embeddings: Embeddings::load(family, weights, device)?,
            layers,
            pooler: match config.pooler {
                PoolerKind::Tanh => Some(Pooler {
                    dense: Linear::load(weights, "pooler.dense", [hidden, hidden], device)?,
                }),
                PoolerKind::None => None,
            },
            applications: family.applications(),
        })
    }

    /// The table of word embeddings, `[vocab, hidden]`.
    pub(crate) fn word_embeddings(&self) -> Tensor<2> {
        self.embeddings.word.val()
    }
}

/// Visible keys of a batch and the places of its tokens, the same for all layers.
pub(crate) struct View {
    /// Bias on attention scores: `[batch, 1, 1 or seq, seq]`.
    pub(crate) bias: Option<Tensor<4>>,
    pub(crate) unpadding: Option<Unpadding>,
}

/// Word, position and segment embeddings, summed, normalised, dropped, and projected in some of the family.
#[derive(Module, Debug)]
struct Embeddings {
    word: Param<Tensor<2>>,
    position: Param<Tensor<2>>,
    segment: Option<Param<Tensor<2>>>,
    norm: Norm,
    projection: Option<Linear>,
    dropout: f64,
    /// Id of padding where positions start behind its row: [`BertFamily::pad_before_positions`].
    #[module(skip)]
    pad_before: Option<u32>,
}

impl Embeddings {
    fn load<F: BertFamily>(family: &F, weights: &mut dyn Weights, device: &Device) -> Result<Self> {
        let (config, width) = (family.bert(), family.embedding_size());
        let mut table = |name: &str, rows: usize| {
            let name = format!("embeddings.{name}.weight");
            parameter(weights, &name, [rows, width], device)
        };
        Ok(Self {
            word: table("word_embeddings", config.vocab_size)?,
            position: table("position_embeddings", config.max_position_embeddings)?,
            segment: match config.type_vocab_size {
                0 => None,
                rows => Some(table("token_type_embeddings", rows)?),
            },
            norm: Norm::load(
                weights,
                "embeddings.LayerNorm",
                width,
                config.layer_norm_eps,
                device,
            )?,
            projection: family
                .projects_embeddings()
                .then(|| {
                    let sizes = [width, config.hidden_size];
                    Linear::load(weights, "embeddings_project", sizes, device)
                })
                .transpose()?,
            dropout: config.hidden_dropout_prob,
            pad_before: family.pad_before_positions(),
        })
    }

    /// Width of the output.
    fn width(&self) -> usize {
        match &self.projection {
            Some(projection) => projection.weight.dims()[0],
            None => self.norm.weight.dims()[0],
        }
    }

    fn forward(&self, batch: &TokenBatch, pass: &Pass) -> Tensor<3> {
        let [_, seq] = batch.shape();
        let [rows, _] = self.position.dims();
        let positions = rows - self.pad_before.map_or(0, |pad| pad as usize + 1);
        assert!(
            seq <= positions,
            "a batch of {seq} tokens is longer than the encoder's {positions} positions"
        );
        let word = batch.embedded(&self.word); // [batch, seq, width]
        let word = match &self.segment {
            // A single text belongs to the first segment; so does everything if there is only one, and where tokens are
            // numbered as in fairseq, whose models know no segments, however many rows the table has.
            Some(segment) if batch.apart || segment.dims()[0] == 1 || self.pad_before.is_some() => {
                word + embedding(segment.val(), batch.type_ids.zeros_like())
            }
            Some(segment) => word + embedding(segment.val(), batch.type_ids.clone()),
            None => word,
        };
        let table = self.position.val();
        let places = match self.pad_before {
            None => batch.positions(),
            Some(pad) => Some(batch.positions_after(pad)),
        };
        let position = match places {
            Some(places) => embedding(table, places), // [batch, seq, width]
            None => table.narrow(0, 0, seq).unsqueeze::<3>(), // [1, seq, width]
        };
        let x = self.norm.forward(word + position);
        let x = fused::dropout(x, pass.rate(0, self.dropout), pass.draw());
        match &self.projection {
            Some(projection) => projection.forward(x), // [batch, seq, hidden]
            None => x,
        }
    }
}

/// One transformer layer.
#[derive(Module, Debug)]
pub(crate) struct Layer {
    attention: Attention,
    feed_forward: FeedForward,
}

impl Layer {
    /// Takes the tensors of one layer, below `name`, from `weights`.
    pub(crate) fn load(
        config: &BertConfig,
        weights: &mut dyn Weights,
        name: &str,
        device: &Device,
    ) -> Result<Self> {
        Ok(Self {
            attention: Attention::load(config, weights, name, device)?,
            feed_forward: FeedForward::load(config, weights, name, device)?,
        })
    }

    /// The output for `x`, both as [`Transformer::layer`] has them; `block` is the layer's index in the encoder.
    pub(crate) fn forward(
        &self,
        x: Tensor<3>,
        view: &View,
        block: usize,
        pass: &Pass,
    ) -> Tensor<3> {
        let x = self.attention.forward(x, view, block, pass);
        self.feed_forward.forward(x, block, pass)
    }
}

/// The dropout of the low-rank update of the `n`th linear layer of a sublayer in `block`. Its seed comes from the
/// sublayer's: a draw of its own would change every mask above.
pub(super) fn updating(
    pass: &Pass,
    block: usize,
    seed: u64,
    n: u64,
) -> impl Fn(f64) -> Dropout + '_ {
    move |rate| Dropout {
        rate: pass.rate(block, rate),
        seed: mix(seed ^ mix(n)),
    }
}

/// Multi-head self-attention, then residual and normalisation.
#[derive(Module, Debug)]
struct Attention {
    query: Linear,
    key: Linear,
    value: Linear,
    output: Linear,
    adapter: Option<Adapter>,
    prefix: Option<Prefix>,
    norm: Norm,
    heads: usize,
    dropout: f64,
    attention_dropout: f64,
}

impl Attention {
    fn load(
        config: &BertConfig,
        weights: &mut dyn Weights,
        layer: &str,
        device: &Device,
    ) -> Result<Self> {
        let hidden = config.hidden_size;
        let mut linear = |name: &str| {
            let name = format!("{layer}.attention.{name}");
            Linear::load(weights, &name, [hidden, hidden], device)
        };
        Ok(Self {
            query: linear("self.query")?,
            key: linear("self.key")?,
            value: linear("self.value")?,
            output: linear("output.dense")?,
            adapter: None,
            prefix: None,
            norm: Norm::load(
                weights,
                &format!("{layer}.attention.output.LayerNorm"),
                hidden,
                config.layer_norm_eps,
                device,
            )?,
            heads: config.num_attention_heads,
            dropout: config.hidden_dropout_prob,
            attention_dropout: config.attention_probs_dropout_prob,
        })
    }

    fn forward(&self, x: Tensor<3>, view: &View, block: usize, pass: &Pass) -> Tensor<3> {
        let drop = |rate| Dropout {
            rate: pass.rate(block, rate),
            seed: pass.draw(),
        };
        let (probabilities, hidden) = (drop(self.attention_dropout), drop(self.dropout));
        let affine = |linear: &Linear, n| linear.affine(updating(pass, block, hidden.seed, n));
        let weights = SelfAttentionWeights {
            projections: [
                affine(&self.query, 0),
                affine(&self.key, 1),
                affine(&self.value, 2),
            ],
            output: affine(&self.output, 3),
            prefix: self.prefix.as_ref().map(Prefix::weights),
            adapter: self.adapter.as_ref().map(Adapter::weights),
            norm: self.norm.weights(),
        };
        let settings = SelfAttention {
            heads: self.heads,
            mask: view.bias.clone(),
            unpadding: view.unpadding.clone(),
            probabilities,
            hidden,
            precision: self.query.precision,
            activations: pass.activations,
        };
        fused::self_attention(x, weights, settings)
    }
}

/// Two products with GELU between, then residual and normalisation.
#[derive(Module, Debug)]
pub(super) struct FeedForward {
    pub(super) intermediate: Linear,
    pub(super) output: Linear,
    pub(super) adapter: Option<Adapter>,
    norm: Norm,
    #[module(skip)]
    gelu: Gelu,
    /// Rate on the output, if it has dropout.
    dropout: Option<f64>,
}

impl FeedForward {
    pub(super) fn load(
        config: &BertConfig,
        weights: &mut dyn Weights,
        layer: &str,
        device: &Device,
    ) -> Result<Self> {
        let (hidden, wide) = (config.hidden_size, config.intermediate_size);
        Ok(Self {
            intermediate: Linear::load(
                weights,
                &format!("{layer}.intermediate.dense"),
                [hidden, wide],
                device,
            )?,
            output: Linear::load(
                weights,
                &format!("{layer}.output.dense"),
                [wide, hidden],
                device,
            )?,
            adapter: None,
            norm: Norm::load(
                weights,
                &format!("{layer}.output.LayerNorm"),
                hidden,
                config.layer_norm_eps,
                device,
            )?,
            gelu: Gelu::Erf,
            dropout: Some(config.hidden_dropout_prob),
        })
    }

    /// Sets the rate of the dropout, if there is one.
    pub(super) fn set_dropout(&mut self, rate: f64) {
        self.dropout = self.dropout.map(|_| rate);
    }

    pub(super) fn forward(&self, x: Tensor<3>, block: usize, pass: &Pass) -> Tensor<3> {
        let drop = Dropout {
            rate: pass.rate(block, self.dropout.unwrap_or(0.0)),
            seed: pass.draw(),
        };
        let affine = |linear: &Linear, n| linear.affine(updating(pass, block, drop.seed, n));
        let weights = FeedForwardWeights {
            inner: affine(&self.intermediate, 0),
            outer: affine(&self.output, 1),
            gelu: self.gelu,
            adapter: self.adapter.as_ref().map(Adapter::weights),
            norm: self.norm.weights(),
        };
        let settings = fused::FeedForward {
            hidden: drop,
            precision: self.intermediate.precision,
            activations: pass.activations,
        };
        fused::feed_forward(x, weights, settings)
    }
}

/// `tanh(W h + b)` of the first token.
#[derive(Module, Debug)]
struct Pooler {
    dense: Linear,
}

impl Pooler {
    fn forward(&self, top: Tensor<3>) -> Tensor<2> {
        let first = top.narrow(1, 0, 1).squeeze_dim(1); // [batch, hidden]
        self.dense.forward(first).tanh()
    }
}
