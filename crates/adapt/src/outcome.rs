//! Outcome of a run: scores over time, final predictions, costs, and the reason it ended.

use totune_data::Target;
use totune_model::{Classifier, Encoder};

/// Name of the loss on test where it diverges.
pub(crate) const TEST_LOSS: &str = "test loss";

/// The result of a run.
#[derive(Debug)]
pub struct Outcome<E: Encoder> {
    /// The model of the selected epoch; after a divergence, as it was before the step that diverged, or on a GPU, which takes
    /// the step before anybody reads its numbers, after it.
    pub model: Classifier<E>,
    /// Scores in the order they were taken.
    pub scores: Vec<Score>,
    /// Predictions of the final model for dev (if there is one), test and splits without evaluation; none after a
    /// divergence or an interruption.
    pub predictions: Vec<Prediction>,
    /// Reason why training ended.
    pub stop: Stop,
    /// Number of failed attempts before this one. Their seconds are among those below, their steps, epochs and phases
    /// are not.
    pub restarts: usize,
    /// Number of parameters of the whole model.
    pub params_total: usize,
    /// Number of parameters trained in at least one phase.
    pub params_trainable: usize,
    /// Epochs finished, over all phases.
    pub epochs: usize,
    /// Optimiser steps taken, over all phases.
    pub steps: usize,
    /// Seconds in training, evaluation excluded (monotonic clock), including the time to compute cached activations of
    /// the training examples, whichever run computed them.
    pub train_seconds: f64,
    /// Seconds of `train_seconds` spent on cached activations.
    pub cache_seconds: f64,
    /// Processor seconds of all threads of the process in training, cached activations excluded; `None` where the
    /// system does not say.
    pub cpu_seconds: Option<f64>,
    /// Time of each phase that was started, in order.
    pub phases: Vec<PhaseTime>,
    /// Seconds in evaluation.
    pub eval_seconds: f64,
}

impl<E: Encoder> Outcome<E> {
    /// A run that took no step: `model` as it is, without scores or counts.
    pub fn untrained(model: Classifier<E>) -> Self {
        Self {
            model,
            scores: Vec::new(),
            predictions: Vec::new(),
            stop: Stop::Epochs,
            restarts: 0,
            params_total: 0,
            params_trainable: 0,
            epochs: 0,
            steps: 0,
            train_seconds: 0.0,
            cache_seconds: 0.0,
            cpu_seconds: None,
            phases: Vec::new(),
            eval_seconds: 0.0,
        }
    }
}

/// Time of a phase of training.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PhaseTime {
    /// Seconds it took to compute the cached activations that the phase uses and the one before did not, whichever run
    /// computed them; and to fit the linear probe that the first phase starts from.
    pub cache_seconds: f64,
    /// Time of each finished epoch, evaluation excluded.
    pub epochs: Vec<EpochTime>,
}

/// Time of the training steps of an epoch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EpochTime {
    /// Seconds on a monotonic clock.
    pub seconds: f64,
    /// Processor seconds of all threads of the process; `None` where the system does not report them.
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
    /// `train` (the mean loss of the epoch's steps, and the score that a generalisation-gap rule measured), `dev` or
    /// `test`; `cross-validation` where the score is that of other models with the same settings.
    pub split: &'static str,
    /// `loss`, `gap` (train minus dev), `restarts` (failed attempts before this one), `frozen-blocks` (embeddings and
    /// layers, of a strategy that freezes them on the way), `micro-batch-size` (examples at once, of a run that did not
    /// fit its device with more), or a name that [`totune_stats::classification_scores_with`],
    /// [`totune_stats::multi_label_scores`], [`totune_stats::ordinal_scores`], [`totune_stats::regression_scores`] or
    /// [`totune_stats::tagging_scores`] gives.
    pub metric: String,
    /// The score.
    pub value: f64,
    /// Examples scored.
    pub n: usize,
    /// Seconds of training up to this moment.
    pub train_seconds: f64,
    /// Marks a score of the selected epoch.
    pub is_final: bool,
}

/// Prediction of the final model for one example.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// `dev`, `test`, or the name of a split without evaluation.
    pub split: String,
    /// Name of the example in the dataset.
    pub example_id: String,
    /// Gold target.
    pub gold: Target,
    /// Predicted target.
    pub predicted: Target,
    /// Probability of each label, or only the score.
    pub scores: Vec<f32>,
}

/// Reason why training ended; of several phases, the last.
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    /// All epochs were run.
    Epochs,
    /// Early stopping: the score on dev no longer improved.
    EarlyStopping,
    /// Generalisation gap: the score on train was too far above the one on dev, or dev no longer improved.
    GeneralisationGap,
    /// A number that should be finite was not.
    Diverged(Divergence),
    /// Interruption by the [`Watch`](crate::Watch).
    Interrupted,
}

impl Stop {
    /// Name in result rows, which keep older words.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Epochs => "epochs",
            Self::EarlyStopping => "plateau",
            Self::GeneralisationGap => "gap",
            Self::Diverged(_) => "diverged",
            Self::Interrupted => "interrupted",
        }
    }

    /// Returns true if training was completed, so that the run has a result.
    pub fn is_an_end(&self) -> bool {
        match self {
            Self::Epochs | Self::EarlyStopping | Self::GeneralisationGap => true,
            Self::Diverged(_) | Self::Interrupted => false,
        }
    }
}

/// First number of a run that was not finite.
#[derive(Debug, Clone, PartialEq)]
pub struct Divergence {
    /// Name of the number: `loss`, `gradient norm`, `dev loss` or [`TEST_LOSS`].
    pub what: &'static str,
    /// Value of the number.
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
