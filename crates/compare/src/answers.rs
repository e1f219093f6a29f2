//! What a model said about examples, and the score of any selection of them.

use std::cell::Cell;
use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use totune_adapt::Prediction;
use totune_data::{Dataset, Target};
use totune_record::PredictionRow;
use totune_stats::{
    Reading, classification_scores_with, paired_bootstrap_of, regression_scores, tagging_scores,
};

/// Redrawn samples of a bootstrap; of sentences, whose spans take longer to count, fewer.
const ROUNDS: usize = 1000;
const ROUNDS_OF_TAGS: usize = 200;
/// Of one in which all models are scored anew.
const CHOOSING_ROUNDS: usize = 500;

/// How answers become a score.
#[derive(Debug, Clone)]
pub struct Scorer {
    /// The metric, by the name of the result rows.
    pub metric: String,
    labels: Vec<String>,
    positive: Option<usize>,
}

/// Answers to the examples of a part, in its order, with what was right.
#[derive(Debug, Clone, PartialEq)]
pub struct Answers {
    /// What was right.
    pub gold: Vec<Target>,
    /// What was said.
    pub said: Vec<Target>,
    /// Of labels, the probability of the one that was said; empty where it is not known.
    pub sure: Vec<f32>,
}

impl Answers {
    /// Those of a part, from the rows of a floor; `None` where it has no rows of it.
    ///
    /// # Errors
    /// When a row has an answer that the dataset does not know.
    pub fn of_rows(dataset: &Dataset, split: &str, rows: &[PredictionRow]) -> Result<Option<Self>> {
        let mut of_example: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.split == split) {
            of_example
                .entry(&row.example_id)
                .or_default()
                .push(&row.predicted);
        }
        let label = |name: &str| -> Result<usize> {
            let place = dataset.labels.iter().position(|label| label == name);
            place.with_context(|| format!("found the answer `{name}`, expected a label"))
        };
        let mut said = Vec::with_capacity(dataset.examples.len());
        for example in &dataset.examples {
            let Some(found) = of_example.get(example.id.as_str()) else {
                return Ok(None);
            };
            said.push(match &example.target {
                Target::Class(_) => Target::Class(label(found[0])?),
                Target::Value(_) => Target::Value(found[0].parse()?),
                Target::Tags(_) => {
                    Target::Tags(found.iter().map(|tag| label(tag)).collect::<Result<_>>()?)
                }
                Target::Unknown => Target::Unknown,
            });
        }
        let gold = dataset.examples.iter().map(|one| one.target.clone());
        let gold = gold.collect();
        Ok(Some(Self {
            gold,
            said,
            sure: Vec::new(),
        }))
    }

    /// Those of a part, from what a run predicted under its name; a sentence in several pieces is put together again.
    ///
    /// # Errors
    /// When an example has no prediction.
    pub fn of(dataset: &Dataset, split: &str, found: &[Prediction]) -> Result<Self> {
        let mut said: Vec<Target> = Vec::with_capacity(dataset.examples.len());
        let mut sure = Vec::new();
        let mut found = found.iter().filter(|one| one.split == split).peekable();
        for example in &dataset.examples {
            let Some(first) = found.next_if(|one| one.example_id == example.id) else {
                bail!("example `{}` of {split} has no prediction", example.id);
            };
            let mut whole = first.predicted.clone();
            if let (Target::Tags(tags), Target::Tags(gold)) = (&mut whole, &example.target) {
                while tags.len() < gold.len()
                    && let Some(next) = found.next_if(|one| one.example_id == example.id)
                    && let Target::Tags(more) = &next.predicted
                {
                    tags.extend(more);
                }
            }
            if let Target::Class(class) = whole {
                sure.extend(first.scores.get(class));
            }
            said.push(whole);
        }
        Ok(Self {
            sure,
            gold: dataset
                .examples
                .iter()
                .map(|example| example.target.clone())
                .collect(),
            said,
        })
    }

    /// How many examples.
    pub fn len(&self) -> usize {
        self.gold.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.gold.is_empty()
    }
}

