//! The rows of a comparison: a floor or a strategy, with its scores and its cost.

use serde::Serialize;
use totune_adapt::{Recipe, enough_epochs};
use totune_stats::number::counted;

use super::relation::relation;
use crate::floors::FloorResult;
use crate::predictions::Predictions;
use crate::race::candidate::Candidate;
use crate::runner::Runner;
use crate::scorer::{Estimate, Scorer};
use crate::strategies::{Entrant, epochs};
use crate::trial::TrialResult;

/// A floor or a strategy.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Row {
    /// Its name in results; that of a strategy is the one on the command line.
    pub name: String,
    /// Its description as a method, as the end of "the best was to …".
    pub title: String,
    /// Its name as the subject of a sentence.
    pub noun: String,
    /// True for a strategy, which trains the encoder or a head on it; false for a floor.
    pub is_strategy: bool,
    /// The name of the encoder; none of a floor that reads words.
    pub encoder: Option<String>,
    /// The recipe that trains such a model; none of a floor, and of a strategy that had no time.
    #[serde(skip)]
    pub recipe: Option<Recipe>,
    /// Mean dev score.
    pub dev: Option<f64>,
    /// Mean test score.
    pub test: Option<Estimate>,
    /// Its test score minus that of the choice, on the same examples.
    pub difference: Option<Estimate>,
    /// Peak learning rate.
    pub learning_rate: Option<f64>,
    /// Models that the scores are a mean of.
    pub seeds: usize,
    /// Passes over the training examples.
    pub epochs: usize,
    /// The most epochs that the strategy is trained for.
    #[serde(skip)]
    pub(crate) most_epochs: usize,
    /// Training examples.
    pub examples: usize,
    /// Median seconds of training one model.
    pub train_seconds: Option<f64>,
    /// Share of the parameters that are trained.
    pub trained_share: Option<f64>,
    /// True if its test score is shown to be higher than that of the most frequent answer.
    #[serde(skip)]
    pub beats_majority: bool,
    /// True for a strategy that learned nothing in the time it had: it scores like the most frequent answer.
    pub unlearned: bool,
    /// True where the score is that of the first fold alone.
    pub is_partial: bool,
    /// True where the difference is from the choice after a training as short as that of this strategy, which left the race
    /// before the last stage, or the other way round.
    pub is_after_same_time: bool,
    /// The reason why it has no scores, or fewer models than others.
    pub note: Option<String>,
    /// Seconds of training and dev score after each epoch, of the trial with the median score.
    pub learning: Vec<(f64, f64)>,
}

impl Row {
    /// The name of its strategy or floor, without what tells it from others of the same.
    pub(crate) fn strategy(&self) -> &str {
        self.name.split(' ').next().unwrap_or_default()
    }

    /// The score that the choice is based on: that on dev, or with folds, where there is no other split, that on test.
    pub(crate) fn deciding(&self) -> Option<f64> {
        self.dev.or(self.test.map(|test| test.value))
    }

    /// Its difference from the choice in words, where it has one.
    pub(crate) fn relation(&self, margin: f64) -> Option<String> {
        let words = relation(self.difference?, margin);
        let words = match (self.is_partial, self.is_after_same_time) {
            (true, _) => format!("{words} on the first fold"),
            (_, true) => format!("{words} after the same time"),
            (false, false) => words,
        };
        let enough = enough_epochs(self.examples).min(self.most_epochs);
        let is_short = (1..enough).contains(&self.epochs);
        Some(if self.is_strategy && is_short {
            let epochs = counted(self.epochs, "epoch");
            format!("{words} after {epochs}, too few to judge it by")
        } else {
            words
        })
    }

    /// Seconds of training for an example in an epoch; none of what is trained without epochs or in no time.
    pub(crate) fn seconds_per_example(&self) -> Option<f64> {
        let seen = (self.examples * self.epochs) as f64;
        self.train_seconds
            .filter(|seconds| *seconds > 0.0 && seen > 0.0)
            .map(|seconds| seconds / seen)
    }

    /// Whether it is full fine-tuning of the encoder of `other`.
    pub(crate) fn is_full_on_encoder_of(&self, other: &Self) -> bool {
        self.strategy() == "full" && self.encoder == other.encoder
    }

    /// An entrant without scores.
    pub(crate) fn of_entrant(entrant: Entrant, runner: &Runner, note: Option<String>) -> Self {
        let strategy = entrant.strategy;
        let suffix = runner.suffix(entrant);
        let encoder = runner.encoder(entrant);
        Self {
            name: runner.name(entrant),
            title: format!("{}{suffix}", strategy.advice()),
            noun: format!("{}{suffix}", strategy.noun()),
            is_strategy: true,
            encoder: Some(encoder.card.name.clone()),
            most_epochs: *epochs(strategy, encoder.n_layers()).end(),
            note,
            ..Self::default()
        }
    }
}

