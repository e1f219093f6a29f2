//! Adaptation strategies: from settings and the depth of an encoder to phases.
//!
//! A strategy is a pure function. It names parameters by path (`head`, `encoder.pooler`, `encoder.layers.<i>`,
//! `encoder.embeddings`) and decides; the training loop executes. The head moves in all of them.
//!
//! To add one: a file here with its settings and its `plan`, a variant of [`Adaptation`], and its phases as a table.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use crate::phase::{Group, Moments, Phase, Plan};
use crate::training::Training;

mod frozen;
mod full;
mod gradual_unfreezing;
mod last_k;
mod stack_and_finetune;

pub use frozen::Frozen;
pub use full::Full;
pub use gradual_unfreezing::GradualUnfreezing;
pub use last_k::LastK;
pub use stack_and_finetune::StackAndFinetune;

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
    /// Fine-tuning in which one more layer joins at a time.
    GradualUnfreezing(GradualUnfreezing),
    /// The head alone, then everything.
    StackAndFinetune(StackAndFinetune),
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
    /// The strategy's short name in tables and figures: `frozen`, `full`, `last-2`, `full, rates x0.9`.
    pub fn label(&self) -> String {
        match self {
            Self::Frozen(_) => "frozen".into(),
            Self::Full(settings) => format!("full{}", decaying(settings.layer_decay)),
            Self::LastK(settings) => {
                format!("last-{}{}", settings.k, decaying(settings.layer_decay))
            }
            Self::GradualUnfreezing(settings) => {
                format!("gradual-unfreezing{}", decaying(settings.layer_decay))
            }
            Self::StackAndFinetune(settings) => {
                format!("stack-and-finetune{}", decaying(settings.layer_decay))
            }
        }
    }

    /// The peak learning rate; of two phases, that of the second.
    pub fn lr(&self) -> f64 {
        match self {
            Self::Frozen(settings) => settings.lr,
            Self::Full(settings) => settings.lr,
            Self::LastK(settings) => settings.lr,
            Self::GradualUnfreezing(settings) => settings.lr,
            Self::StackAndFinetune(settings) => settings.lr,
        }
    }

    /// Epochs of all phases, at most, where a run is given `epochs`.
    pub fn epochs(&self, epochs: usize) -> usize {
        match self {
            Self::StackAndFinetune(settings) => settings.head_epochs + epochs,
            _ => epochs,
        }
    }

    /// The phases of this strategy for an encoder of `n_layers` layers, with everything else as `training` says.
    pub fn plan(&self, training: &Training, n_layers: usize) -> Result<Plan> {
        match self {
            Self::Frozen(settings) => Ok(settings.plan(training, n_layers)),
            Self::Full(settings) => Ok(settings.plan(training, n_layers)),
            Self::LastK(settings) => settings.plan(training, n_layers),
            Self::GradualUnfreezing(settings) => settings.plan(training, n_layers),
            Self::StackAndFinetune(settings) => Ok(settings.plan(training, n_layers)),
        }
    }

    /// Refuses values that no encoder allows, naming the key.
    pub fn validate(&self) -> Result<()> {
        check_rate("adaptation.lr", self.lr())?;
        match self {
            Self::Frozen(_) => Ok(()),
            Self::Full(settings) => check_decay("adaptation.layer-decay", settings.layer_decay),
            Self::LastK(settings) => {
                ensure!(
                    settings.k > 0,
                    "adaptation.k: found 0, expected at least 1 (the strategy without trainable layers is `frozen`)"
                );
                check_decay("adaptation.layer-decay", settings.layer_decay)
            }
            Self::GradualUnfreezing(settings) => settings.validate(),
            Self::StackAndFinetune(settings) => settings.validate(),
        }
    }
}

/// How lower layers differ from the top one, where they do.
fn decaying(layer_decay: f64) -> String {
    if layer_decay == 1.0 {
        String::new()
    } else {
        format!(", rates x{layer_decay}")
    }
}

fn no_decay() -> f64 {
    1.0
}

fn check_rate(key: &str, lr: f64) -> Result<()> {
    ensure!(
        lr.is_finite() && lr > 0.0,
        "{key}: found {lr}, expected more than 0"
    );
    Ok(())
}

fn check_decay(key: &str, decay: f64) -> Result<()> {
    ensure!(
        decay > 0.0 && decay <= 1.0,
        "{key}: found {decay}, expected more than 0 and at most 1"
    );
    Ok(())
}

/// The parts of a classifier that move together, from the head down.
struct Trained {
    /// Rate of the head, the pooler and the top layer.
    lr: f64,
    /// What the rate of each layer is multiplied by to give that of the next lower one (Howard and Ruder 2018, section
    /// 3.1); the embeddings are the lowest.
    layer_decay: f64,
    pooler: Part,
    /// Indices of the layers that move, from the lowest up to the top of the encoder.
    layers: std::ops::Range<usize>,
    embeddings: Part,
}

impl Trained {
    /// One phase of the training, moving exactly these parts.
    fn phase(self, training: &Training) -> Phase {
        let n_layers = self.layers.end;
        let rate = |layers_above: usize| self.lr * self.layer_decay.powi(layers_above as i32);
        let mut patterns = vec![(r"^head\.".to_string(), self.lr)];
        // A head that reads the states directly leaves the pooler without a gradient, so it is no part of the model.
        if self.pooler == Part::Trainable && training.head.reads_pooler() {
            patterns.push((r"^encoder\.pooler\.".into(), self.lr));
        }
        let lowest_layer = self.layers.start;
        patterns.extend(self.layers.rev().map(|layer_idx| {
            let pattern = format!(r"^encoder\.layers\.{layer_idx}\.");
            (pattern, rate(n_layers - 1 - layer_idx))
        }));
        let mut frozen_below = lowest_layer + 1;
        if self.embeddings == Part::Trainable {
            patterns.push((r"^encoder\.embeddings\.".into(), rate(n_layers)));
            frozen_below = 0;
        }
        let adam = training.optimizer.adam();
        let weight_decay = adam.weight_decay;
        Phase {
            groups: patterns
                .into_iter()
                .map(|(pattern, lr)| Group {
                    pattern,
                    lr,
                    weight_decay,
                })
                .collect(),
            no_decay: adam.no_decay.clone(),
            schedule: training.schedule.clone(),
            epochs: training.epochs,
            stop: training.stop.clone(),
            moments: Moments::Fresh,
            frozen_below,
        }
    }
}
