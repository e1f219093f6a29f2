//! What a head reads of an encoder's states.

use anyhow::{Result, ensure};
use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::{Encoder, States, TokenBatch};

/// Which vector stands for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pooling {
    /// The pretrained pooler's output, `tanh(W h + b)` of the first token, as in the released BERT classifier.
    Pooler,
    /// A layer's first token.
    First,
    /// The mean of a layer over real tokens.
    Mean,
    /// The first token of the four top layers, concatenated (Devlin et al. 2019, section 5.3).
    #[serde(rename = "concat-4")]
    Concat4,
}

impl Pooling {
    /// Whether it can be taken of any layer.
    pub fn is_of_any_layer(self) -> bool {
        matches!(self, Self::First | Self::Mean)
    }
}

/// Which layers that vector is of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Layers {
    /// The top one, or those that the pooling names.
    #[default]
    Top,
    /// All of them, mixed by learned weights: [`crate::ScalarMix`].
    Mix {
        /// Whether the embeddings are one of them: 13 layers of BERT-base with, 12 without.
        embeddings: bool,
    },
}

impl Layers {
    /// Whether it is the top one.
    pub fn is_top(&self) -> bool {
        *self == Self::Top
    }

    /// How many there are of them, of an encoder with `n_layers`.
    pub fn count(&self, n_layers: usize) -> usize {
        match self {
            Self::Top => 1,
            Self::Mix { embeddings } => n_layers + usize::from(*embeddings),
        }
    }

    /// The states of each token in these layers, one layer after the other from the bottom up: `[batch, seq, layers * hidden]`.
    ///
    /// # Panics
    /// When a mix is asked of states that do not begin with the embeddings.
    pub fn of(&self, states: &States) -> Tensor<3> {
        match self {
            Self::Top => states.top(),
            Self::Mix { embeddings } => {
                let lowest = usize::from(!embeddings);
                Tensor::cat(states.hidden[lowest..].to_vec(), 2)
            }
        }
    }
}

/// The vectors that a head reads, before anything that is learned with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Readout {
    /// Which vector stands for an example.
    pub pooling: Pooling,
    /// Which layers it is of.
    pub layers: Layers,
}

impl Readout {
    /// Refuses what `encoder` does not have, naming the key.
    pub fn check<E: Encoder>(&self, encoder: &E) -> Result<()> {
        ensure!(
            self.pooling != Pooling::Concat4 || encoder.n_layers() >= 4,
            "pooling = \"concat-4\" needs an encoder of at least 4 layers, this one has {}",
            encoder.n_layers()
        );
        ensure!(
            self.pooling != Pooling::Pooler || encoder.has_pooler(),
            "pooling = \"pooler\" needs an encoder with a pooler, this one has none"
        );
        Ok(())
    }

    /// How many layers are mixed, of an encoder with `n_layers`; none where it is one vector as it is.
    pub fn mixed(&self, n_layers: usize) -> Option<usize> {
        match self.layers {
            Layers::Top => None,
            Layers::Mix { embeddings } => Some(n_layers + usize::from(embeddings)),
        }
    }

    /// How many layers below the top it reads, of an encoder with `n_layers`.
    pub fn depth(&self, n_layers: usize) -> usize {
        match (self.layers, self.pooling) {
            (Layers::Mix { .. }, _) => n_layers,
            (Layers::Top, Pooling::Concat4) => 3,
            (Layers::Top, Pooling::Pooler | Pooling::First | Pooling::Mean) => 0,
        }
    }

    /// Numbers in what is read of an example.
    pub fn width(&self, hidden: usize, n_layers: usize) -> usize {
        let vectors = match self.pooling {
            Pooling::Concat4 => 4,
            Pooling::Pooler | Pooling::First | Pooling::Mean => 1,
        };
        hidden * self.mixed(n_layers).unwrap_or(vectors)
    }

    /// What is read of each example, `[batch, width]`; of a mix, one layer after the other from the bottom up.
    ///
    /// # Panics
    /// When a mix is asked of states that do not begin with the embeddings.
    pub fn of(&self, states: &States, batch: &TokenBatch) -> Tensor<2> {
        let of_layer = |layer: &Tensor<3>| match self.pooling {
            Pooling::Mean => mean(layer, batch),
            _ => first(layer),
        };
        match (self.layers, self.pooling) {
            (Layers::Mix { embeddings }, _) => {
                let lowest = usize::from(!embeddings);
                Tensor::cat(states.hidden[lowest..].iter().map(of_layer).collect(), 1)
            }
            (Layers::Top, Pooling::Pooler) => states
                .pooled
                .clone()
                .expect("pooling = \"pooler\" needs an encoder with a pooler"),
            (Layers::Top, Pooling::Concat4) => {
                let top = &states.hidden[states.hidden.len() - 4..];
                Tensor::cat(top.iter().rev().map(first).collect(), 1)
            }
            (Layers::Top, Pooling::First | Pooling::Mean) => of_layer(&states.top()),
        }
    }
}

/// The first token, `[batch, hidden]`.
fn first(layer: &Tensor<3>) -> Tensor<2> {
    layer.clone().narrow(1, 0, 1).squeeze_dim(1)
}

/// The mean over real tokens, `[batch, hidden]`.
fn mean(layer: &Tensor<3>, batch: &TokenBatch) -> Tensor<2> {
    let weights = batch.weights().unsqueeze_dim::<3>(2); // [batch, seq, 1]
    let sum = (layer.clone() * weights.clone()).sum_dim(1).squeeze_dim(1);
    let count = weights.sum_dim(1).squeeze_dim(1); // [batch, 1]
    sum / count
}
