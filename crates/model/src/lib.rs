//! Encoders, heads and fused operations: arithmetic, ids and masks in, scores out.
//!
//! [`Bert`] is one [`Encoder`]; a [`Classifier`] puts a [`Head`] on it. Parameter paths are an interface: an encoder
//! exposes `embeddings`, `layers.<i>` and `pooler`, a classifier puts them below `encoder` and adds `head`.
//! Strategies select parameters by these names. [`EncoderCard`] describes a checkpoint and loads it.
//!
//! Backend-specific code lives only in [`fused`], where each operation has a plain burn body next to it.
//!
//! This crate does not know datasets, optimiser settings, strategies or papers.

// Naming the LibTorch backend is deprecated in burn 0.22, the last release that has it.
#![cfg_attr(feature = "tch", allow(deprecated))]

mod adapter;
mod architecture;
mod batch;
mod by_path;
mod card;
mod check;
mod classifier;
mod crf;
mod described;
mod draft;
mod encoder;
pub mod fused;
mod head;
mod init;
mod layer;
mod lm;
mod lora;
mod pass;
mod prefix;
mod recurrent;
mod sentence;
mod weights;
mod word_rows;

pub use adapter::{Adapter, AdapterPlace, AdapterSpec, Sublayer};
pub use architecture::Architecture;
pub use batch::{Segment, TokenBatch, WordPlaces, Words};
pub use by_path::{PathMapper, PathVisitor, map_by_path, visit_by_path};
pub use card::{EncoderCard, EncoderCatalogue, LoadedEncoder, SentenceVector, Vocabulary};
pub use check::CardCheck;
pub use classifier::{Classifier, FrozenOutput};
pub use crf::{Constraints, Crf};
pub use described::Described;
pub use draft::CardDraft;
pub use encoder::*;
pub use head::*;
pub use init::{Init, RandomWeights};
pub use layer::{Linear, Norm};
pub use lm::{
    Bilm, BilmConfig, BilmInit, BilmLikelihood, LogUniform, MaskedLm, MaskedLmConfig, Samples,
    Segments,
};
pub use lora::{LowRank, LowRankSpec};
pub use pass::{Activations, Pass};
pub use prefix::{Prefix, PrefixPlace, PrefixSpec};
pub use recurrent::{BiLstm, BiLstmLayer, Lstm, LstmCell};
pub use weights::Weights;
pub use word_rows::WordRows;
