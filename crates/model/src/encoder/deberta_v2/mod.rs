//! DeBERTa-v3 (He et al. 2021; the module is that of version 2): BERT's layers with disentangled attention, in which
//! content meets content, content meets relative position, and relative position meets content.
//!
//! Names below are ours; where each tensor is taken from `weights`, the name is the one in published checkpoints. Those
//! of the layers are BERT's, but for queries, keys and values:
//!
//! | here | checkpoint |
//! |---|---|
//! | `embeddings.{word, norm}` | `embeddings.{word_embeddings, LayerNorm}` |
//! | `embeddings.{relative, relative_norm}` | `encoder.{rel_embeddings, LayerNorm}` |
//! | `layers.<i>.attention.{query, key, value}` | `encoder.layer.<i>.attention.self.{query_proj, key_proj, value_proj}` |

mod version;

use std::ops::Range;

use anyhow::{Result, ensure};
use burn::module::{Module, Param};
use burn::tensor::activation::softmax;
use burn::tensor::{Device, Int, Tensor, TensorData};
use serde::{Deserialize, Serialize};
use totune_checkpoint::Naming;

pub use self::version::Version3;
use super::bert::{Bert, BertConfig, FeedForward, updating};
use super::low_rank::linears;
use super::transformer::Transformer;
use super::{Encoder, PoolerKind, Shape, TokenizerKind};
use crate::adapter::{Adapter, AdapterPlace};
use crate::fused::{Dropout, Unpadding};
use crate::layer::{Linear, Norm, parameter};
use crate::{Pass, TokenBatch, Weights, fused};

/// The shape of a DeBERTa-v3, under the names of its `config.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DebertaV2Config {
    /// Tokens in the vocabulary.
    pub vocab_size: usize,
    /// Width of the hidden states.
    pub hidden_size: usize,
    /// Transformer layers.
    pub num_hidden_layers: usize,
    /// Attention heads; divides `hidden_size`.
    pub num_attention_heads: usize,
    /// Width between the two feed-forward products.
    pub intermediate_size: usize,
    /// Longest sequence in pre-training.
    pub max_position_embeddings: usize,
    /// Distance from which all tokens are equally far; `max_position_embeddings` where it is below 1.
    pub max_relative_positions: i64,
    /// Buckets of distances to either side.
    pub position_buckets: usize,
    /// Added to the variance in layer normalisation.
    pub layer_norm_eps: f64,
    /// Dropout on embeddings and on the output of each sublayer.
    pub hidden_dropout_prob: f64,
    /// Dropout on attention probabilities.
    pub attention_probs_dropout_prob: f64,
    /// Id of `[PAD]`; published files leave it out.
    #[serde(default)]
    pub pad_token_id: u32,
    /// The settings that distinguish version 3 from others of the family.
    #[serde(flatten)]
    pub version: Version3,
}

impl DebertaV2Config {
    /// The BERT with the same layers, but for attention.
    fn bert(&self) -> BertConfig {
        BertConfig {
            vocab_size: self.vocab_size,
            hidden_size: self.hidden_size,
            num_hidden_layers: self.num_hidden_layers,
            num_attention_heads: self.num_attention_heads,
            intermediate_size: self.intermediate_size,
            max_position_embeddings: 0,
            type_vocab_size: 0,
            layer_norm_eps: self.layer_norm_eps,
            hidden_dropout_prob: self.hidden_dropout_prob,
            attention_probs_dropout_prob: self.attention_probs_dropout_prob,
            pooler: PoolerKind::None,
        }
    }

    /// Distance from which all tokens are equally far.
    fn farthest(&self) -> usize {
        match usize::try_from(self.max_relative_positions) {
            Ok(distance @ 1..) => distance,
            _ => self.max_position_embeddings,
        }
    }

    fn norm(&self, weights: &mut dyn Weights, name: &str, device: &Device) -> Result<Norm> {
        Norm::load(weights, name, self.hidden_size, self.layer_norm_eps, device)
    }
}

impl Shape for DebertaV2Config {
    type Encoder = DebertaV2;

