//! What a strategy changes in an encoder's modules before training.

use anyhow::{Context, Result};
use rand::Rng;
use totune_data::stream;
use totune_model::{Encoder, LowRankSpec, add_low_rank};

/// A change of an encoder's modules. What it adds has paths of its own, by which phases train it.
#[derive(Debug, Clone, PartialEq)]
pub enum ModuleEdit {
    /// Low-rank updates of linear layers, at `<path of the layer>.lora.{a,b}`.
    LowRank(LowRankSpec),
}

impl ModuleEdit {
    /// The encoder with this change; what is new is drawn from `seed`, that of the run.
    pub(crate) fn apply<E: Encoder>(&self, encoder: E, seed: u64) -> Result<E> {
        match self {
            Self::LowRank(spec) => {
                let seed = stream(seed, "low-rank", 0).next_u64();
                add_low_rank(encoder, spec, seed).context("adaptation.targets")
            }
        }
    }
}
