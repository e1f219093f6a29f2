//! DistilBERT (Sanh et al. 2019): BERT's layers, without segments and without a pooler.
//!
//! Its names are mapped to BERT's when its checkpoint is opened, so that there is one module for both.

use serde::{Deserialize, Serialize};
use totune_checkpoint::Naming;

use super::bert::{BertConfig, BertFamily};
use super::{PoolerKind, TokenizerKind};

/// The shape of a DistilBERT, under the names of its `config.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DistilBertConfig {
    /// Wordpieces in the vocabulary.
    pub vocab_size: usize,
    /// Width of the hidden states.
    pub dim: usize,
    /// Transformer layers.
    pub n_layers: usize,
    /// Attention heads; divides `dim`.
    pub n_heads: usize,
    /// Width between the two feed-forward products.
    pub hidden_dim: usize,
    /// Longest sequence.
    pub max_position_embeddings: usize,
    /// Dropout on embeddings and on the output of each sublayer.
    pub dropout: f64,
    /// Dropout on attention probabilities.
    pub attention_dropout: f64,
}

impl BertFamily for DistilBertConfig {
    const LABEL: &'static str = "distilbert";
    const NAMING: Naming = Naming::DistilBert;
    const TOKENIZER: TokenizerKind = TokenizerKind::Wordpiece;

    fn bert(&self) -> BertConfig {
        BertConfig {
            vocab_size: self.vocab_size,
            hidden_size: self.dim,
            num_hidden_layers: self.n_layers,
            num_attention_heads: self.n_heads,
            intermediate_size: self.hidden_dim,
            max_position_embeddings: self.max_position_embeddings,
            type_vocab_size: 0,
            layer_norm_eps: 1e-12, // fixed in its code
            hidden_dropout_prob: self.dropout,
            attention_probs_dropout_prob: self.attention_dropout,
            pooler: PoolerKind::None,
        }
    }
}