    const LABEL: &'static str = "deberta-v2";
    const NAMING: Naming = Naming::DebertaV2;
    const TOKENIZER: TokenizerKind = TokenizerKind::DebertaUnigram;
    const LINEARS: &'static [&'static str] = BertConfig::LINEARS;
    const BIASES: &'static [&'static str] = BertConfig::BIASES;

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
        let hidden = self.hidden_size;
        let of_bert = self.bert().tensors().into_iter().map(|(name, shape)| {
            let projections = ["query", "key", "value"];
            let renamed = projections.iter().fold(name, |name, part| {
                name.replace(&format!("self.{part}."), &format!("self.{part}_proj."))
            });
            (renamed, shape)
        });
        let relative = [
            (
                "encoder.rel_embeddings.weight",
                vec![2 * self.position_buckets, hidden],
            ),
            ("encoder.LayerNorm.weight", vec![hidden]),
            ("encoder.LayerNorm.bias", vec![hidden]),
        ];
        let relative = relative.map(|(name, shape)| (name.to_string(), shape));
        of_bert.chain(relative).collect()
    }

    fn load(&self, weights: &mut dyn Weights, device: &Device) -> Result<DebertaV2> {
        let (hidden, heads) = (self.hidden_size, self.num_attention_heads);
        ensure!(
            heads > 0 && hidden.is_multiple_of(heads),
            "num_attention_heads = {heads} does not divide hidden_size = {hidden}"
        );
        let (buckets, farthest) = (self.position_buckets, self.farthest());
        ensure!(
            (4..farthest).contains(&buckets),
            "position_buckets = {buckets}, expected at least 4 and less than {farthest}, the largest distance"
        );
        let layers = (0..self.num_hidden_layers)
            .map(|i| Layer::load(self, weights, &format!("encoder.layer.{i}"), device))
            .collect::<Result<_>>()?;
        Ok(DebertaV2 {
            embeddings: Embeddings::load(self, weights, device)?,
            layers,
            pad_id: self.pad_token_id,
            farthest,
        })
    }
}

/// A DeBERTa-v3 encoder.
#[derive(Module, Debug)]
pub struct DebertaV2 {
    embeddings: Embeddings,
    layers: Vec<Layer>,
    #[module(skip)]
    pad_id: u32,
    /// Distance from which all tokens are equally far.
    farthest: usize,
}

/// Number of dropout seeds of one layer: relative positions, attention probabilities, and the outputs of its two
/// sublayers.
const DRAWS_OF_A_LAYER: u64 = 4;

impl Encoder for DebertaV2 {
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
        linears(DebertaV2Config::LINEARS, layers)
    }

    fn adapter_places(&mut self) -> Vec<AdapterPlace<'_>> {
        AdapterPlace::of_layers(self.layers.iter_mut().map(|layer| {
            let (attention, feed_forward) = (&mut layer.attention, &mut layer.feed_forward);
            [&mut attention.adapter, &mut feed_forward.adapter]
        }))
    }
}

impl Transformer for DebertaV2 {
    type View = View;

    fn view(&self, batch: &TokenBatch) -> Self::View {
        let [_, seq] = batch.shape();
        let [n_rows, _] = self.embeddings.relative.dims();
        let n = n_rows as i64 / 2; // buckets to either side
        let row = |distance| (bucket(distance, n, self.farthest) + n).clamp(0, 2 * n - 1);
        let places = 0..seq as i64;
        let rows = places
            .clone()
            .flat_map(|query| places.clone().map(move |key| row(query - key)));
        let rows = TensorData::new(rows.collect::<Vec<i64>>(), [1, 1, seq, seq]);
        View {
            relative: self.embeddings.relative(),
            rows: Tensor::from_data(rows, &batch.ids.device()),
            bias: batch.attention_bias(),
            unpadding: batch.unpadding().cloned(),
        }
    }

    fn layer(&self, x: Tensor<3>, view: &View, block: usize, pass: &Pass) -> Tensor<3> {
        self.layers[block - 1].forward(x, view, block, pass)
    }
}

impl DebertaV2 {
    /// The published name of the parameter at `path`, such as `encoder.layer.0.attention.self.query_proj.weight`.
    pub fn published(path: &str) -> String {
        match path.strip_prefix("embeddings.relative") {
            Some("") => "encoder.rel_embeddings.weight".to_string(),
            Some(norm) => format!("encoder.{}", norm.replace("_norm.", "LayerNorm.")),
            None => ["query", "key", "value"]
                .iter()
                .fold(Bert::published(path), |name, part| {
                    name.replace(&format!("self.{part}."), &format!("self.{part}_proj."))
                }),
        }
    }
}

