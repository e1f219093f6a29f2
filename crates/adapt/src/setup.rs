//! What a strategy changes in an encoder's modules before training.

use anyhow::{Context, Result};
use rand::Rng;
use totune_data::stream;
use totune_model::{Encoder, LowRankSpec, add_low_rank};

use crate::phase::Plan;

/// A change of an encoder's modules. What it adds has paths of its own, by which phases train it.
#[derive(Debug, Clone, PartialEq)]
pub enum ModuleEdit {
    /// Low-rank updates of linear layers, at `<path of the layer>.lora.{a,b}`.
    LowRank(LowRankSpec),
}

impl ModuleEdit {
    fn apply<E: Encoder>(&self, encoder: E, seed: u64) -> Result<E> {
        match self {
            Self::LowRank(spec) => {
                let seed = stream(seed, "low-rank", 0).next_u64();
                add_low_rank(encoder, spec, seed).context("adaptation.targets")
            }
        }
    }
}

impl Plan {
    /// `encoder` with all that the plan changes in its modules; what is new is drawn from `seed`, that of the run.
    ///
    /// # Errors
    /// When the encoder lacks a module that is named; the message lists those it has.
    pub fn prepare<E: Encoder>(&self, encoder: E, seed: u64) -> Result<E> {
        let mut edits = self.setup.iter();
        edits.try_fold(encoder, |encoder, edit| edit.apply(encoder, seed))
    }
}
