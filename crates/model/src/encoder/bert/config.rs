//! The shape of a BERT, and the published names of its parameters.

use serde::{Deserialize, Serialize};

use super::Bert;
use crate::encoder::PoolerKind;

/// The shape of a BERT, under the names of its `config.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BertConfig {
    /// Wordpieces in the vocabulary.
    pub vocab_size: usize,
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
    /// Number of segments (token types); 0 if the network has none.
    pub type_vocab_size: usize,
    /// Added to the variance in layer normalisation.
    pub layer_norm_eps: f64,
    /// Dropout on embeddings and on the output of each sublayer.
    pub hidden_dropout_prob: f64,
    /// Dropout on attention probabilities.
    pub attention_probs_dropout_prob: f64,
    /// The pooler on the first token of the top layer.
    #[serde(default)]
    pub pooler: PoolerKind,
}

impl Bert {
    /// The published name of the parameter at `path`, such as `encoder.layer.0.attention.self.query.weight`.
    pub fn published(path: &str) -> String {
        if let Some(rest) = path.strip_prefix("embeddings.") {
            return match rest {
                "word" | "position" => format!("embeddings.{rest}_embeddings.weight"),
                "segment" => "embeddings.token_type_embeddings.weight".to_string(),
                "projection.weight" | "projection.bias" => {
                    rest.replace("projection", "embeddings_project")
                }
                _ => format!("embeddings.{}", rest.replace("norm.", "LayerNorm.")),
            };
        }
        let Some(rest) = path.strip_prefix("layers.") else {
            return path.to_string();
        };
        let mut rest = rest.to_string();
        for (ours, published) in [
            ("attention.query", "attention.self.query"),
            ("attention.key", "attention.self.key"),
            ("attention.value", "attention.self.value"),
            ("attention.output", "attention.output.dense"),
            ("attention.norm", "attention.output.LayerNorm"),
            ("feed_forward.intermediate", "intermediate.dense"),
            ("feed_forward.output", "output.dense"),
            ("feed_forward.norm", "output.LayerNorm"),
        ] {
            if rest.contains(ours) {
                rest = rest.replace(ours, published);
                break;
            }
        }
        format!("encoder.layer.{rest}")
    }
}
