//! Restarts of runs that have not learned anything (Mosbach et al. 2021).

use std::collections::HashMap;
use std::hash::Hash;

use rand::Rng;
use totune_data::{Target, stream};
use totune_model::Encoder;

use crate::objective::Objective;
use crate::outcome::{Outcome, Prediction, Score};
use crate::state::{Exact, FailedAttempts};

impl FailedAttempts {
    /// The seed of the next attempt: that of the run for the first one.
    pub fn next_seed(&self, seed: u64) -> u64 {
        match self.attempts {
            0 => seed,
            n => stream(seed, "restart", n as u64).next_u64(),
        }
    }

    pub fn add<E: Encoder>(&mut self, outcome: &Outcome<E>) {
        self.attempts += 1;
        self.train_seconds.0 += outcome.train_seconds;
        self.cache_seconds.0 += outcome.cache_seconds;
        self.eval_seconds.0 += outcome.eval_seconds;
        self.cpu_seconds = self.with_cpu(outcome.cpu_seconds).map(Exact);
    }

    /// Adds number and costs of the failed attempts to the outcome that counts, of a run with `n_train` training
    /// examples.
    pub fn add_to<E: Encoder>(&self, outcome: &mut Outcome<E>, n_train: usize) {
        outcome.restarts = self.attempts;
        outcome.train_seconds += self.train_seconds.0;
        outcome.cache_seconds += self.cache_seconds.0;
        outcome.eval_seconds += self.eval_seconds.0;
        outcome.cpu_seconds = self.with_cpu(outcome.cpu_seconds);
        for score in &mut outcome.scores {
            score.train_seconds += self.train_seconds.0;
        }
        if let Some(last) = outcome.scores.iter().rfind(|score| score.is_final) {
            let restarts = Score {
                split: "train",
                metric: "restarts".to_string(),
                value: self.attempts as f64,
                n: n_train,
                ..last.clone()
            };
            outcome.scores.push(restarts);
        }
    }

    /// Processor seconds of these attempts and another one.
    fn with_cpu(&self, other: Option<f64>) -> Option<f64> {
        let own = self.cpu_seconds.map(|Exact(seconds)| seconds);
        own.into_iter().chain(other).reduce(|a, b| a + b)
    }
}

/// Returns true if the predictions for dev are better than the best constant one: more labels or tags are right than
/// with the most frequent one, more label decisions are right than with the more frequent decision for each label, or
/// the squared error is less than the variance. Without predictions for dev, as after a training that did not come to its
/// end, nothing says that it has not.
pub fn has_learned(predictions: &[Prediction], objective: &Objective) -> bool {
    let is_dev = |prediction: &&Prediction| prediction.split == "dev";
    let dev: Vec<&Prediction> = predictions.iter().filter(is_dev).collect();
    if dev.is_empty() {
        return true;
    }
    match objective {
        Objective::Class { .. } | Objective::Ordinal { .. } => {
            let pairs = dev.iter().map(|p| (p.gold.class(), p.predicted.class()));
            beats_the_majority(pairs)
        }
        Objective::Labels { labels } => {
            let applies = |target: &Target, label| {
                let labels = target.labels().unwrap_or_default();
                labels.contains(&label)
            };
            let (mut right, mut constant) = (0, 0);
            for label in 0..labels.len() {
                let pairs = dev
                    .iter()
                    .map(|p| (applies(&p.gold, label), applies(&p.predicted, label)));
                let n = pairs.clone().filter(|(gold, _)| *gold).count();
                constant += n.max(dev.len() - n);
                right += pairs.filter(|(gold, found)| gold == found).count();
            }
            right > constant || constant == dev.len() * labels.len()
        }
        Objective::Tags { .. } => {
            let words = |p: &&Prediction| -> Vec<(usize, usize)> {
                let tags = |target: &Target| target.tags().unwrap_or_default().to_vec();
                tags(&p.gold).into_iter().zip(tags(&p.predicted)).collect()
            };
            beats_the_majority(dev.iter().flat_map(words))
        }
        Objective::Score {} => {
            let values = dev
                .iter()
                .map(|p| Some((p.gold.value()?, p.predicted.value()?)));
            let values: Vec<(f64, f64)> = values.flatten().collect();
            let mean = values.iter().map(|(gold, _)| gold).sum::<f64>() / values.len() as f64;
            let squares = |by: &dyn Fn(&(f64, f64)) -> f64| -> f64 {
                values.iter().map(|pair| by(pair).powi(2)).sum()
            };
            squares(&|(gold, found)| gold - found) < squares(&|(gold, _)| gold - mean)
        }
    }
}

/// Returns true if more pairs of gold and predicted value are equal than the most frequent gold value would be, or all
/// gold values are the same one.
fn beats_the_majority<T: Eq + Hash>(pairs: impl Iterator<Item = (T, T)>) -> bool {
    let (mut counts, mut n_right, mut n) = (HashMap::new(), 0, 0);
    for (gold, predicted) in pairs {
        n_right += usize::from(gold == predicted);
        n += 1;
        *counts.entry(gold).or_insert(0) += 1;
    }
    let majority = counts.into_values().max().unwrap_or(0);
    n_right > majority || majority == n
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dev(pairs: &[(Target, Target)]) -> Vec<Prediction> {
        let prediction = |(gold, predicted): &(Target, Target)| Prediction {
            split: "dev".to_string(),
            example_id: String::new(),
            gold: gold.clone(),
            predicted: predicted.clone(),
            scores: Vec::new(),
        };
        pairs.iter().map(prediction).collect()
    }

    #[test]
    fn learning_is_to_be_better_than_the_best_constant_prediction() {
        let labels = vec!["a".to_string(), "b".to_string()];
        let class = Objective::Class {
            labels: labels.clone(),
            positive: None,
        };
        let classes = |pairs: &[[usize; 2]]| {
            let pairs = pairs.iter();
            let pairs = pairs.map(|[gold, found]| (Target::Class(*gold), Target::Class(*found)));
            has_learned(&dev(&pairs.collect::<Vec<_>>()), &class)
        };
        assert!(!classes(&[[0, 0], [0, 0], [1, 0]]));
        assert!(!classes(&[[0, 0], [0, 1], [1, 1]])); // as many are right
        assert!(classes(&[[0, 0], [0, 0], [1, 1]]));
        assert!(classes(&[[0, 0], [0, 0]])); // there is nothing to learn
        assert!(classes(&[]));

        let values = |pairs: &[[f64; 2]]| {
            let pairs = pairs.iter();
            let pairs = pairs.map(|[gold, found]| (Target::Value(*gold), Target::Value(*found)));
            has_learned(&dev(&pairs.collect::<Vec<_>>()), &Objective::Score {})
        };
        assert!(!values(&[[1.0, 2.0], [3.0, 2.0]]));
        assert!(values(&[[1.0, 1.9], [3.0, 2.1]]));

        let tags = |gold: &[usize], found: &[usize]| {
            let pair = (Target::Tags(gold.to_vec()), Target::Tags(found.to_vec()));
            let objective = Objective::Tags {
                labels: labels.clone(),
            };
            has_learned(&dev(&[pair]), &objective)
        };
        assert!(!tags(&[0, 0, 1], &[0, 0, 0]));
        assert!(tags(&[0, 0, 1], &[0, 0, 1]));
    }
}
