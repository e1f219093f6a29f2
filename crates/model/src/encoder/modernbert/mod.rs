//! ModernBERT (Warner et al. 2024): pre-norm transformer with rotary positions (Su et al. 2021), GeGLU (Shazeer 2020), no
//! biases, and attention over the whole text only in every third layer.
//!
//! Names below are ours; where each tensor is taken from `weights`, the name is the one in published checkpoints:
//!
//! | here | checkpoint |
//! |---|---|
//! | `embeddings.{word, norm}` | `embeddings.{tok_embeddings, norm}` |
//! | `layers.<i>.attention.norm` | `layers.<i>.attn_norm`; the first layer has none |
//! | `layers.<i>.attention.{query_key_value, output}` | `layers.<i>.attn.{Wqkv, Wo}` |
//! | `layers.<i>.feed_forward.{norm, intermediate, output}` | `layers.<i>.mlp_norm`, `layers.<i>.mlp.{Wi, Wo}` |
//! | `layers.<top>.final_norm` | `final_norm` |

mod pattern;
mod rotation;

use std::ops::Range;

use anyhow::{Result, ensure};
use burn::module::{Module, Param};
use burn::tensor::activation::gelu;
use burn::tensor::{Device, Tensor, TensorData};
use serde::{Deserialize, Serialize};
use totune_checkpoint::Naming;

pub use self::pattern::LayerPattern;
use self::rotation::{Rotation, halves};
use super::bert::updating;
use super::low_rank::linears;
use super::transformer::Transformer;
use super::{Encoder, Shape, TokenizerKind};
use crate::adapter::{Adapter, AdapterPlace};
use crate::batch::MASKED;
use crate::fused::{Dropout, Unpadding};
use crate::init::INIT_SD;
use crate::layer::{Linear, Norm, parameter};
use crate::prefix::{Prefix, PrefixPlace};
use crate::{Pass, RandomWeights, TokenBatch, Weights, fused};

/// The shape of a ModernBERT, under the names of its `config.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModernBertConfig {
    /// Tokens in the vocabulary.
    pub vocab_size: usize,
    /// Width of the hidden states.
    pub hidden_size: usize,
    /// Transformer layers.
    pub num_hidden_layers: usize,
    /// Attention heads; they divide `hidden_size` into parts of even width.
    pub num_attention_heads: usize,
    /// Width between the two feed-forward products, after the gate.
    pub intermediate_size: usize,
    /// Longest sequence.
    pub max_position_embeddings: usize,
    /// Added to the variance in layer normalisation.
    pub norm_eps: f64,
    /// Dropout on embeddings.
    pub embedding_dropout: f64,
    /// Dropout on attention probabilities, and on the output of attention.
    pub attention_dropout: f64,
    /// Dropout between the two feed-forward products.
    pub mlp_dropout: f64,
    /// Id of `[PAD]`.
    pub pad_token_id: u32,
    /// Tokens around a token that local attention sees, both sides together.
    pub local_attention: usize,
    /// Global and local layers.
    #[serde(flatten)]
    pub layers: LayerPattern,
}

impl Shape for ModernBertConfig {
    type Encoder = ModernBert;

