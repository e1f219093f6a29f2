//! Strategies in cross-validation.

use crate::candidate::NO_TIME;
use crate::predictions::Predictions;
use crate::row::{Row, ScoredRow};
use crate::runner::Runner;
use crate::scorer::Scorer;
use crate::strategies::Entrant;
use crate::trial::Size;

/// Models of one strategy at one learning rate, one for each fold.
#[derive(Debug)]
pub(crate) struct FoldTrials {
    pub lr: f64,
    /// Predictions of all examples, for each seed.
    pub predictions: Vec<Predictions>,
    /// Seconds of training on each fold.
    pub seconds: Vec<f64>,
    pub size: Size,
    pub trained_share: f64,
}

/// A strategy on an encoder, with its trials.
#[derive(Debug)]
pub(crate) struct FoldCandidate {
    pub entrant: Entrant,
    /// One for each learning rate.
    pub trials: Vec<FoldTrials>,
    /// Index of the best learning rate in `trials`.
    pub best: usize,
    pub dropped: Option<String>,
}

impl FoldCandidate {
    pub fn new(entrant: Entrant) -> Self {
        Self {
            entrant,
            trials: Vec::new(),
            best: 0,
            dropped: None,
        }
    }

    /// The score of the first seed at the best learning rate.
    pub fn score(&self, scorer: &Scorer) -> Option<f64> {
        let best = self.trials.get(self.best)?;
        Some(scorer.score(&best.predictions[0]))
    }

    /// Chooses the learning rate with the best score, among those that did not diverge.
    pub fn choose_rate(&mut self, scorer: &Scorer) {
        let has_diverged = |trials: &FoldTrials| trials.predictions.is_empty();
        let diverged = self.trials.iter().any(has_diverged);
        self.trials.retain(|trials| !has_diverged(trials));
        let scores = self.trials.iter();
        let scores: Vec<f64> = scores
            .map(|trials| scorer.score(&trials.predictions[0]))
            .collect();
        let best = (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
        match best {
            Some(best) => self.best = best,
            None if diverged => self.dropped = Some("diverged at every learning rate".into()),
            None => self.dropped = Some(NO_TIME.into()),
        }
    }

    /// The row of a strategy; its score is not corrected for the choice of the learning rate.
    pub fn row(&self, runner: &Runner) -> ScoredRow<'_> {
        let best = self.trials.get(self.best);
        let predictions = best.map_or(&[][..], |trials| &trials.predictions);
        let predictions: Vec<&Predictions> = predictions.iter().collect();
        let row = Row::of_entrant(self.entrant, runner, self.dropped.clone());
        ScoredRow {
            row: match best {
                None => row,
                Some(best) => Row {
                    recipe: Some(runner.recipe(self.entrant, best.lr, best.size.epochs)),
                    learning_rate: Some(best.lr),
                    seeds: predictions.len(),
                    epochs: best.size.epochs,
                    examples: best.size.examples,
                    train_seconds: Some(totune_stats::quartiles(&best.seconds)[2]),
                    trained_share: Some(best.trained_share),
                    ..row
                },
            },
            on_dev: predictions.clone(),
            on_test: predictions,
        }
    }
}
