//! Encoders: token ids in, hidden states of every layer out.

use std::collections::BTreeMap;
use std::ops::Range;

use burn::module::{Module, ModuleDisplay, Param};
use burn::tensor::{Device, Tensor, TensorData};

use crate::adapter::AdapterPlace;
use crate::fused::Precision;
use crate::layer::Linear;
use crate::prefix::PrefixPlace;
use crate::{Pass, TokenBatch};

mod adapters;
mod albert;
mod any;
pub(crate) mod bert;
mod deberta_v2;
mod distilbert;
mod electra;
pub(crate) mod elmo;
mod low_rank;
mod modernbert;
mod prefixes;
mod reinitialise;
mod roberta;
mod shape;
mod transformer;
mod xlm_roberta;

pub use adapters::add_adapters;
pub use albert::{AlbertConfig, OneLayer};
pub use any::AnyEncoder;
pub use bert::{Bert, BertConfig, BertFamily};
pub use deberta_v2::{DebertaV2, DebertaV2Config, Version3};
pub use distilbert::DistilBertConfig;
pub use electra::ElectraConfig;
pub use elmo::{Elmo, LstmState, Spelling};
pub use low_rank::{add_low_rank, merge_low_rank, names_module};
pub use modernbert::{LayerPattern, ModernBert, ModernBertConfig};
pub use prefixes::add_prefixes;
pub use reinitialise::reinitialise;
pub use roberta::RobertaConfig;
pub use shape::{PoolerKind, Shape, TokenizerKind};
pub use xlm_roberta::XlmRobertaConfig;

/// Output of an encoder for a batch.
#[derive(Debug)]
pub struct HiddenStates {
    /// Hidden states from the bottom up, each `[batch, seq, hidden]`: those the pass began with (the embeddings, when
    /// it was a whole one), then one per layer above. At padding they are of no use: zero, or what layers make of it.
    pub hidden: Vec<Tensor<3>>,
    /// Output of the pretrained pooler for the first token, `[batch, hidden]`; none if the encoder has no pooler.
    pub pooled: Option<Tensor<2>>,
}

impl HiddenStates {
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
    fn encode(&self, batch: &TokenBatch, pass: &Pass) -> HiddenStates {
        let x = self.forward_to(0, batch, pass);
        self.forward_from(x, 0, batch, pass)
    }

    /// The embeddings of a batch, layer 0: `[batch, seq, hidden]`.
    fn embed(&self, batch: &TokenBatch, pass: &Pass) -> Tensor<3>;

    /// Output of each of `layers` (1 is the lowest), from `x`, the output of the layer below. The layers below
    /// [`Pass::frozen_below`] run without a graph.
    fn outputs(
        &self,
        x: Tensor<3>,
        layers: Range<usize>,
        batch: &TokenBatch,
        pass: &Pass,
    ) -> Vec<Tensor<3>>;

    /// Output of the pretrained pooler for the output of the top layer; by default there is none.
    fn pool(&self, _top: Tensor<3>) -> Option<Tensor<2>> {
        None
    }

    /// Passes a batch through the layers up to `layer`: `[batch, seq, hidden]`. Layer 0 is the embeddings, `i` is
    /// `layers[i - 1]`.
    fn forward_to(&self, layer: usize, batch: &TokenBatch, pass: &Pass) -> Tensor<3> {
        let mut x = if pass.frozen_below > 0 {
            self.valid().embed(&batch.inner(), pass)
        } else {
            self.embed(batch, pass)
        };
        if layer > 0 {
            let lower = self.outputs(x, 1..layer + 1, batch, pass);
            x = lower.into_iter().next_back().expect("at least one layer");
        }
        x
    }

    /// Passes `x`, the output of `layer` for this batch, through the layers above it. The states returned start with
    /// `x`. Dropout in those layers is the same whether `x` was computed in this pass or cached from another one.
    fn forward_from(
        &self,
        x: Tensor<3>,
        layer: usize,
        batch: &TokenBatch,
        pass: &Pass,
    ) -> HiddenStates {
        pass.skip_to(self.n_dropout_seeds(layer));
        let mut hidden = vec![x.clone()];
        hidden.extend(self.outputs(x, layer + 1..self.n_layers() + 1, batch, pass));
        let top = hidden.last().expect("at least what it began with").clone();
        HiddenStates {
            hidden,
            pooled: self.pool(top),
        }
    }

    /// Number of dropout seeds that the layers `0..=layer` use in a pass.
    fn n_dropout_seeds(&self, layer: usize) -> u64;

    /// Number of layers above the embeddings.
    fn n_layers(&self) -> usize;

    /// Width of the hidden states.
    fn hidden(&self) -> usize;

    /// Returns true if [`HiddenStates::pooled`] exists.
    fn has_pooler(&self) -> bool {
        false
    }

    /// The id that fills rows up to one length. Padding is masked, so that no state of a real token depends on it.
    fn pad_id(&self) -> u32 {
        0
    }

    /// The table of word embeddings, `[vocab, width]`, if [`Encoder::embed`] reads nothing of it but the rows of the batch's
    /// tokens, by [`TokenBatch::embedded`], and nothing else does: training then computes gradients of these rows alone. By
    /// default there is none.
    fn word_table(&mut self) -> Option<&mut Param<Tensor<2>>> {
        None
    }

    /// The same encoder with one rate for all its dropouts, instead of those of its checkpoint.
    fn with_dropout(self, rate: f64) -> Self;

    /// The same encoder with the products of its layers at another precision; pooler and normalisations stay at f32.
    fn with_precision(mut self, precision: Precision) -> Self {
        for (_, _, linear) in self.linears() {
            linear.precision = precision;
        }
        self
    }

    /// Linear layers that can carry a low-rank update: the index of the layer of the encoder, the path within it, such
    /// as `attention.query`, and the layer itself. Their passes go through [`Linear`]'s own methods, so that an update
    /// is not bypassed.
    fn linears(&mut self) -> Vec<(usize, String, &mut Linear)> {
        Vec::new()
    }

    /// Ends of sublayers, where adapters can be put; by default there are none.
    fn adapter_places(&mut self) -> Vec<AdapterPlace<'_>> {
        Vec::new()
    }

    /// Attention layers that take a prefix; by default there are none.
    fn prefix_places(&mut self) -> Vec<PrefixPlace<'_>> {
        Vec::new()
    }

    /// Returns true if the layers, as they are without added modules, can compute their inner results again in the
    /// backward pass: [`Activations::Recomputed`](crate::Activations::Recomputed).
    fn recomputes(&self) -> bool {
        false
    }

    /// Returns true if a batch can start from the final state of the batch before: [`Encoder::with_state`].
    fn has_state(&self) -> bool {
        false
    }

    /// Sets the initial state of each batch, and resets carried states. An encoder without a recurrent state is
    /// returned unchanged.
    fn with_state(self, _state: LstmState) -> Self {
        self
    }

    /// Resets carried states: with [`LstmState::Carry`], the next batch starts from a zero state, also in every clone.
    fn reset_state(&self) {}

    /// Copies the states carried so far, by name; none if nothing was carried.
    fn carried_state(&self) -> BTreeMap<String, TensorData> {
        BTreeMap::new()
    }

    /// Sets the carried states to such copies, also in every clone.
    fn restore_state(&self, _carried: BTreeMap<String, TensorData>, _device: &Device) {}
}
