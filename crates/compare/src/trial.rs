//! One training: its settings and its result.

use std::time::Instant;

use anyhow::Result;
use totune_adapt::{Outcome, Training};
use totune_data::Dataset;
use totune_model::AnyEncoder;

use crate::model::Model;
use crate::predictions::Predictions;
use crate::strategies::Entrant;

/// Name of the test split where a run predicts it only once, with the final model.
pub(crate) const FINAL: &str = "final-test";

/// A training of one strategy on one encoder at one learning rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trial<'a> {
    pub entrant: Entrant,
    pub lr: f64,
    pub seed: u64,
    pub size: Size,
    /// Name of the data, whose splits are `train`, `test` and perhaps `dev`.
    pub data: &'a str,
    /// Settings in place of the recipe that follows from the strategy, the learning rate and the epochs.
    pub training: Option<&'a Training>,
    /// True if the final model predicts test.
    pub predicts_test: bool,
    /// True if the final model may be the one that is kept.
    pub keeps_model: bool,
    /// The latest time to end.
    pub until: Instant,
}

/// The amount of training of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    /// Training examples, at most.
    pub examples: usize,
    /// Passes over them.
    pub epochs: usize,
}

impl Size {
    /// Examples over all epochs.
    pub fn seen(self) -> usize {
        self.examples * self.epochs
    }

    /// Returns whether it is all of `n` examples, for so many epochs or more.
    pub fn is_whole(self, n: usize, epochs: usize) -> bool {
        self.examples >= n && self.epochs >= epochs
    }
}

/// The result of a trial.
#[derive(Debug)]
pub(crate) struct TrialResult {
    /// Dev score of the selected epoch.
    pub dev: Option<f64>,
    pub on_dev: Option<Predictions>,
    pub on_test: Option<Predictions>,
    /// Seconds of training and dev score, after each epoch.
    pub learning: Vec<(f64, f64)>,
    pub size: Size,
    pub train_seconds: f64,
    pub cache_seconds: f64,
    pub eval_seconds: f64,
    /// Seconds of the steps of the last epoch.
    pub epoch_seconds: f64,
    /// Wall time of the whole trial.
    pub seconds: f64,
    /// Dev examples that were predicted after each epoch.
    pub n_dev: usize,
    pub params_trained: usize,
    pub params_total: usize,
    pub diverged: bool,
    /// The model, where it may be the one that is kept.
    pub model: Option<Box<Model>>,
}

impl TrialResult {
    /// The result of a run that ended by itself. `dev` and `test` are the examples that were predicted; `n_train` and
    /// `n_dev` count those that were used.
    ///
    /// # Errors
    /// When an example has no prediction.
    pub fn of(
        outcome: &Outcome<AnyEncoder>,
        metric: &str,
        [dev, test]: [Option<&Dataset>; 2],
        [n_train, n_dev]: [usize; 2],
        began: Instant,
    ) -> Result<Self> {
        let diverged = !outcome.stop.is_an_end();
        let scores = outcome.scores.iter();
        let scores = scores.filter(|score| score.split == "dev" && score.metric == metric);
        let learning = scores
            .clone()
            .map(|score| (score.train_seconds, score.value));
        let selected = scores.clone().find(|score| score.is_final);
        let predictions = |dataset: Option<&Dataset>, split: &str| {
            dataset
                .filter(|_| !diverged)
                .map(|dataset| Predictions::of(dataset, split, &outcome.predictions))
                .transpose()
        };
        let last = outcome.phases.last().and_then(|phase| phase.epochs.last());
        Ok(Self {
            dev: selected.map(|score| score.value),
            on_dev: predictions(dev, "dev")?,
            on_test: predictions(test, FINAL)?,
            learning: learning.collect(),
            size: Size {
                examples: n_train,
                epochs: outcome.epochs,
            },
            train_seconds: outcome.train_seconds,
            cache_seconds: outcome.cache_seconds,
            eval_seconds: outcome.eval_seconds,
            epoch_seconds: last.map_or(0.0, |epoch| epoch.seconds),
            seconds: began.elapsed().as_secs_f64(),
            n_dev,
            params_trained: outcome.params_trainable,
            params_total: outcome.params_total,
            diverged,
            model: None,
        })
    }

    /// Share of the parameters that are trained.
    pub fn trained_share(&self) -> f64 {
        self.params_trained as f64 / self.params_total.max(1) as f64
    }
}
