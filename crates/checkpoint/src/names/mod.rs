//! From the names in a file to the names architectures are published with.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::{Format, Tensor};

pub mod albert;
mod bert;
pub mod distilbert;
pub mod elmo;
mod tensorflow;

/// The naming scheme under which a checkpoint is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Naming {
    /// `embeddings.word_embeddings.weight`, `encoder.layer.0.attention.self.query.weight`, … An optional prefix
    /// `bert.`, `gamma` and `beta` of layer norms, and TensorFlow's names and transposes are seen through.
    Bert,
    /// The same names for a DistilBERT, whose own are `transformer.layer.0.attention.q_lin.weight`, ….
    DistilBert,
    /// BERT's for an ALBERT, whose own are `encoder.albert_layer_groups.0.albert_layers.0.ffn.weight`, ….
    Albert,
    /// BERT's, behind the prefix `roberta.`, which an XLM-RoBERTa has too.
    Roberta,
    /// `embeddings.tok_embeddings.weight`, `layers.0.attn.Wqkv.weight`, …, behind the prefix `model.`.
    ModernBert,
    /// BERT's, behind the prefix `electra.`, and `embeddings_project`.
    Electra,
    /// BERT's for the most part, behind the prefix `deberta.`.
    DebertaV2,
    /// ELMo's, which are ours: see [`elmo`].
    Elmo,
}

/// The change of a stored tensor before it is handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    None,
    /// `[in, out]` to `[out, in]`.
    Transposed,
    Elmo(elmo::TensorPart),
}

/// One tensor as it is published.
#[derive(Debug, Clone)]
pub(crate) struct Renamed {
    pub name: String,
    pub shape: Vec<usize>,
    pub change: Change,
}

impl Naming {
    /// The prefix that checkpoints of a whole task have and those of only the encoder lack.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Bert => "bert.",
            Self::DistilBert => "distilbert.",
            Self::Albert => "albert.",
            Self::Roberta => "roberta.",
            Self::ModernBert => "model.",
            Self::Electra => "electra.",
            Self::DebertaV2 => "deberta.",
            Self::Elmo => "",
        }
    }

    /// The published form of a stored tensor: nothing (the optimiser's), one tensor, or several.
    pub(crate) fn published(
        self,
        format: Format,
        name: &str,
        shape: &[usize],
    ) -> Result<Vec<Renamed>> {
        if self == Self::Elmo {
            return match format {
                Format::Hdf5 => elmo::published(name, shape),
                _ => Ok(vec![same(name, shape)]),
            };
        }
        let renamed = match format {
            Format::Tensorflow => match tensorflow::published(name, shape) {
                Some(renamed) => renamed,
                None => return Ok(Vec::new()),
            },
            _ => same(&bert::published(name), shape),
        };
        Ok(vec![renamed])
    }

    /// The published name of an encoder's tensor, once the prefix is off.
    pub(crate) fn short(self, name: &str) -> String {
        match self {
            Self::DistilBert => distilbert::published(name),
            Self::Albert => albert::published(name),
            _ => name.to_string(),
        }
    }
}

fn same(name: &str, shape: &[usize]) -> Renamed {
    Renamed {
        name: name.to_string(),
        shape: shape.to_vec(),
        change: Change::None,
    }
}

impl Change {
    pub(crate) fn apply(self, tensor: Tensor) -> Tensor {
        match self {
            Self::None => tensor,
            Self::Transposed => transposed(&tensor),
            Self::Elmo(part) => part.apply(&tensor),
        }
    }
}

/// `[rows, columns]` to `[columns, rows]`; shapes were checked when the name was mapped.
pub(crate) fn transposed(tensor: &Tensor) -> Tensor {
    let &[rows, columns] = &tensor.shape[..] else {
        unreachable!("only matrices are mapped to their transpose");
    };
    let values = (0..columns)
        .flat_map(|column| (0..rows).map(move |row| tensor.values[row * columns + column]))
        .collect();
    Tensor {
        shape: vec![columns, rows],
        values,
    }
}
