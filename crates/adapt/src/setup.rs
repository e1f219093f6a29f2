//! Edits of an encoder's modules before training.

use std::ops::Range;

use anyhow::{Context, Result};
use rand::Rng;
use totune_data::stream;
use totune_model::{Encoder, LowRankSpec, add_low_rank, reinitialise};

/// Edit of an encoder's modules. New parameters have paths of their own, by which phases train them.
#[derive(Debug, Clone, PartialEq)]
pub enum ModuleEdit {
    /// Low-rank updates of linear layers, at `<path of the layer>.lora.{a,b}`.
    LowRank(LowRankSpec),
    /// New random weights in some layers and in the pooler.
    Reinitialise {
        /// Indices of the layers.
        layers: Range<usize>,
    },
}

impl ModuleEdit {
    /// Applies the edit to the encoder; new parameters are initialised from `seed`, that of the run.
    pub(crate) fn apply<E: Encoder>(&self, encoder: E, seed: u64) -> Result<E> {
        match self {
            Self::LowRank(spec) => {
                let seed = stream(seed, "low-rank", 0).next_u64();
                add_low_rank(encoder, spec, seed).context("adaptation.targets")
            }
            Self::Reinitialise { layers } => {
                let seed = stream(seed, "reinitialise", 0).next_u64();
                Ok(reinitialise(encoder, layers.clone(), seed))
            }
        }
    }
}
