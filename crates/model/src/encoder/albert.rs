//! ALBERT (Lan et al. 2020): one BERT layer that is applied several times, behind narrow embeddings.
//!
//! All applications share their parameters, which lie below `layers.0`, so that for strategies, for heads that mix
//! layers and for cached activations the encoder has one layer, whose output is that of the last application.
//!
//! In BERT's scheme of names the projection of the embeddings is an ELECTRA's `embeddings_project`; see
//! `totune_checkpoint::albert_name` for ALBERT's own names.

use anyhow::{Result, ensure};
use serde::{Deserialize, Deserializer, Serialize, de};
use totune_checkpoint::Naming;

use super::bert::{BertConfig, BertFamily};
use super::{PoolerKind, TokenizerKind};
use crate::fused::Gelu;

/// The shape of an ALBERT, under the names of its `config.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AlbertConfig {
    /// Tokens in the vocabulary.
    pub vocab_size: usize,
    /// Width of the embeddings; a linear layer follows them.
    pub embedding_size: usize,
    /// Width of the hidden states.
    pub hidden_size: usize,
    /// Applications of the layer, at least one.
    #[serde(deserialize_with = "at_least_one")]
    pub num_hidden_layers: usize,
    /// Attention heads; divides `hidden_size`.
    pub num_attention_heads: usize,
    /// Width between the two feed-forward products.
    pub intermediate_size: usize,
    /// Longest sequence.
    pub max_position_embeddings: usize,
    /// Number of segments (token types).
    pub type_vocab_size: usize,
    /// Activation between the two feed-forward products.
    pub hidden_act: Gelu,
    /// Added to the variance in layer normalisation.
    pub layer_norm_eps: f64,
    /// Dropout on embeddings and on the output of attention.
    pub hidden_dropout_prob: f64,
    /// Dropout on attention probabilities.
    pub attention_probs_dropout_prob: f64,
    /// Groups of layers and layers in a group.
    #[serde(flatten)]
    pub sharing: OneLayer,
    /// The pooler on the first token of the top layer.
    #[serde(default)]
    pub pooler: PoolerKind,
}

/// The way in which all published ALBERTs share parameters: one group of one layer. Files with another are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Groups", into = "Groups")]
pub struct OneLayer;

/// Settings of the sharing of parameters. A missing one has the default of transformers.
#[derive(Serialize, Deserialize)]
struct Groups {
    #[serde(default = "one")]
    num_hidden_groups: usize,
    #[serde(default = "one")]
    inner_group_num: usize,
}

fn at_least_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    match usize::deserialize(deserializer)? {
        0 => Err(de::Error::custom(
            "num_hidden_layers: found 0, expected at least 1",
        )),
        n => Ok(n),
    }
}

fn one() -> usize {
    1
}

impl TryFrom<Groups> for OneLayer {
    type Error = anyhow::Error;

    fn try_from(groups: Groups) -> Result<Self> {
        for (key, found) in [
            ("num_hidden_groups", groups.num_hidden_groups),
            ("inner_group_num", groups.inner_group_num),
        ] {
            ensure!(
                found == 1,
                "{key}: found {found}, expected 1: one layer that is applied `num_hidden_layers` times"
            );
        }
        Ok(Self)
    }
}

impl From<OneLayer> for Groups {
    fn from(_: OneLayer) -> Self {
        Self {
            num_hidden_groups: 1,
            inner_group_num: 1,
        }
    }
}

impl BertFamily for AlbertConfig {
    const LABEL: &'static str = "albert";
    const NAMING: Naming = Naming::Albert;
    const TOKENIZER: TokenizerKind = TokenizerKind::AlbertUnigram;

    fn bert(&self) -> BertConfig {
        BertConfig {
            vocab_size: self.vocab_size,
            hidden_size: self.hidden_size,
            num_hidden_layers: 1,
            num_attention_heads: self.num_attention_heads,
            intermediate_size: self.intermediate_size,
            max_position_embeddings: self.max_position_embeddings,
            type_vocab_size: self.type_vocab_size,
            layer_norm_eps: self.layer_norm_eps,
            hidden_dropout_prob: self.hidden_dropout_prob,
            attention_probs_dropout_prob: self.attention_probs_dropout_prob,
            pooler: self.pooler,
        }
    }

    fn embedding_size(&self) -> usize {
        self.embedding_size
    }

    fn projects_embeddings(&self) -> bool {
        true // also where both widths are the same
    }

    fn applications(&self) -> usize {
        self.num_hidden_layers
    }

    fn activation(&self) -> Gelu {
        self.hidden_act
    }

    fn drops_feed_forward(&self) -> bool {
        false // as in transformers, unlike the code of its authors
    }
}
