//! Encoders: token ids in, hidden states of every layer out.

use burn::module::{Module, ModuleDisplay};
use burn::tensor::Tensor;

use crate::{Pass, TokenBatch};

pub mod bert;
pub mod distilbert;

/// What an encoder makes of a batch.
#[derive(Debug)]
pub struct States {
    /// Hidden states from the bottom up, each `[batch, seq, hidden]`: the embeddings, then one per layer.
    pub hidden: Vec<Tensor<3>>,
    /// What the pretrained pooler makes of the first token, `[batch, hidden]`; none where the encoder has none.
    pub pooled: Option<Tensor<2>>,
}

impl States {
    /// The top layer, `[batch, seq, hidden]`.
    pub fn top(&self) -> Tensor<3> {
        self.hidden
            .last()
            .expect("an encoder returns at least its embeddings")
            .clone()
    }
}

/// A pretrained network from tokens to hidden states.
///
/// Its parameters lie below `embeddings`, `layers.<i>` and, where there is one, `pooler`.
pub trait Encoder: Module + ModuleDisplay {
    /// Passes a batch through all layers.
    fn encode(&self, batch: &TokenBatch, pass: &Pass) -> States;

    /// Number of layers above the embeddings.
    fn n_layers(&self) -> usize;

    /// Width of the hidden states.
    fn hidden(&self) -> usize;

    /// Whether [`States::pooled`] is there.
    fn has_pooler(&self) -> bool;

    /// The same encoder with one rate for all its dropouts, instead of those of its checkpoint.
    fn with_dropout(self, rate: f64) -> Self;
}