    const LABEL: &'static str = "modernbert";
    const NAMING: Naming = Naming::ModernBert;
    const TOKENIZER: TokenizerKind = TokenizerKind::ModernBertBpe;
    const LINEARS: &'static [&'static str] = &[
        "attention.query_key_value",
        "attention.output",
        "feed_forward.intermediate",
        "feed_forward.output",
    ];

    fn n_layers(&self) -> usize {
        self.num_hidden_layers
    }

    fn hidden(&self) -> usize {
        self.hidden_size
    }

    fn max_length(&self) -> usize {
        self.max_position_embeddings
    }

    fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let (hidden, wide) = (self.hidden_size, self.intermediate_size);
        let mut tensors = vec![
            (
                "embeddings.tok_embeddings.weight".to_string(),
                vec![self.vocab_size, hidden],
            ),
            ("embeddings.norm.weight".to_string(), vec![hidden]),
            ("final_norm.weight".to_string(), vec![hidden]),
        ];
        for i in 0..self.num_hidden_layers {
            for (part, shape) in [
                ("attn_norm", vec![hidden]),
                ("attn.Wqkv", vec![3 * hidden, hidden]),
                ("attn.Wo", vec![hidden, hidden]),
                ("mlp_norm", vec![hidden]),
                ("mlp.Wi", vec![2 * wide, hidden]),
                ("mlp.Wo", vec![hidden, wide]),
            ] {
                if i > 0 || part != "attn_norm" {
                    tensors.push((format!("layers.{i}.{part}.weight"), shape));
                }
            }
        }
        tensors
    }

    fn load(&self, weights: &mut dyn Weights, device: &Device) -> Result<ModernBert> {
        let (hidden, heads) = (self.hidden_size, self.num_attention_heads);
        ensure!(
            heads > 0 && hidden.is_multiple_of(2 * heads),
            "num_attention_heads = {heads} does not divide hidden_size = {hidden} into parts of even width"
        );
        let interval = self.layers.global_attn_every_n_layers;
        ensure!(
            self.num_hidden_layers > 0 && interval > 0,
            "num_hidden_layers = {} and global_attn_every_n_layers = {interval}, expected at least 1 of each",
            self.num_hidden_layers
        );
        let layers = (0..self.num_hidden_layers)
            .map(|i| Layer::load(self, weights, i, device))
            .collect::<Result<_>>()?;
        Ok(ModernBert {
            embeddings: Embeddings::load(self, weights, device)?,
            layers,
            pad_id: self.pad_token_id,
            window: self.local_attention / 2,
            thetas: [self.layers.global_rope_theta, self.layers.local_rope_theta],
        })
    }

    /// Truncated normal, with a smaller deviation where a sublayer's output is added to the residual stream: there are
    /// two of them per layer (`_init_weights` in transformers' modeling_modernbert.py).
    fn initial(&self, seed: u64) -> Box<dyn Weights> {
        Box::new(InitialWeights {
            weights: RandomWeights::new(seed, INIT_SD),
            of_outputs: (2.0 * self.num_hidden_layers as f32).powf(-0.5),
        })
    }
}

/// Random weights, those of the products that end a sublayer scaled.
struct InitialWeights {
    weights: RandomWeights,
    of_outputs: f32,
}

impl Weights for InitialWeights {
    fn take(&mut self, name: &str, shape: &[usize]) -> Result<TensorData> {
        let mut data = self.weights.take(name, shape)?;
        if name.ends_with(".Wo.weight") {
            let values = data.iter::<f32>().map(|value| value * self.of_outputs);
            data = TensorData::new(values.collect::<Vec<f32>>(), shape.to_vec());
        }
        Ok(data)
    }
}

/// A ModernBERT encoder.
#[derive(Module, Debug)]
pub struct ModernBert {
    embeddings: Embeddings,
    layers: Vec<Layer>,
    #[module(skip)]
    pad_id: u32,
    /// Distance of the farthest tokens that local attention sees.
    window: usize,
    /// Bases of rotary positions: global, local.
    #[module(skip)]
    thetas: [f64; 2],
}

/// Number of dropout seeds of one layer: attention probabilities, output of attention, feed-forward.
const DRAWS_OF_A_LAYER: u64 = 3;

impl Encoder for ModernBert {
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

    fn n_dropout_seeds(&self, block: usize) -> u64 {
        1 + DRAWS_OF_A_LAYER * block as u64
    }

    fn n_layers(&self) -> usize {
        self.layers.len()
    }

    fn hidden(&self) -> usize {
        self.embeddings.norm.weight.dims()[0]
    }

    fn pad_id(&self) -> u32 {
        self.pad_id
    }

    fn word_table(&mut self) -> Option<&mut Param<Tensor<2>>> {
        Some(&mut self.embeddings.word)
    }