impl Scorer {
    /// For the main metric of a dataset.
    ///
    /// # Errors
    /// When that is one where less is better, or the dataset has none.
    pub fn of(dataset: &Dataset) -> Result<Self> {
        let metric = dataset.metrics.iter().find(|metric| *metric != "mse");
        let Some(metric) = metric else {
            bail!(
                "{}: metrics: found {:?}, expected one to rank by, such as \"pearson\"",
                dataset.name,
                dataset.metrics
            );
        };
        Ok(Self {
            metric: metric.clone(),
            labels: dataset.labels.clone(),
            positive: dataset.positive,
        })
    }

    /// The score of answers; 0 where there is none, such as a correlation of equal numbers.
    pub fn score(&self, answers: &Answers) -> f64 {
        self.of_sample(answers, &(0..answers.len()).collect::<Vec<_>>())
    }

    /// The score of some of them, each as often as it is named.
    pub fn of_sample(&self, answers: &Answers, sample: &[usize]) -> f64 {
        let gold = || sample.iter().map(|&at| &answers.gold[at]);
        let said = || sample.iter().map(|&at| &answers.said[at]);
        let find = |name: &str| name == self.metric;
        let found = match answers.gold.first() {
            Some(Target::Class(_)) => {
                let gold: Vec<usize> = gold().filter_map(Target::class).collect();
                let said: Vec<usize> = said().filter_map(Target::class).collect();
                let n = self.labels.len();
                let asked = [self.metric.as_str()];
                let all = classification_scores_with(&gold, &said, n, self.positive, asked);
                all.into_iter()
                    .find(|(name, _)| find(name))
                    .map(|(_, value)| value)
            }
            Some(Target::Value(_)) => {
                let gold: Vec<f64> = gold().map(value).collect();
                let said: Vec<f64> = said().map(value).collect();
                let all = regression_scores(&gold, &said);
                all.into_iter()
                    .find(|(name, _)| find(name))
                    .map(|(_, value)| value)
            }
            Some(Target::Tags(_)) => {
                let named = |target: &Target| -> Vec<&str> {
                    let tags = target.tags().unwrap_or_default().iter();
                    tags.map(|&tag| self.labels[tag].as_str()).collect()
                };
                let gold: Vec<Vec<&str>> = gold().map(named).collect();
                let said: Vec<Vec<&str>> = said().map(named).collect();
                let all = tagging_scores(&gold, &said, Reading::Conlleval);
                all.into_iter()
                    .find(|(name, _)| find(name))
                    .map(|(_, value)| value)
            }
            Some(Target::Unknown) | None => None,
        };
        found.filter(|value| value.is_finite()).unwrap_or(0.0)
    }

    /// The mean score of several models on the same examples, with its interval over redrawn examples and models: each
    /// round draws examples and models anew (a bootstrap of two levels, of which neither alone would do: examples say how
    /// sure the test set is, models how much the seed matters).
    ///
    /// # Errors
    /// When there are no models, or they answered different examples.
    pub fn mean(&self, models: &[&Answers]) -> Result<Estimate> {
        self.difference(models, &[])
    }

