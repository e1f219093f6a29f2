//! RoBERTa (Liu et al. 2019): BERT's layers, one segment, and positions counted as fairseq counts them.
//!
//! Its names are BERT's with the prefix `roberta.`, so that there is one module for both. Published checkpoints have no
//! pooler, since they were trained without next-sentence prediction.

use serde::{Deserialize, Serialize};
use totune_checkpoint::Naming;

use super::bert::{BertConfig, BertFamily};
use super::{PoolerKind, TokenizerKind};

/// The shape of a RoBERTa, under the names of its `config.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RobertaConfig {
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
    /// Rows of the position table: the longest sequence and the `pad_token_id + 1` rows before its first token.
    pub max_position_embeddings: usize,
    /// Segments (token types): one.
    pub type_vocab_size: usize,
    /// Added to the variance in layer normalisation.
    pub layer_norm_eps: f64,
    /// Dropout on embeddings and on the output of each sublayer.
    pub hidden_dropout_prob: f64,
    /// Dropout on attention probabilities.
    pub attention_probs_dropout_prob: f64,
    /// Id of `<pad>`; positions start after it.
    pub pad_token_id: u32,
    /// The pooler on the first token of the top layer: none, unless someone trained it.
    #[serde(default = "no_pooler")]
    pub pooler: PoolerKind,
}

fn no_pooler() -> PoolerKind {
    PoolerKind::None
}

impl BertFamily for RobertaConfig {
    const LABEL: &'static str = "roberta";
    const NAMING: Naming = Naming::Roberta;
    const TOKENIZER: TokenizerKind = TokenizerKind::ByteLevelBpe;

    fn bert(&self) -> BertConfig {
        BertConfig {
            vocab_size: self.vocab_size,
            hidden_size: self.hidden_size,
            num_hidden_layers: self.num_hidden_layers,
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

    fn pad_before_positions(&self) -> Option<u32> {
        Some(self.pad_token_id)
    }
}
