//! ELECTRA (Clark et al. 2020): BERT's layers, with embeddings that may be narrower than the hidden states.
//!
//! Its names are BERT's with the prefix `electra.`, so that there is one module for both. The encoder is that of the
//! discriminator; published checkpoints have no pooler, since they were trained without next-sentence prediction.

use serde::{Deserialize, Serialize};
use totune_checkpoint::Naming;

use super::bert::{BertConfig, BertFamily};
use super::{PoolerKind, TokenizerKind};

/// The shape of an ELECTRA, under the names of its `config.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ElectraConfig {
    /// Wordpieces in the vocabulary.
    pub vocab_size: usize,
    /// Width of the embeddings; a linear layer follows where it is not `hidden_size`.
    pub embedding_size: usize,
    /// Width of the hidden states.
    pub hidden_size: usize,
    /// Transformer layers.
    pub num_hidden_layers: usize,
    /// Attention heads; divides `hidden_size`.
    pub num_attention_heads: usize,
    /// Width between the two feed-forward products.
    pub intermediate_size: usize,
    /// Longest sequence.
    pub max_position_embeddings: usize,
    /// Number of segments (token types).
    pub type_vocab_size: usize,
    /// Added to the variance in layer normalisation.
    pub layer_norm_eps: f64,
    /// Dropout on embeddings and on the output of each sublayer.
    pub hidden_dropout_prob: f64,
    /// Dropout on attention probabilities.
    pub attention_probs_dropout_prob: f64,
}

impl BertFamily for ElectraConfig {
    const LABEL: &'static str = "electra";
    const NAMING: Naming = Naming::Electra;
    const TOKENIZER: TokenizerKind = TokenizerKind::Wordpiece;

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
            pooler: PoolerKind::None,
        }
    }

    fn embedding_size(&self) -> usize {
        self.embedding_size
    }
}
