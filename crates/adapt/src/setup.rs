//! Edits of an encoder's modules before training.

use std::ops::Range;

use anyhow::{Context, Result};
use rand::Rng;
use totune_data::stream;
use totune_model::{
    AdapterSpec, Encoder, LowRankSpec, PrefixSpec, add_adapters, add_low_rank, add_prefixes,
    reinitialise,
};

/// Edit of an encoder's modules. New parameters have paths of their own, by which phases train them.
#[derive(Debug, Clone, PartialEq)]
pub enum ModuleEdit {
    /// Low-rank updates of linear layers, at `<path of the layer>.lora.{a,b}`.
    LowRank(LowRankSpec),
    /// Bottleneck adapters at the ends of sublayers, at `<path of the sublayer>.adapter.{down,up}`.
    Adapters(AdapterSpec),
    /// Keys and values in front of those of attention layers, at `<path of the sublayer>.prefix.{key,value}`.
    Prefixes(PrefixSpec),
    /// New random weights in some layers and in the pooler.
    Reinitialise {
        /// Indices of the layers.
        layers: Range<usize>,
    },
}

impl ModuleEdit {
    /// Returns true if the edit adds modules that a saved model has, too.
    pub(crate) fn is_kept(&self) -> bool {
        matches!(self, Self::Adapters(_) | Self::Prefixes(_))
    }

    /// Returns true if layers can recompute their activations after the edit.
    pub(crate) fn recomputes(&self) -> bool {
        match self {
            Self::LowRank(spec) => spec.dropout == 0.0,
            Self::Adapters(_) | Self::Prefixes(_) => false,
            Self::Reinitialise { .. } => true,
        }
    }

    /// Applies the edit to the encoder; new parameters are initialised from `seed`, that of the run.
    pub(crate) fn apply<E: Encoder>(&self, encoder: E, seed: u64) -> Result<E> {
        match self {
            Self::LowRank(spec) => {
                let seed = stream(seed, "low-rank", 0).next_u64();
                add_low_rank(encoder, spec, seed).context("adaptation.targets")
            }
            Self::Adapters(spec) => {
                let seed = stream(seed, "adapters", 0).next_u64();
                add_adapters(encoder, spec, seed).context("adaptation.kind")
            }
            Self::Prefixes(spec) => {
                let seed = stream(seed, "prefixes", 0).next_u64();
                add_prefixes(encoder, spec, seed).context("adaptation.kind")
            }
            Self::Reinitialise { layers } => {
                let seed = stream(seed, "reinitialise", 0).next_u64();
                Ok(reinitialise(encoder, layers.clone(), seed))
            }
        }
    }
}
