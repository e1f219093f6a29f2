//! An encoder whose kind is only known at run time.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use burn::module::{
    Content, Devices, Module, ModuleDisplay, ModuleDisplayDefault, ModuleMapper, ModuleVisitor,
    Param,
};
use burn::tensor::{Device, Tensor, TensorData};

use super::Encoder;
use crate::adapter::AdapterPlace;
use crate::fused::Precision;
use crate::layer::Linear;
use crate::prefix::PrefixPlace;
use crate::{Bert, DebertaV2, Elmo, LstmState, ModernBert, Pass, TokenBatch};

/// An encoder of any kind. Its parameters have the paths of the encoder it is: no name of a variant stands before them,
/// which is why [`Module`] is implemented by hand.
// Few exist, and those are large.
#[expect(clippy::large_enum_variant)]
#[derive(Debug, Clone)]
pub enum AnyEncoder {
    /// BERT, or an architecture that differs from it only in size.
    Bert(Bert),
    /// ModernBERT.
    ModernBert(ModernBert),
    /// DeBERTa-v3.
    DebertaV2(DebertaV2),
    /// ELMo.
    Elmo(Elmo),
}

/// Evaluates an expression for the encoder of any kind.
macro_rules! each {
    ($any:expr, $encoder:ident => $value:expr) => {
        match $any {
            AnyEncoder::Bert($encoder) => $value,
            AnyEncoder::ModernBert($encoder) => $value,
            AnyEncoder::DebertaV2($encoder) => $value,
            AnyEncoder::Elmo($encoder) => $value,
        }
    };
}

/// Evaluates an expression for the encoder of any kind, and wraps the result again.
macro_rules! mapped {
    ($any:expr, $encoder:ident => $value:expr) => {
        match $any {
            AnyEncoder::Bert($encoder) => AnyEncoder::Bert($value),
            AnyEncoder::ModernBert($encoder) => AnyEncoder::ModernBert($value),
            AnyEncoder::DebertaV2($encoder) => AnyEncoder::DebertaV2($value),
            AnyEncoder::Elmo($encoder) => AnyEncoder::Elmo($value),
        }
    };
}

impl From<Bert> for AnyEncoder {
    fn from(bert: Bert) -> Self {
        Self::Bert(bert)
    }
}

impl From<ModernBert> for AnyEncoder {
    fn from(encoder: ModernBert) -> Self {
        Self::ModernBert(encoder)
    }
}

impl From<DebertaV2> for AnyEncoder {
    fn from(encoder: DebertaV2) -> Self {
        Self::DebertaV2(encoder)
    }
}

impl From<Elmo> for AnyEncoder {
    fn from(elmo: Elmo) -> Self {
        Self::Elmo(elmo)
    }
}

impl Module for AnyEncoder {
    fn visit<V: ModuleVisitor>(&self, visitor: &mut V) {
        each!(self, encoder => encoder.visit(visitor));
    }

    fn map<M: ModuleMapper>(self, mapper: &mut M) -> Self {
        mapped!(self, encoder => encoder.map(mapper))
    }

    fn to_device(self, device: &Device) -> Self {
        mapped!(self, encoder => encoder.to_device(device))
    }

    fn fork(self, device: &Device) -> Self {
        mapped!(self, encoder => encoder.fork(device))
    }

    fn collect_devices(&self, devices: Devices) -> Devices {
        each!(self, encoder => encoder.collect_devices(devices))
    }

    fn valid(&self) -> Self {
        mapped!(self, encoder => encoder.valid())
    }

    fn train(self) -> Self {
        mapped!(self, encoder => encoder.train())
    }

    fn materialize(self) -> Self {
        mapped!(self, encoder => encoder.materialize())
    }

    fn num_params(&self) -> usize {
        each!(self, encoder => Module::num_params(encoder))
    }
}

impl ModuleDisplayDefault for AnyEncoder {
    fn content(&self, content: Content) -> Option<Content> {
        each!(self, encoder => encoder.content(content))
    }
}

impl ModuleDisplay for AnyEncoder {}

impl fmt::Display for AnyEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        each!(self, encoder => fmt::Display::fmt(encoder, f))
    }
}

impl Encoder for AnyEncoder {
    fn embed(&self, batch: &TokenBatch, pass: &Pass) -> Tensor<3> {
        each!(self, encoder => encoder.embed(batch, pass))
    }

    fn outputs(
        &self,
        x: Tensor<3>,
        layers: Range<usize>,
        batch: &TokenBatch,
        pass: &Pass,
    ) -> Vec<Tensor<3>> {
        each!(self, encoder => encoder.outputs(x, layers, batch, pass))
    }

    fn pool(&self, top: Tensor<3>) -> Option<Tensor<2>> {
        each!(self, encoder => encoder.pool(top))
    }

    fn n_dropout_seeds(&self, block: usize) -> u64 {
        each!(self, encoder => encoder.n_dropout_seeds(block))
    }

    fn n_layers(&self) -> usize {
        each!(self, encoder => encoder.n_layers())
    }

    fn hidden(&self) -> usize {
        each!(self, encoder => encoder.hidden())
    }

    fn has_pooler(&self) -> bool {
        each!(self, encoder => encoder.has_pooler())
    }

    fn pad_id(&self) -> u32 {
        each!(self, encoder => encoder.pad_id())
    }

    fn word_table(&mut self) -> Option<&mut Param<Tensor<2>>> {
        each!(self, encoder => encoder.word_table())
    }

    fn with_dropout(self, rate: f64) -> Self {
        mapped!(self, encoder => encoder.with_dropout(rate))
    }

    fn with_precision(self, precision: Precision) -> Self {
        mapped!(self, encoder => encoder.with_precision(precision))
    }

    fn linears(&mut self) -> Vec<(usize, String, &mut Linear)> {
        each!(self, encoder => encoder.linears())
    }

    fn adapter_places(&mut self) -> Vec<AdapterPlace<'_>> {
        each!(self, encoder => encoder.adapter_places())
    }

    fn prefix_places(&mut self) -> Vec<PrefixPlace<'_>> {
        each!(self, encoder => encoder.prefix_places())
    }

    fn recomputes(&self) -> bool {
        each!(self, encoder => encoder.recomputes())
    }

    fn has_state(&self) -> bool {
        each!(self, encoder => encoder.has_state())
    }

    fn with_state(self, state: LstmState) -> Self {
        mapped!(self, encoder => encoder.with_state(state))
    }

    fn reset_state(&self) {
        each!(self, encoder => encoder.reset_state());
    }

    fn carried_state(&self) -> BTreeMap<String, TensorData> {
        each!(self, encoder => encoder.carried_state())
    }

    fn restore_state(&self, carried: BTreeMap<String, TensorData>, device: &Device) {
        each!(self, encoder => encoder.restore_state(carried, device));
    }
}
