//! Adaptation strategies: from settings and the depth of an encoder to phases.
//!
//! A strategy is a pure function. It names parameters by path (`head`, `encoder.pooler`, `encoder.layers.<i>`,
//! `encoder.embeddings`) and decides; the training loop executes. The head moves in all of them.
//!
//! To add one: a file here with its settings and its `plan`, a variant of [`Adaptation`], and its phases as a table.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use totune_model::Pooling;

use crate::phase::{Group, Phase, Plan};
use crate::training::Training;

mod frozen;
mod full;
mod last_k;

pub use frozen::Frozen;
pub use full::Full;
pub use last_k::LastK;

/// Which parameters of a pretrained encoder move.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Adaptation {
    /// Feature extraction: the encoder stays as it is.
    Frozen(Frozen),
    /// Fine-tuning of everything.
    Full(Full),
    /// Fine-tuning of the top layers.
    LastK(LastK),
}

/// Whether a named part of the encoder moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// It moves with the rest.
    Trainable,
    /// It stays as the checkpoint has it.
    Frozen,
}

impl Adaptation {
    /// The strategy's short name in tables and figures: `frozen`, `full`, `last-2`.
    pub fn label(&self) -> String {
        match self {
            Self::Frozen(_) => "frozen".into(),
            Self::Full(_) => "full".into(),
            Self::LastK(settings) => format!("last-{}", settings.k),
        }
    }

    /// The peak learning rate.
    pub fn lr(&self) -> f64 {
        match self {
            Self::Frozen(settings) => settings.lr,
            Self::Full(settings) => settings.lr,
            Self::LastK(settings) => settings.lr,
        }
    }

    /// The phases of this strategy for an encoder of `n_layers` layers, with everything else as `training` says.
    pub fn plan(&self, training: &Training, n_layers: usize) -> Result<Plan> {
        match self {
            Self::Frozen(settings) => Ok(settings.plan(training, n_layers)),
            Self::Full(settings) => Ok(settings.plan(training, n_layers)),
            Self::LastK(settings) => settings.plan(training, n_layers),
        }
    }

    /// Refuses values that no encoder allows, naming the key.
    pub fn validate(&self) -> Result<()> {
        let lr = self.lr();
        ensure!(
            lr.is_finite() && lr > 0.0,
            "adaptation.lr: found {lr}, expected more than 0"
        );
        if let Self::LastK(settings) = self {
            ensure!(
                settings.k > 0,
                "adaptation.k: found 0, expected at least 1 (the strategy without trainable layers is `frozen`)"
            );
        }
        Ok(())
    }
}

/// The parts of a classifier that move together at one rate, from the head down.
struct Trained {
    lr: f64,
    pooler: Part,
    /// Indices of the layers that move, from the lowest up to the top of the encoder.
    layers: std::ops::Range<usize>,
    embeddings: Part,
}

impl Trained {
    /// One phase of the training, moving exactly these parts.
    fn phase(self, training: &Training) -> Phase {
        let mut patterns = vec![r"^head\.".to_string()];
        // A head that reads the states directly leaves the pooler without a gradient, so it is no part of the model.
        if self.pooler == Part::Trainable && training.head.pooling == Pooling::Pooler {
            patterns.push(r"^encoder\.pooler\.".into());
        }
        let lowest_layer = self.layers.start;
        patterns.extend(
            self.layers
                .rev()
                .map(|layer_idx| format!(r"^encoder\.layers\.{layer_idx}\.")),
        );
        let mut frozen_below = lowest_layer + 1;
        if self.embeddings == Part::Trainable {
            patterns.push(r"^encoder\.embeddings\.".into());
            frozen_below = 0;
        }
        let adam = training.optimizer.adam();
        let (lr, weight_decay) = (self.lr, adam.weight_decay);
        Phase {
            groups: patterns
                .into_iter()
                .map(|pattern| Group {
                    pattern,
                    lr,
                    weight_decay,
                })
                .collect(),
            no_decay: adam.no_decay.clone(),
            schedule: training.schedule.clone(),
            epochs: training.epochs,
            stop: training.stop.clone(),
            frozen_below,
        }
    }
}