/// Relative positions and visible keys of a batch, the same for all layers.
pub(super) struct View {
    /// Embeddings of relative positions, normalised: `[2 buckets, hidden]`.
    relative: Tensor<2>,
    /// Row of `relative` for each query and key, `[1, 1, seq, seq]`.
    rows: Tensor<4, Int>,
    /// Bias on attention scores: `[batch, 1, 1 or seq, seq]`.
    bias: Option<Tensor<4>>,
    unpadding: Option<Unpadding>,
}

/// Bucket of a distance, of the same sign: near distances have their own, the others one per step of their logarithm, up
/// to `n` to either side (`make_log_bucket_position` in transformers' modeling_deberta_v2.py, whose 32-bit arithmetic
/// this is).
fn bucket(distance: i64, n: i64, farthest: usize) -> i64 {
    let middle = n / 2;
    if distance.abs() <= middle {
        return distance;
    }
    let log = |distance: f64| ((distance / middle as f64) as f32).ln();
    let share = log(distance.abs() as f64) / log((farthest - 1) as f64);
    let steps = (share * (middle - 1) as f32).ceil() as i64;
    (middle + steps) * distance.signum()
}

/// Word embeddings, normalised, masked, dropped; and the embeddings of relative positions.
///
/// The latter are read by every layer, but belong to none: strategies count them to the embeddings. So they are frozen
/// where only top layers are trained. Otherwise the layers below those would change too, against what the strategy says,
/// and their cached activations would be wrong.
#[derive(Module, Debug)]
struct Embeddings {
    word: Param<Tensor<2>>,
    norm: Norm,
    relative: Param<Tensor<2>>,
    relative_norm: Norm,
    dropout: f64,
}

impl Embeddings {
    fn load(config: &DebertaV2Config, weights: &mut dyn Weights, device: &Device) -> Result<Self> {
        let mut table =
            |name: &str, rows: usize| parameter(weights, name, [rows, config.hidden_size], device);
        Ok(Self {
            word: table("embeddings.word_embeddings.weight", config.vocab_size)?,
            relative: table("encoder.rel_embeddings.weight", 2 * config.position_buckets)?,
            norm: config.norm(weights, "embeddings.LayerNorm", device)?,
            relative_norm: config.norm(weights, "encoder.LayerNorm", device)?,
            dropout: config.hidden_dropout_prob,
        })
    }

    fn forward(&self, batch: &TokenBatch, pass: &Pass) -> Tensor<3> {
        let word = batch.embedded(&self.word); // [batch, seq, hidden]
        let mut x = self.norm.forward(word);
        if let Some(mask) = &batch.mask {
            x = x * mask.clone().unsqueeze_dim(2);
        }
        fused::dropout(x, pass.rate(0, self.dropout), pass.draw())
    }

    /// The embeddings of relative positions, `[2 buckets, hidden]`.
    fn relative(&self) -> Tensor<2> {
        self.relative_norm.forward(self.relative.val())
    }
}

/// One transformer layer.
#[derive(Module, Debug)]
struct Layer {
    attention: Attention,
    feed_forward: FeedForward,
}

impl Layer {
    fn load(
        config: &DebertaV2Config,
        weights: &mut dyn Weights,
        name: &str,
        device: &Device,
    ) -> Result<Self> {
        Ok(Self {
            attention: Attention::load(config, weights, name, device)?,
            feed_forward: FeedForward::load(&config.bert(), weights, name, device)?,
        })
    }

    fn forward(&self, x: Tensor<3>, view: &View, block: usize, pass: &Pass) -> Tensor<3> {
        let x = self.attention.forward(x, view, block, pass);
        self.feed_forward.forward(x, block, pass)
    }
}

/// Multi-head self-attention by content and by relative position, then residual and normalisation.
#[derive(Module, Debug)]
struct Attention {
    /// Also of relative positions (`share_att_key`).
    query: Linear,
    /// The same.
    key: Linear,
    value: Linear,
    output: Linear,
    adapter: Option<Adapter>,
    norm: Norm,
    heads: usize,
    dropout: f64,
    attention_dropout: f64,
}