/// A row with the predictions that its scores are of.
#[derive(Default)]
pub(crate) struct ScoredRow<'a> {
    pub row: Row,
    pub on_dev: Vec<&'a Predictions>,
    pub on_test: Vec<&'a Predictions>,
    /// Indices of the test examples that the predictions are of, where they are not all.
    pub part: Option<&'a [usize]>,
    /// True where the predictions are of the last stage of a race.
    pub is_of_last: bool,
    /// Test predictions after a shorter training in the stage before it.
    pub before: Option<&'a Predictions>,
}

impl<'a> ScoredRow<'a> {
    /// The test predictions; those after the shorter training where they are wanted and there are some.
    pub fn on_test_or_before(&self, before: bool) -> Vec<&'a Predictions> {
        match self.before.filter(|_| before) {
            Some(before) => vec![before],
            None => self.on_test.clone(),
        }
    }

    pub fn without_scores(row: Row) -> Self {
        Self {
            row,
            ..Self::default()
        }
    }

    /// Rows of entrants whose cost could not even be measured.
    pub fn without_time(entrants: &[Entrant], runner: &Runner) -> impl Iterator<Item = Self> {
        let row =
            |entrant: &Entrant| Row::of_entrant(*entrant, runner, Some(runner.no_time().into()));
        entrants
            .iter()
            .map(move |entrant| Self::without_scores(row(entrant)))
    }

    pub fn of_floor(floor: &'a FloorResult, scorer: &Scorer) -> Self {
        let on_dev: Vec<&Predictions> = floor.on_dev.iter().collect();
        let dev = on_dev.first().map(|predictions| scorer.score(predictions));
        Self {
            row: Row {
                name: floor.name.clone(),
                title: floor.title.clone(),
                noun: floor.noun.clone(),
                encoder: floor.encoder.clone(),
                dev,
                seeds: 1,
                examples: floor.examples,
                train_seconds: Some(floor.seconds),
                ..Row::default()
            },
            on_dev,
            on_test: floor.on_test.iter().collect(),
            ..Self::default()
        }
    }

    pub fn of_candidate(candidate: &'a Candidate, runner: &Runner) -> Self {
        let trials = candidate.best_trials();
        let row = Row::of_entrant(candidate.entrant, runner, candidate.dropped.clone());
        Self {
            row: match trials.first() {
                None => row,
                Some(first) => Row {
                    recipe: Some(runner.recipe(candidate.entrant, candidate.lr, first.size.epochs)),
                    dev: candidate.dev(),
                    learning_rate: Some(candidate.lr),
                    seeds: trials.len(),
                    epochs: first.size.epochs,
                    examples: first.size.examples,
                    train_seconds: Some(median_seconds(&trials)),
                    trained_share: Some(first.trained_share()),
                    learning: median(&trials).learning.clone(),
                    ..row
                },
            },
            on_dev: trials
                .iter()
                .filter_map(|one| one.on_dev.as_ref())
                .collect(),
            on_test: trials
                .iter()
                .filter_map(|one| one.on_test.as_ref())
                .collect(),
            part: None,
            is_of_last: candidate.is_of_last(),
            before: candidate.before_last().and_then(|one| one.on_test.as_ref()),
        }
    }
}

fn median_seconds(trials: &[&TrialResult]) -> f64 {
    let seconds: Vec<f64> = trials.iter().map(|trial| trial.train_seconds).collect();
    totune_stats::quartiles(&seconds)[2]
}

/// The trial with the median dev score, of one or more.
fn median<'a>(trials: &[&'a TrialResult]) -> &'a TrialResult {
    let mut trials = trials.to_vec();
    trials.sort_by(|a, b| a.dev.unwrap_or(0.0).total_cmp(&b.dev.unwrap_or(0.0)));
    trials[(trials.len() - 1) / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_training_that_saw_too_little_is_no_judgement() {
        let row = |epochs| Row {
            name: "full".into(),
            is_strategy: true,
            examples: 160,
            most_epochs: 30,
            epochs,
            difference: Some(Estimate {
                value: -0.3,
                low: -0.4,
                high: -0.2,
            }),
            ..Row::default()
        };
        // 2,000 examples are 13 epochs.
        assert_eq!(row(13).relation(0.01).unwrap(), "loses 0.300");
        assert_eq!(
            row(5).relation(0.01).unwrap(),
            "loses 0.300 after 5 epochs, too few to judge it by"
        );
        let all_there_are = Row {
            most_epochs: 5,
            ..row(5)
        };
        assert_eq!(all_there_are.relation(0.01).unwrap(), "loses 0.300");
        let words = Row {
            is_strategy: false,
            ..row(5)
        };
        assert_eq!(words.relation(0.01).unwrap(), "loses 0.300");
    }
}
