//! Scores of predictions, with confidence intervals.

use std::cell::Cell;

use anyhow::{Result, bail, ensure};
use serde::Serialize;
use totune_adapt::{Found, Objective};
use totune_data::{Dataset, Target, more_is_better};
use totune_stats::{Interval, paired_bootstrap_of};

use crate::predictions::Predictions;

/// Bootstrap samples; of sentences, whose spans take longer to count, fewer.
const ROUNDS: usize = 1000;
const ROUNDS_OF_TAGS: usize = 200;
/// Bootstrap samples in which all models are scored.
const CHOOSING_ROUNDS: usize = 500;

/// Scores predictions by the main metric of a dataset.
#[derive(Debug, Clone)]
pub(crate) struct Scorer {
    /// The metric, by the name of the result rows.
    pub metric: String,
    objective: Objective,
}

impl Scorer {
    /// A scorer for a dataset.
    ///
    /// # Errors
    /// When it has no metric of which more is better.
    pub fn of(dataset: &Dataset) -> Result<Self> {
        let mut metrics = dataset.metrics.iter();
        let metric = metrics.find(|metric| more_is_better(metric));
        let Some(metric) = metric else {
            bail!(
                "{}: metrics: found {:?}, expected one to rank by, such as \"pearson\"",
                dataset.name,
                dataset.metrics
            );
        };
        Ok(Self {
            metric: metric.clone(),
            objective: Objective::of(dataset),
        })
    }

    /// The score of predictions; 0 where it is not defined, such as a correlation of equal numbers.
    pub fn score(&self, predictions: &Predictions) -> f64 {
        self.of_sample(predictions, &(0..predictions.len()).collect::<Vec<_>>())
    }

    /// The score of a sample of them, in which an example may occur more than once.
    pub fn of_sample(&self, predictions: &Predictions, sample: &[usize]) -> f64 {
        if matches!(predictions.gold.first(), None | Some(Target::Unknown)) {
            return 0.0;
        }
        let name = self.metric.as_str();
        let gold: Vec<&Target> = sample.iter().map(|&at| &predictions.gold[at]).collect();
        let predicted = sample.iter().map(|&at| predictions.predicted[at].clone());
        // Only where the metric ranks labels or examples, which takes long.
        let ranks = ["map", "lrap"].contains(&name) || name.starts_with("ap:");
        let ranked = sample.iter().filter(|_| ranks);
        let scores = ranked.filter_map(|&at| predictions.of_labels.get(at).cloned());
        let found = Found {
            predicted: &predicted.collect::<Vec<_>>(),
            scores: &scores.collect::<Vec<_>>(),
        };
        let asked = std::slice::from_ref(&self.metric);
        let all = self.objective.metrics(&gold, found, asked);
        let found = all.into_iter().find(|(found, _)| found == name);
        let value = found.map(|(_, value)| value);
        value.filter(|value| value.is_finite()).unwrap_or(0.0)
    }

    /// The mean score of several models on the same examples. Its interval is a two-level bootstrap, which resamples
    /// examples and models at once: examples for the uncertainty of the test set, models for that of the seed.
    ///
    /// # Errors
    /// When there are no models, or their predictions are of different examples.
    pub fn mean(&self, models: &[&Predictions]) -> Result<Estimate> {
        self.difference(models, &[])
    }

    /// The score of the best of several models, corrected for the choice on the examples that it is scored on: in each round
    /// the best model on a bootstrap sample is scored on the examples outside of it (Tsamardinos et al. 2018, algorithm 2).
    /// The interval is that of these scores.
    ///
    /// # Errors
    /// When there are no models, or their predictions are of different examples.
    pub fn of_chosen(&self, models: &[&Predictions]) -> Result<Estimate> {
        let n = models.first().map_or(0, |predictions| predictions.len());
        ensure!(
            n > 1,
            "found {n} predictions to choose by, expected at least 2"
        );
        ensure!(
            models.iter().all(|model| model.gold == models[0].gold),
            "found predictions of different examples, expected the same"
        );
        let sum = Cell::new((0usize, 0.0));
        let statistic = |sample: &[usize]| {
            let mut sampled = vec![false; n];
            sample.iter().for_each(|&at| sampled[at] = true);
            let others: Vec<usize> = (0..n).filter(|&at| !sampled[at]).collect();
            if others.is_empty() {
                return 0.0; // the examples themselves, which come first and do not count
            }
            let scores: Vec<f64> = models
                .iter()
                .map(|model| self.of_sample(model, sample))
                .collect();
            let first = |best: usize, at: usize| if scores[at] > scores[best] { at } else { best };
            let best = (0..models.len()).fold(0, first);
            let score = self.of_sample(models[best], &others);
            let (rounds, total) = sum.get();
            sum.set((rounds + 1, total + score));
            score
        };
        let bootstrap = paired_bootstrap_of(n, statistic, CHOOSING_ROUNDS, 0.95, 1);
        let interval = bootstrap.expect("some examples").interval;
        let (rounds, total) = sum.get();
        let Interval { low, high } = interval;
        let value = total / rounds.max(1) as f64;
        Ok(Estimate { value, low, high }.with_unseen(n, true))
    }