    /// The score of whichever of several models is best, corrected for choosing it on the examples that it is scored on: in
    /// each round the best one on redrawn examples is scored on those that were not drawn (Tsamardinos et al. 2018,
    /// algorithm 2). The interval is that of these scores.
    ///
    /// # Errors
    /// When there are no models, or they answered different examples.
    pub fn of_chosen(&self, models: &[&Answers]) -> Result<Estimate> {
        let n = models.first().map_or(0, |answers| answers.len());
        ensure!(n > 1, "found {n} answers to choose by, expected at least 2");
        ensure!(
            models.iter().all(|model| model.gold == models[0].gold),
            "found answers to different examples, expected the same"
        );
        let sum = Cell::new((0usize, 0.0));
        let statistic = |sample: &[usize]| {
            let mut drawn = vec![false; n];
            sample.iter().for_each(|&at| drawn[at] = true);
            let others: Vec<usize> = (0..n).filter(|&at| !drawn[at]).collect();
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
        let drawn = paired_bootstrap_of(n, statistic, CHOOSING_ROUNDS, 0.95, 1);
        let interval = drawn.expect("some examples").interval;
        let (rounds, total) = sum.get();
        Ok(Estimate {
            value: total / rounds.max(1) as f64,
            low: interval.low,
            high: interval.high,
        })
    }

    /// The difference of the mean scores of two sides, redrawn together: the same examples on both, models on each.
    ///
    /// # Errors
    /// As [`Scorer::mean`].
    pub fn difference(&self, side: &[&Answers], other: &[&Answers]) -> Result<Estimate> {
        let n = side.first().map_or(0, |answers| answers.len());
        ensure!(n > 0, "found no answers to compare, expected some");
        let same = |answers: &&Answers| answers.gold == side[0].gold;
        ensure!(
            side.iter().chain(other).all(same),
            "found answers to different examples, expected the same"
        );
        let rounds = match side[0].gold[0] {
            Target::Tags(_) => ROUNDS_OF_TAGS,
            _ => ROUNDS,
        };
        let mean = |models: &[&Answers], sample: &[usize], drawn: &dyn Fn(usize) -> usize| {
            let scores = (0..models.len()).map(|i| self.of_sample(models[drawn(i)], sample));
            scores.sum::<f64>() / models.len().max(1) as f64
        };
        let whole: Vec<usize> = (0..n).collect();
        let itself = |i: usize| i;
        let value = mean(side, &whole, &itself) - mean(other, &whole, &itself);
        let statistic = |sample: &[usize]| {
            // Models are drawn by the first of the numbers that drew the examples: one stream decides both.
            let of = |n: usize| move |i: usize| sample[i % sample.len()] % n.max(1);
            mean(side, sample, &of(side.len())) - mean(other, sample, &of(other.len()))
        };
        let drawn = paired_bootstrap_of(n, statistic, rounds, 0.95, 1).expect("some examples");
        Ok(Estimate {
            value,
            low: drawn.interval.low,
            high: drawn.interval.high,
        })
    }
}

/// A score or a difference of scores, with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Estimate {
    /// On the examples themselves.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

fn value(target: &Target) -> f64 {
    match target {
        Target::Value(value) => *value,
        Target::Class(_) | Target::Tags(_) | Target::Unknown => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::dataset;

    /// Answers of which every `wrong`-th is not right.
    fn answers(n: usize, wrong: usize) -> Answers {
        let dataset = dataset(n);
        let gold: Vec<Target> = dataset.examples.into_iter().map(|one| one.target).collect();
        let flipped = |(at, target): (usize, &Target)| match target {
            Target::Class(class) if at.is_multiple_of(wrong) => Target::Class(1 - class),
            other => other.clone(),
        };
        Answers {
            said: gold.iter().enumerate().map(flipped).collect(),
            gold,
            sure: Vec::new(),
        }
    }

    fn scorer() -> Scorer {
        Scorer::of(&dataset(4)).unwrap()
    }

    #[test]
    fn the_interval_of_a_share_is_about_the_binomial_one() {
        let found = scorer().mean(&[&answers(1000, 5)]).unwrap();
        assert_eq!(found.value, 0.8);
        // 1.96 times the root of 0.8 * 0.2 / 1000.
        for (end, expected) in [(found.low, 0.8 - 0.0248), (found.high, 0.8 + 0.0248)] {
            assert!((end - expected).abs() < 0.006, "{found:?}");
        }
    }

    #[test]
    fn models_that_differ_make_the_interval_wider() {
        let (good, bad) = (answers(1000, 10), answers(1000, 3));
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
        let (good, bad) = (answers(1000, 10), answers(1000, 5));
        let found = scorer().difference(&[&good], &[&bad]).unwrap();
        assert!((found.value - 0.1).abs() < 1e-9);
        assert!(found.low > 0.07 && found.high < 0.13, "{found:?}");
        let none = scorer().difference(&[&good], &[&good]).unwrap();
        assert_eq!((none.low, none.high), (0.0, 0.0));
    }

    #[test]
    fn answers_to_other_examples_are_refused() {
        let error = scorer()
            .difference(&[&answers(10, 5)], &[&answers(12, 5)])
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "found answers to different examples, expected the same"
        );
    }
}
