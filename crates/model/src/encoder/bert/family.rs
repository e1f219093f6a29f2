//! The architectures whose network is a [`Bert`].

use std::fmt;

use anyhow::Result;
use burn::tensor::Device;
use totune_checkpoint::Naming;

use super::{Bert, BertConfig};
use crate::Weights;
use crate::encoder::{PoolerKind, Shape, TokenizerKind};
use crate::fused::Gelu;

/// An architecture with BERT's layers: its equivalent BERT and the differences in the embeddings, which make it a
/// [`Shape`].
pub trait BertFamily: fmt::Debug {
    /// [`Shape::LABEL`].
    const LABEL: &'static str;

    /// [`Shape::NAMING`].
    const NAMING: Naming;

    /// [`Shape::TOKENIZER`].
    const TOKENIZER: TokenizerKind;

    /// The equivalent BERT, but for what the other methods say.
    fn bert(&self) -> BertConfig;

    /// Width of the embedding tables and their normalisation; where it is not that of the hidden states, a linear layer
    /// follows.
    fn embedding_size(&self) -> usize {
        self.bert().hidden_size
    }

    /// Returns true if a linear layer follows the embeddings.
    fn projects_embeddings(&self) -> bool {
        self.embedding_size() != self.bert().hidden_size
    }

    /// Number of times that each layer is applied, one application behind the other.
    fn applications(&self) -> usize {
        1
    }

    /// Activation between the two feed-forward products.
    fn activation(&self) -> Gelu {
        Gelu::Erf
    }

    /// Returns true if the output of the feed-forward sublayer has dropout.
    fn drops_feed_forward(&self) -> bool {
        true
    }

    /// The id of padding, where tokens are numbered as in fairseq: padding takes the row of its id in the position
    /// table, every other token the row after that of the token before it. None where positions start at row 0.
    fn pad_before_positions(&self) -> Option<u32> {
        None
    }
}

impl BertFamily for BertConfig {
    const LABEL: &'static str = "bert";
    const NAMING: Naming = Naming::Bert;
    const TOKENIZER: TokenizerKind = TokenizerKind::Wordpiece;

    fn bert(&self) -> BertConfig {
        self.clone()
    }
}

impl<F: BertFamily> Shape for F {
    type Encoder = Bert;

    const LABEL: &'static str = F::LABEL;
    const NAMING: Naming = F::NAMING;
    const TOKENIZER: TokenizerKind = F::TOKENIZER;
    const LINEARS: &'static [&'static str] = &[
        "attention.query",
        "attention.key",
        "attention.value",
        "attention.output",
        "feed_forward.intermediate",
        "feed_forward.output",
    ];
    const BIASES: &'static [&'static str] = &[
        "attention.query",
        "attention.key",
        "attention.value",
        "attention.output",
        "attention.norm",
        "feed_forward.intermediate",
        "feed_forward.output",
        "feed_forward.norm",
    ];

    fn n_layers(&self) -> usize {
        self.bert().num_hidden_layers
    }

    fn hidden(&self) -> usize {
        self.bert().hidden_size
    }

    fn pooler(&self) -> PoolerKind {
        self.bert().pooler
    }

    fn max_length(&self) -> usize {
        let before = self.pad_before_positions();
        let before = before.map_or(0, |pad| pad as usize + 1);
        self.bert().max_position_embeddings.saturating_sub(before)
    }

    fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let (config, width) = (self.bert(), self.embedding_size());
        let (hidden, wide) = (config.hidden_size, config.intermediate_size);
        let mut tensors = Vec::new();
        for (table, rows) in [
            ("word", config.vocab_size),
            ("position", config.max_position_embeddings),
            ("token_type", config.type_vocab_size),
        ] {
            if rows > 0 {
                tensors.push((
                    format!("embeddings.{table}_embeddings.weight"),
                    vec![rows, width],
                ));
            }
        }
        let mut pair = |name: String, weight: Vec<usize>| {
            tensors.push((format!("{name}.bias"), vec![weight[0]]));
            tensors.push((format!("{name}.weight"), weight));
        };
        pair("embeddings.LayerNorm".to_string(), vec![width]);
        if self.projects_embeddings() {
            pair("embeddings_project".to_string(), vec![hidden, width]);
        }
        for i in 0..config.num_hidden_layers {
            for (part, weight) in [
                ("attention.self.query", vec![hidden, hidden]),
                ("attention.self.key", vec![hidden, hidden]),
                ("attention.self.value", vec![hidden, hidden]),
                ("attention.output.dense", vec![hidden, hidden]),
                ("attention.output.LayerNorm", vec![hidden]),
                ("intermediate.dense", vec![wide, hidden]),
                ("output.dense", vec![hidden, wide]),
                ("output.LayerNorm", vec![hidden]),
            ] {
                pair(format!("encoder.layer.{i}.{part}"), weight);
            }
        }
        if config.pooler == PoolerKind::Tanh {
            pair("pooler.dense".to_string(), vec![hidden, hidden]);
        }
        tensors
    }

    fn load(&self, weights: &mut dyn Weights, device: &Device) -> Result<Bert> {
        Bert::load(self, weights, device)
    }
}
