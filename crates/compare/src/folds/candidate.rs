//! Strategies in cross-validation.

use crate::predictions::Predictions;
use crate::result::row::{Row, ScoredRow};
use crate::runner::Runner;
use crate::scorer::Scorer;
use crate::strategies::Entrant;
use crate::trial::{Size, TrialResult};

/// Models of one strategy at one learning rate, one for each fold so far.
#[derive(Debug)]
pub(crate) struct FoldTrials {
    pub lr: f64,
    pub seed: u64,
    /// The size of each training.
    pub size: Size,
    /// Predictions of the test examples of each fold so far.
    pub of_folds: Vec<Predictions>,
    /// Predictions of all examples, for each seed that went through all folds.
    pub of_all: Vec<Predictions>,
    /// Seconds of training on each fold.
    pub seconds: Vec<f64>,
    pub trained_share: f64,
    /// True if training diverged on a fold: there are no predictions of all examples then.
    pub diverged: bool,
}

impl FoldTrials {
    /// Trials of this size that are still to be trained.
    pub fn new((lr, seed): (f64, u64), size: Size) -> Self {
        Self {
            lr,
            seed,
            size,
            of_folds: Vec::new(),
            of_all: Vec::new(),
            seconds: Vec::new(),
            trained_share: 0.0,
            diverged: false,
        }
    }

    /// Adds the result of the next fold.
    pub fn add(&mut self, result: TrialResult) {
        self.seconds.push(result.seconds);
        self.trained_share = result.trained_share();
        self.size = result.size;
        self.diverged |= result.diverged;
        self.of_folds.extend(result.on_test);
    }
}

/// A strategy on an encoder, with its trials.
#[derive(Debug)]
pub(crate) struct FoldCandidate {
    pub entrant: Entrant,
    /// One for each learning rate.
    pub trials: Vec<FoldTrials>,
    /// Index of the best learning rate in `trials`.
    pub best: usize,
}

impl FoldCandidate {
    pub fn new(entrant: Entrant) -> Self {
        Self {
            entrant,
            trials: Vec::new(),
            best: 0,
        }
    }

    /// The best learning rate, where it went through all folds.
    pub fn whole(&self) -> Option<&FoldTrials> {
        let best = self.trials.get(self.best);
        best.filter(|trials| !trials.of_all.is_empty())
    }

    /// The score of the first seed at the best learning rate, on all examples.
    pub fn score(&self, scorer: &Scorer) -> Option<f64> {
        Some(scorer.score(&self.whole()?.of_all[0]))
    }

    /// Chooses the learning rate with the best score on all examples; where none went through all folds, that with the
    /// best one on the first fold.
    pub fn choose_rate(&mut self, scorer: &Scorer) {
        let score = |at: usize| {
            let trials = &self.trials[at];
            let of_all = trials.of_all.first();
            let scored = of_all.or_else(|| trials.of_folds.first().filter(|_| !trials.diverged));
            let score = scored.map(|predictions| scorer.score(predictions));
            (of_all.is_some(), score.unwrap_or(f64::NEG_INFINITY))
        };
        let best = (0..self.trials.len()).max_by(|&a, &b| {
            let ((a_whole, a), (b_whole, b)) = (score(a), score(b));
            a_whole.cmp(&b_whole).then(a.total_cmp(&b))
        });
        self.best = best.unwrap_or(0);
    }

    /// The row of a strategy; its score is not corrected for the choice of the learning rate. That of one that was
    /// trained on the first fold alone is the score there, on the examples of `first_fold`.
    pub fn row<'a>(&'a self, runner: &Runner, first_fold: &'a [usize]) -> ScoredRow<'a> {
        let row =
            |note: Option<&str>| Row::of_entrant(self.entrant, runner, note.map(str::to_string));
        let Some(best) = self.trials.get(self.best) else {
            return ScoredRow::without_scores(row(Some(runner.no_time())));
        };
        if self.trials.iter().all(|trials| trials.diverged) {
            return ScoredRow::without_scores(row(Some("diverged at every learning rate")));
        }
        let is_whole = self.whole().is_some();
        let predictions: Vec<&Predictions> = if is_whole {
            best.of_all.iter().collect()
        } else {
            best.of_folds.first().into_iter().collect()
        };
        let note = (!is_whole).then_some("scored on the first fold alone");
        ScoredRow {
            row: Row {
                recipe: Some(runner.recipe(self.entrant, best.lr, best.size.epochs)),
                learning_rate: Some(best.lr),
                seeds: predictions.len(),
                epochs: best.size.epochs,
                examples: best.size.examples,
                train_seconds: Some(totune_stats::quartiles(&best.seconds)[2]),
                trained_share: Some(best.trained_share),
                is_partial: !is_whole,
                ..row(note)
            },
            on_dev: predictions.clone(),
            on_test: predictions,
            part: (!is_whole).then_some(first_fold),
            ..ScoredRow::default()
        }
    }
}