    /// The difference of the mean scores of two groups of models, as a paired bootstrap: the same examples for both, models
    /// of each.
    ///
    /// # Errors
    /// The same as those of [`Scorer::mean`].
    pub fn difference(&self, models: &[&Predictions], others: &[&Predictions]) -> Result<Estimate> {
        let n = models.first().map_or(0, |predictions| predictions.len());
        ensure!(n > 0, "found no predictions to compare, expected some");
        let same = |predictions: &&Predictions| predictions.gold == models[0].gold;
        ensure!(
            models.iter().chain(others).all(same),
            "found predictions of different examples, expected the same"
        );
        let rounds = match models[0].gold[0] {
            Target::Tags(_) => ROUNDS_OF_TAGS,
            _ => ROUNDS,
        };
        let mean = |models: &[&Predictions], sample: &[usize], sampled: &dyn Fn(usize) -> usize| {
            let scores = (0..models.len()).map(|i| self.of_sample(models[sampled(i)], sample));
            scores.sum::<f64>() / models.len().max(1) as f64
        };
        let whole: Vec<usize> = (0..n).collect();
        let itself = |i: usize| i;
        let value = mean(models, &whole, &itself) - mean(others, &whole, &itself);
        let statistic = |sample: &[usize]| {
            // Models are resampled by the first of the numbers that resample the examples: one stream decides both.
            let of = |n: usize| move |i: usize| sample[i % sample.len()] % n.max(1);
            mean(models, sample, &of(models.len())) - mean(others, sample, &of(others.len()))
        };
        let bootstrap = paired_bootstrap_of(n, statistic, rounds, 0.95, 1);
        let interval = bootstrap.expect("some examples").interval;
        let Interval { low, high } = interval;
        Ok(Estimate { value, low, high }.with_unseen(n, others.is_empty()))
    }
}

/// Examples that may be otherwise although none of n was, for 95 % (the "rule of three"); a bootstrap cannot see them.
/// Without it two models that answer ten examples alike would be shown to be equal.
const UNSEEN: f64 = 3.0;

/// A score or a difference of scores, with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// Value on the examples themselves.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Estimate {
    /// The same with room for what `n` examples did not show, where an interval has no width: around a difference of two
    /// models that answered all alike, and below a score of 1.
    fn with_unseen(self, n: usize, is_score: bool) -> Self {
        let room = UNSEEN / n as f64;
        let Self { value, low, high } = self;
        // The sums of equal scores may differ in their last digit.
        if high - low > 1e-9 {
            self
        } else if !is_score {
            Self {
                value,
                low: low - room,
                high: high + room,
            }
        } else if value >= 1.0 {
            Self {
                low: low - room,
                ..self
            }
        } else {
            self
        }
    }

    /// The same with another value, so much higher.
    pub(crate) fn shifted(self, by: f64) -> Self {
        let Self { value, low, high } = self;
        Self {
            value: value + by,
            low: low + by,
            high: high + by,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{self, dataset};

    /// Predictions of which every `wrong`-th is wrong.
    fn predictions(n: usize, wrong: usize) -> Predictions {
        test_support::predictions(n, |at| at.is_multiple_of(wrong))
    }

    fn scorer() -> Scorer {
        Scorer::of(&dataset(4)).unwrap()
    }

    #[test]
    fn the_interval_of_a_share_is_about_the_binomial_one() {
        let found = scorer().mean(&[&predictions(1000, 5)]).unwrap();
        assert_eq!(found.value, 0.8);
        // 1.96 times the root of 0.8 * 0.2 / 1000.
        for (end, expected) in [(found.low, 0.8 - 0.0248), (found.high, 0.8 + 0.0248)] {
            assert!((end - expected).abs() < 0.006, "{found:?}");
        }
    }

    #[test]
    fn models_that_differ_make_the_interval_wider() {
        let (good, bad) = (predictions(1000, 10), predictions(1000, 3));
        let alike = scorer().mean(&[&good, &good]).unwrap();
        let apart = scorer().mean(&[&good, &bad]).unwrap();
        assert!(
            (apart.value - (0.9 + 0.666) / 2.0).abs() < 1e-9,
            "{apart:?}"
        );
        assert!(apart.high - apart.low > 2.0 * (alike.high - alike.low));
    }

    #[test]
    fn a_difference_on_the_same_examples_is_paired() {
        let (good, bad) = (predictions(1000, 10), predictions(1000, 5));
        let found = scorer().difference(&[&good], &[&bad]).unwrap();
        assert!((found.value - 0.1).abs() < 1e-9);
        assert!(found.low > 0.07 && found.high < 0.13, "{found:?}");
        let none = scorer().difference(&[&good], &[&good]).unwrap();
        // In up to three of a thousand examples they may differ, although they did in none.
        assert_eq!((none.low, none.high), (-0.003, 0.003));
        let perfect = test_support::predictions(10, |_| false);
        let found = scorer().mean(&[&perfect]).unwrap();
        assert_eq!((found.value, found.low, found.high), (1.0, 0.7, 1.0));
    }

    #[test]
    fn predictions_of_other_examples_are_refused() {
        let error = scorer()
            .difference(&[&predictions(10, 5)], &[&predictions(12, 5)])
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "found predictions of different examples, expected the same"
        );
    }
}
