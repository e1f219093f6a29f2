//! Masked language modelling (Devlin et al. 2019, section 3.1): a BERT that predicts the wordpieces hidden from it.
//!
//! `logits = E norm(gelu(W h + b)) + c`, where `E` `[vocab, hidden]` is the table of word embeddings, which input and
//! output share. Names are those of `BertForMaskedLM` in published checkpoints:
//!
//! | here | checkpoint |
//! |---|---|
//! | `encoder` | `bert` |
//! | `head.dense`, `head.norm` | `cls.predictions.transform.{dense, LayerNorm}` |
//! | `head.bias` | `cls.predictions.bias` |
//!
//! Only masked places reach the head, so the product with the vocabulary costs 15 % of that for all places.

use anyhow::Result;
use burn::module::{Module, Param};
use burn::tensor::activation::{gelu, log_softmax};
use burn::tensor::{Device, Int, Tensor};

use crate::fused::{self, Precision};
use crate::layer::{Linear, Norm, parameter};
use crate::weights::Below;
use crate::{Bert, BertConfig, Encoder, Pass, PoolerKind, Shape, TokenBatch, Weights};

/// The shape of a masked language model: that of its encoder, without a pooler.
#[derive(Debug, Clone, PartialEq)]
pub struct MaskedLmConfig {
    /// The encoder.
    pub encoder: BertConfig,
}

/// A BERT encoder with the head that predicts masked wordpieces.
#[derive(Module, Debug)]
pub struct MaskedLm {
    /// The encoder, which is the result of pre-training.
    pub encoder: Bert,
    head: Head,
}

/// Layers between the states and the logits, whose last product is with the table of word embeddings.
#[derive(Module, Debug)]
struct Head {
    dense: Linear,
    norm: Norm,
    bias: Param<Tensor<1>>,
}

impl MaskedLmConfig {
    /// A masked language model on `encoder`; nothing is trained above the first token, so there is no pooler.
    pub fn new(encoder: BertConfig) -> Self {
        Self {
            encoder: BertConfig {
                pooler: PoolerKind::None,
                ..encoder
            },
        }
    }

    /// Takes all weights from `weights`, under the names of [`MaskedLmConfig::tensors`], and puts them on `device`.
    ///
    /// # Errors
    /// When a tensor is missing or has another shape.
    pub fn load(&self, weights: &mut dyn Weights, device: &Device) -> Result<MaskedLm> {
        let hidden = self.encoder.hidden_size;
        let encoder = self
            .encoder
            .load(&mut Below::new("bert.", weights), device)?;
        let mut weights = Below::new("cls.predictions.", weights);
        Ok(MaskedLm {
            encoder,
            head: Head {
                dense: Linear::load(&mut weights, "transform.dense", [hidden, hidden], device)?,
                norm: Norm::load(
                    &mut weights,
                    "transform.LayerNorm",
                    hidden,
                    self.encoder.layer_norm_eps,
                    device,
                )?,
                bias: parameter(&mut weights, "bias", [self.encoder.vocab_size], device)?,
            },
        })
    }

    /// Published name and shape of every tensor that [`MaskedLmConfig::load`] takes.
    pub fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let (hidden, vocab) = (self.encoder.hidden_size, self.encoder.vocab_size);
        let encoder = self.encoder.tensors().into_iter();
        let head = [
            ("transform.dense.weight", vec![hidden, hidden]),
            ("transform.dense.bias", vec![hidden]),
            ("transform.LayerNorm.weight", vec![hidden]),
            ("transform.LayerNorm.bias", vec![hidden]),
            ("bias", vec![vocab]),
        ];
        encoder
            .map(|(name, shape)| (format!("bert.{name}"), shape))
            .chain(head.map(|(name, shape)| (format!("cls.predictions.{name}"), shape)))
            .collect()
    }
}

impl MaskedLm {
    /// The published name of the parameter at `path` of this module, such as `bert.encoder.layer.0.output.dense.bias`.
    pub fn published(path: &str) -> String {
        if let Some(path) = path.strip_prefix("encoder.") {
            return format!("bert.{}", Bert::published(path));
        }
        let part = path.strip_prefix("head.").unwrap_or(path);
        let part = match part.split_once('.') {
            Some(("dense", rest)) => format!("transform.dense.{rest}"),
            Some(("norm", rest)) => format!("transform.LayerNorm.{rest}"),
            _ => part.to_string(),
        };
        format!("cls.predictions.{part}")
    }

    /// The logits of the wordpieces at `places`, which count through the rows of the batch: `[places, vocab]`.
    pub fn logits(&self, batch: &TokenBatch, places: Tensor<1, Int>, pass: &Pass) -> Tensor<2> {
        let top = self.encoder.encode(batch, pass).top();
        let [rows, seq, hidden] = top.dims();
        let flat: Tensor<2> = top.reshape([rows * seq, hidden]);
        let x = flat.select(0, places); // [places, hidden]
        let x = self.head.norm.forward(gelu(self.head.dense.forward(x)));
        let (table, precision) = (self.encoder.word_embeddings(), self.head.dense.precision);
        fused::linear(x, table, self.head.bias.val(), precision) // [places, vocab]
    }

    /// The mean cross-entropy of the wordpieces `targets` `[places]` at `places`, in nats: `[1]`.
    pub fn loss(
        &self,
        batch: &TokenBatch,
        places: Tensor<1, Int>,
        targets: Tensor<1, Int>,
        pass: &Pass,
    ) -> Tensor<1> {
        fused::cross_entropy(self.logits(batch, places, pass), targets)
    }

    /// The log-probability of each target, in nats: `[places]`.
    pub fn log_likelihoods(
        &self,
        batch: &TokenBatch,
        places: Tensor<1, Int>,
        targets: Tensor<1, Int>,
    ) -> Tensor<1> {
        let logits = self.logits(batch, places, &Pass::evaluation());
        log_softmax(logits, 1)
            .gather(1, targets.unsqueeze_dim(1))
            .squeeze_dim(1)
    }

    /// The same model with all dropouts of the encoder at `rate`.
    pub fn with_dropout(mut self, rate: f64) -> Self {
        self.encoder = self.encoder.with_dropout(rate);
        self
    }

    /// The same model with the products of the encoder's layers and of the head at another precision.
    pub fn with_precision(mut self, precision: Precision) -> Self {
        self.encoder = self.encoder.with_precision(precision);
        self.head.dense.precision = precision;
        self
    }
}