    fn with_dropout(mut self, rate: f64) -> Self {
        self.embeddings.dropout = rate;
        for layer in &mut self.layers {
            layer.attention.dropout = rate;
            layer.feed_forward.dropout = rate;
        }
        self
    }

    fn linears(&mut self) -> Vec<(usize, String, &mut Linear)> {
        let layers = self.layers.iter_mut().map(|layer| {
            let (attention, feed_forward) = (&mut layer.attention, &mut layer.feed_forward);
            [
                &mut attention.query_key_value,
                &mut attention.output,
                &mut feed_forward.intermediate,
                &mut feed_forward.output,
            ]
        });
        linears(ModernBertConfig::LINEARS, layers)
    }

    fn adapter_places(&mut self) -> Vec<AdapterPlace<'_>> {
        AdapterPlace::of_layers(self.layers.iter_mut().map(|layer| {
            let (attention, feed_forward) = (&mut layer.attention, &mut layer.feed_forward);
            [&mut attention.adapter, &mut feed_forward.adapter]
        }))
    }

    fn prefix_places(&mut self) -> Vec<PrefixPlace<'_>> {
        let layers = self.layers.iter_mut();
        PrefixPlace::of_layers(layers.map(|layer| &mut layer.attention.prefix))
    }
}

impl Transformer for ModernBert {
    type View = Views;

    fn view(&self, batch: &TokenBatch) -> Self::View {
        let [_, seq] = batch.shape();
        let hidden = self.hidden();
        let head_dim = hidden / self.layers[0].attention.heads;
        let [global, local] = self
            .thetas
            .map(|theta| Rotation::new(batch, head_dim, theta));
        let padding = batch.attention_bias();
        // Every token sees all of a text that is shorter than its window.
        let window = (seq > self.window + 1).then(|| window(seq, self.window, &batch.ids.device()));
        let hidden_keys = match (window, padding.clone()) {
            (Some(window), Some(padding)) => Some(window + padding),
            (window, padding) => window.or(padding),
        };
        let view = |rotation, bias| View {
            rotation,
            bias,
            unpadding: batch.unpadding().cloned(),
        };
        Views {
            local: view(local, hidden_keys),
            global: view(global, padding),
        }
    }

    fn layer(&self, x: Tensor<3>, views: &Views, block: usize, pass: &Pass) -> Tensor<3> {
        self.layers[block - 1].forward(x, views, block, pass)
    }
}

impl ModernBert {
    /// The published name of the parameter at `path`, such as `layers.0.attn.Wqkv.weight`.
    pub fn published(path: &str) -> String {
        if path == "embeddings.word" {
            return "embeddings.tok_embeddings.weight".to_string();
        }
        if path.ends_with(".final_norm.weight") {
            return "final_norm.weight".to_string();
        }
        [
            ("attention.norm", "attn_norm"),
            ("attention.query_key_value", "attn.Wqkv"),
            ("attention.output", "attn.Wo"),
            ("feed_forward.norm", "mlp_norm"),
            ("feed_forward.intermediate", "mlp.Wi"),
            ("feed_forward.output", "mlp.Wo"),
        ]
        .iter()
        .fold(path.to_string(), |path, (ours, published)| {
            path.replace(ours, published)
        })
    }
}

/// Views of a batch, by the kind of layer.
pub(super) struct Views {
    global: View,
    local: View,
}

/// Positions and visible keys of a batch in the layers of one kind.
struct View {
    rotation: Rotation,
    /// Bias on attention scores: `[batch, 1, 1, seq]` or `[1 or batch, 1, seq, seq]`.
    bias: Option<Tensor<4>>,
    unpadding: Option<Unpadding>,
}

/// Bias that hides tokens farther away than `reach`, which is included: `[1, 1, seq, seq]`.
fn window(seq: usize, reach: usize, device: &Device) -> Tensor<4> {
    let places = (0..seq).flat_map(|query| (0..seq).map(move |key| query.abs_diff(key)));
    let bias: Vec<f32> = places
        .map(|distance| if distance <= reach { 0.0 } else { MASKED })
        .collect();
    Tensor::from_data(TensorData::new(bias, [1, 1, seq, seq]), device)
}