impl Attention {
    fn load(
        config: &DebertaV2Config,
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
            query: linear("self.query_proj")?,
            key: linear("self.key_proj")?,
            value: linear("self.value_proj")?,
            output: linear("output.dense")?,
            adapter: None,
            norm: config.norm(
                weights,
                &format!("{layer}.attention.output.LayerNorm"),
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
        let relative = drop(self.dropout);
        let (probabilities, hidden) = (drop(self.attention_dropout), drop(self.dropout));
        let apply = |linear: &Linear, n, x: Tensor<3>| {
            let affine = linear.affine(updating(pass, block, hidden.seed, n));
            affine.of(x, linear.precision)
        };
        let unpadding = view.unpadding.as_ref();
        let heads = |linear, n| self.split(fused::padded(unpadding, apply(linear, n, x.clone())));
        let (q, k) = (heads(&self.query, 0), heads(&self.key, 1));
        let v = heads(&self.value, 2);
        let positions = fused::dropout(view.relative.clone(), relative.rate, relative.seed);
        let positions = positions.unsqueeze_dim(0); // [1, 2 * buckets, hidden]
        let of_positions = [(&self.query, 4), (&self.key, 5)]
            .map(|(linear, n)| self.split(apply(linear, n, positions.clone())));
        let p = softmax(scores([q, k], of_positions, view), 3); // [batch, heads, seq, seq]
        let p = fused::dropout(p, probabilities.rate, probabilities.seed);
        let y = apply(&self.output, 3, fused::merged(p.matmul(v), unpadding));
        let y = fused::dropout(y, hidden.rate, hidden.seed);
        let y = fused::adapted(
            self.adapter.as_ref().map(Adapter::weights),
            y,
            self.output.precision,
        );
        self.norm.forward(x + y)
    }

    /// `[n, seq, hidden]` to `[n, heads, seq, head_dim]`.
    fn split(&self, x: Tensor<3>) -> Tensor<4> {
        let [n, seq, hidden] = x.dims();
        x.reshape([n, seq, self.heads, hidden / self.heads])
            .swap_dims(1, 2)
    }
}

/// Attention scores `[batch, heads, seq, seq]`: content to content, content to position, position to content.
///
/// Queries and keys are `[batch, heads, seq, head_dim]`, those of positions `[1, heads, 2 buckets, head_dim]`.
fn scores(
    [q, k]: [Tensor<4>; 2],
    [position_q, position_k]: [Tensor<4>; 2],
    view: &View,
) -> Tensor<4> {
    let [batch, heads, seq, head_dim] = q.dims();
    let all = [batch, heads, seq, seq];
    let rows = view.rows.clone();
    let to_position = q.clone().matmul(position_k.swap_dims(2, 3)); // [batch, heads, seq, 2 * buckets]
    let to_position = to_position.gather(3, rows.clone().expand(all));
    // A key finds the row of its distance from a query, so that rows are keys first.
    let to_content = k.clone().matmul(position_q.swap_dims(2, 3));
    let to_content = to_content.gather(3, rows.swap_dims(2, 3).expand(all));
    let scores = q.matmul(k.swap_dims(2, 3)) + to_position + to_content.swap_dims(2, 3);
    let scores = scores * (3.0 * head_dim as f64).powf(-0.5);
    match &view.bias {
        Some(bias) => scores + bias.clone(),
        None => scores,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use safetensors::SafeTensors;

    use super::bucket;

    #[test]
    fn distances_have_the_buckets_of_transformers() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let file = fs::read(root.join("fixtures/model/deberta-tiny.safetensors"));
        let file = file.expect("a committed file");
        let file = SafeTensors::deserialize(&file).expect("safetensors");
        for (name, n, farthest) in [("tiny", 8, 40), ("published", 256, 512)] {
            let stored = file.tensor(&format!("buckets.{name}")).expect("a tensor");
            let stored = stored.data().chunks_exact(8);
            assert_eq!(stored.len(), farthest);
            for (distance, bytes) in (0..).zip(stored) {
                let expected = i64::from_le_bytes(bytes.try_into().expect("eight bytes"));
                assert_eq!(bucket(distance, n, farthest), expected, "{name} {distance}");
                assert_eq!(
                    bucket(-distance, n, farthest),
                    -expected,
                    "{name} -{distance}"
                );
            }
        }
    }
}
