//! What a run leaves behind: scores over time, final predictions, costs, and how it ended.

use totune_data::Target;
use totune_model::{Classifier, Encoder};

/// The result of a run.
#[derive(Debug)]
pub struct Outcome<E: Encoder> {
    /// The model of the selected epoch; after a divergence, as it was before the step that diverged.
    pub model: Classifier<E>,
    /// Scores in the order they were taken.
    pub scores: Vec<Score>,
    /// Predictions of the final model for dev (if there is one), test and what was to be predicted only; none after a
    /// divergence or an interruption.
    pub predictions: Vec<Prediction>,
    /// Why training ended.
    pub stop: Stop,
    /// Parameters of the whole model.
    pub params_total: usize,
    /// Parameters that could change in at least one phase.
    pub params_trainable: usize,
    /// Epochs finished, over all phases.
    pub epochs: usize,
    /// Optimiser steps taken, over all phases.
    pub steps: usize,
    /// Seconds in training, evaluation excluded (monotonic clock). What it took to compute cached activations of the
    /// training examples is part of it, whichever run computed them.
    pub train_seconds: f64,
    /// That part.
    pub cache_seconds: f64,
    /// Processor seconds of all threads of the process in training, cached activations excluded; `None` where the system
    /// does not say.
    pub cpu_seconds: Option<f64>,
    /// What each phase that was begun took, in order.
    pub phases: Vec<PhaseTime>,
    /// Seconds in evaluation.
    pub eval_seconds: f64,
}

/// What a phase of training took.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PhaseTime {
    /// Seconds it took to compute the cached activations that the phase begins with and the one before did not, whichever
    /// run computed them.
    pub cache_seconds: f64,
    /// Each finished epoch, evaluation excluded.
    pub epochs: Vec<EpochTime>,
}

/// What the training steps of an epoch took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EpochTime {
    /// On a monotonic clock.
    pub seconds: f64,
    /// Of all threads of the process; `None` where the system does not say.
    pub cpu_seconds: Option<f64>,
}

/// One score of a model at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// Phase of training, from 0.
    pub phase: usize,
    /// Epochs finished so far, over all phases.
    pub epoch: usize,
    /// Optimiser steps taken so far.
    pub step: usize,
    /// `train` (the mean loss of the epoch's steps, and what a rule of a gap measured), `dev` or `test`; `cross-validation` where
    /// the score is that of other models with the same settings.
    pub split: &'static str,
    /// `loss`, `gap` (train minus dev), or a name that [`totune_stats::classification_scores_with`],
    /// [`totune_stats::regression_scores`] or [`totune_stats::tagging_scores`] gives.
    pub metric: String,
    /// The score.
    pub value: f64,
    /// Examples scored.
    pub n: usize,
    /// Seconds of training up to this moment.
    pub train_seconds: f64,
    /// Whether it is a score of the selected epoch.
    pub is_final: bool,
}

/// What the final model predicts of one example.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// `dev`, `test`, or the name of a split that was predicted only.
    pub split: String,
    /// Name of the example in the dataset.
    pub example_id: String,
    /// What was expected.
    pub gold: Target,
    /// What the model predicted.
    pub predicted: Target,
    /// Probability of each label, or the score alone.
    pub scores: Vec<f32>,
}

/// Why training ended; of several phases, the last.
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    /// All epochs were run.
    Epochs,
    /// The score on dev no longer improved.
    EarlyStopping,
    /// The score on train came to lie too far above the one on dev, or dev no longer improved.
    GeneralisationGap,
    /// A number that should be finite was not.
    Diverged(Divergence),
    /// Whoever watched it ended it.
    Interrupted,
}

impl Stop {
    /// As it is written in rows, whose words are older.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Epochs => "epochs",
            Self::EarlyStopping => "plateau",
            Self::GeneralisationGap => "gap",
            Self::Diverged(_) => "diverged",
            Self::Interrupted => "interrupted",
        }
    }

    /// Whether training came to its end, so that the run has a result.
    pub fn is_an_end(&self) -> bool {
        match self {
            Self::Epochs | Self::EarlyStopping | Self::GeneralisationGap => true,
            Self::Diverged(_) | Self::Interrupted => false,
        }
    }
}

/// Where training left the finite numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Divergence {
    /// What was not finite: `loss`, `gradient norm`, `dev loss` or `test loss`.
    pub what: &'static str,
    /// What it was instead.
    pub value: f64,
    /// Phase of training, from 0.
    pub phase: usize,
    /// Epochs finished before, over all phases.
    pub epoch: usize,
    /// Optimiser steps taken before, over all phases.
    pub step: usize,
}

impl std::fmt::Display for Divergence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "the {} was {} after {} steps (epoch {}, phase {})",
            self.what,
            self.value,
            self.step,
            self.epoch + 1,
            self.phase
        )
    }
}