/// Token embeddings, normalised, dropped. Positions come in with attention.
#[derive(Module, Debug)]
struct Embeddings {
    word: Param<Tensor<2>>,
    norm: Norm,
    dropout: f64,
}

impl Embeddings {
    fn load(config: &ModernBertConfig, weights: &mut dyn Weights, device: &Device) -> Result<Self> {
        let shape = [config.vocab_size, config.hidden_size];
        Ok(Self {
            word: parameter(weights, "embeddings.tok_embeddings.weight", shape, device)?,
            norm: config.norm(weights, "embeddings.norm", device)?,
            dropout: config.embedding_dropout,
        })
    }

    fn forward(&self, batch: &TokenBatch, pass: &Pass) -> Tensor<3> {
        let word = batch.embedded(&self.word); // [batch, seq, hidden]
        let x = self.norm.forward(word);
        fused::dropout(x, pass.rate(0, self.dropout), pass.draw())
    }
}

impl ModernBertConfig {
    fn norm(&self, weights: &mut dyn Weights, name: &str, device: &Device) -> Result<Norm> {
        Norm::load_unbiased(weights, name, self.hidden_size, self.norm_eps, device)
    }
}

/// One transformer layer.
#[derive(Module, Debug)]
struct Layer {
    attention: Attention,
    feed_forward: FeedForward,
    /// The normalisation above the top layer, which is part of that layer: strategies train it with the top layer, whose
    /// scale it determines, and the output of the highest block is what heads read, whether cached or computed.
    final_norm: Option<Norm>,
    is_global: bool,
}

impl Layer {
    fn load(
        config: &ModernBertConfig,
        weights: &mut dyn Weights,
        layer_idx: usize,
        device: &Device,
    ) -> Result<Self> {
        let is_top = layer_idx + 1 == config.num_hidden_layers;
        Ok(Self {
            attention: Attention::load(config, weights, layer_idx, device)?,
            feed_forward: FeedForward::load(config, weights, layer_idx, device)?,
            final_norm: is_top
                .then(|| config.norm(weights, "final_norm", device))
                .transpose()?,
            is_global: layer_idx.is_multiple_of(config.layers.global_attn_every_n_layers),
        })
    }

    fn forward(&self, x: Tensor<3>, views: &Views, block: usize, pass: &Pass) -> Tensor<3> {
        let view = if self.is_global {
            &views.global
        } else {
            &views.local
        };
        let x = self.attention.forward(x, view, block, pass);
        let x = self.feed_forward.forward(x, block, pass);
        match &self.final_norm {
            Some(norm) => norm.forward(x),
            None => x,
        }
    }
}

/// Normalisation, multi-head self-attention on rotated queries and keys, residual.
#[derive(Module, Debug)]
struct Attention {
    /// None in the first layer, whose input is normalised already.
    norm: Option<Norm>,
    /// `[3 hidden, hidden]`: queries of all heads, then keys, then values.
    query_key_value: Linear,
    output: Linear,
    adapter: Option<Adapter>,
    prefix: Option<Prefix>,
    heads: usize,
    dropout: f64,
}

impl Attention {
    fn load(
        config: &ModernBertConfig,
        weights: &mut dyn Weights,
        layer_idx: usize,
        device: &Device,
    ) -> Result<Self> {
        let (hidden, layer) = (config.hidden_size, format!("layers.{layer_idx}"));
        let mut linear = |name: &str, width: usize| {
            Linear::load_unbiased(
                weights,
                &format!("{layer}.attn.{name}"),
                [hidden, width],
                device,
            )
        };
        Ok(Self {
            query_key_value: linear("Wqkv", 3 * hidden)?,
            output: linear("Wo", hidden)?,
            adapter: None,
            prefix: None,
            norm: (layer_idx > 0)
                .then(|| config.norm(weights, &format!("{layer}.attn_norm"), device))
                .transpose()?,
            heads: config.num_attention_heads,
            dropout: config.attention_dropout,
        })
    }

    fn forward(&self, x: Tensor<3>, view: &View, block: usize, pass: &Pass) -> Tensor<3> {
        let drop = |rate| Dropout {
            rate: pass.rate(block, rate),
            seed: pass.draw(),
        };
        let (probabilities, drop) = (drop(self.dropout), drop(self.dropout));
        let apply = |linear: &Linear, n, x: Tensor<3>| {
            let affine = linear.affine(updating(pass, block, drop.seed, n));
            affine.of(x, linear.precision)
        };
        let normed = match &self.norm {
            Some(norm) => norm.forward(x.clone()),
            None => x.clone(),
        };
        let unpadding = view.unpadding.as_ref();
        let all = fused::padded(unpadding, apply(&self.query_key_value, 0, normed));
        let [batch, seq, all_width] = all.dims(); // queries, keys and values
        let hidden = all_width / 3;
        let [q, k, v] = [0, 1, 2].map(|i| {
            let part = all.clone().narrow(2, i * hidden, hidden);
            part.reshape([batch, seq, self.heads, hidden / self.heads])
                .swap_dims(1, 2) // [batch, heads, seq, head_dim]
        });
        let [q, k] = [q, k].map(|part| view.rotation.apply(part));
        let prefix = self.prefix.as_ref().map(Prefix::weights);
        // Behind the rotation of keys: a prefix has no position.
        let context =
            fused::prefixed_attention(prefix, [q, k, v], view.bias.clone(), probabilities);
        let y = apply(&self.output, 1, fused::merged(context, unpadding));
        let y = fused::dropout(y, drop.rate, drop.seed);
        x + fused::adapted(
            self.adapter.as_ref().map(Adapter::weights),
            y,
            self.output.precision,
        )
    }
}

/// Normalisation, two products with a GELU gate between (GeGLU), residual.
#[derive(Module, Debug)]
struct FeedForward {
    norm: Norm,
    /// `[2 intermediate, hidden]`: the input of GELU, then the gate.
    intermediate: Linear,
    output: Linear,
    adapter: Option<Adapter>,
    dropout: f64,
}

impl FeedForward {
    fn load(
        config: &ModernBertConfig,
        weights: &mut dyn Weights,
        layer_idx: usize,
        device: &Device,
    ) -> Result<Self> {
        let (hidden, wide) = (config.hidden_size, config.intermediate_size);
        let layer = format!("layers.{layer_idx}");
        let mut linear = |name: &str, sizes: [usize; 2]| {
            Linear::load_unbiased(weights, &format!("{layer}.mlp.{name}"), sizes, device)
        };
        Ok(Self {
            intermediate: linear("Wi", [hidden, 2 * wide])?,
            output: linear("Wo", [wide, hidden])?,
            adapter: None,
            norm: config.norm(weights, &format!("{layer}.mlp_norm"), device)?,
            dropout: config.mlp_dropout,
        })
    }

    fn forward(&self, x: Tensor<3>, block: usize, pass: &Pass) -> Tensor<3> {
        let drop = Dropout {
            rate: pass.rate(block, self.dropout),
            seed: pass.draw(),
        };
        let apply = |linear: &Linear, n, x: Tensor<3>| {
            let affine = linear.affine(updating(pass, block, drop.seed, n));
            affine.of(x, linear.precision)
        };
        let wide = apply(&self.intermediate, 0, self.norm.forward(x.clone())); // [batch, seq, 2 * intermediate]
        let [input, gate] = halves(wide);
        let gated = fused::dropout(gelu(input) * gate, drop.rate, drop.seed);
        let y = apply(&self.output, 1, gated);
        x + fused::adapted(
            self.adapter.as_ref().map(Adapter::weights),
            y,
            self.output.precision,
        )
    }
}
