//! Evidence that a run has learned something.

use std::collections::HashMap;
use std::hash::Hash;
use std::iter::Sum;

use totune_data::Target;

use crate::objective::Objective;
use crate::outcome::Prediction;

/// Standard errors above chance that show agreement: chance alone gets there in one of 44 runs.
const STANDARD_ERRORS: f64 = 2.0;

/// Returns true if the predictions for dev are better than the best constant one: more labels or tags are right than
/// with the most frequent one, more label decisions are right than with the more frequent decision for each label, or
/// the squared error is less than the variance. Labels, decisions and tags that agree with gold beyond chance count as
/// learned, too: a loss that weights rare labels costs frequent ones, which are most of what is right. Without
/// predictions for dev, as after a training that did not come to its end, nothing says that it has not.
pub fn has_learned(predictions: &[Prediction], objective: &Objective) -> bool {
    let is_dev = |prediction: &&Prediction| prediction.split == "dev";
    let dev: Vec<&Prediction> = predictions.iter().filter(is_dev).collect();
    if dev.is_empty() {
        return true;
    }
    match objective {
        Objective::Class { .. } | Objective::Ordinal { .. } => {
            let pairs = dev.iter().map(|p| (p.gold.class(), p.predicted.class()));
            Agreement::of(pairs).is_learned()
        }
        Objective::Labels { labels } => {
            let applies = |target: &Target, label| {
                let labels = target.labels().unwrap_or_default();
                labels.contains(&label)
            };
            let decisions = (0..labels.len()).map(|label| {
                let pairs = dev.iter();
                Agreement::of(
                    pairs.map(|p| (applies(&p.gold, label), applies(&p.predicted, label))),
                )
            });
            decisions.sum::<Agreement>().is_learned()
        }
        Objective::Tags { .. } => {
            let words = |p: &&Prediction| -> Vec<(usize, usize)> {
                let tags = |target: &Target| target.tags().unwrap_or_default().to_vec();
                tags(&p.gold).into_iter().zip(tags(&p.predicted)).collect()
            };
            Agreement::of(dev.iter().flat_map(words)).is_learned()
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

/// Agreement of gold and predicted values, of one question or of several together.
#[derive(Debug, Default)]
struct Agreement {
    n: usize,
    /// Pairs of equal values.
    right: usize,
    /// Number that would be right with the most frequent gold value.
    majority: usize,
    /// `n (pₒ - pₑ)`: how many more are right than of predictions that are independent of gold and as frequent, the
    /// numerator of Cohen's kappa.
    excess: f64,
    /// Variance of `excess` if they are independent (Fleiss, Cohen and Everitt 1969):
    /// `n (pₑ + pₑ² - Σ gₖ pₖ (gₖ + pₖ))` of the shares `gₖ` and `pₖ` of value `k` in gold and predictions.
    variance: f64,
}

impl Agreement {
    /// Agreement of these pairs of a gold and a predicted value.
    fn of<T: Eq + Hash>(pairs: impl Iterator<Item = (T, T)>) -> Self {
        let mut counts: HashMap<T, [i128; 2]> = HashMap::new();
        let (mut n, mut right) = (0, 0);
        for (gold, predicted) in pairs {
            n += 1;
            right += usize::from(gold == predicted);
            counts.entry(gold).or_default()[0] += 1;
            counts.entry(predicted).or_default()[1] += 1;
        }
        let majority = counts.values().map(|[gold, _]| *gold).max().unwrap_or(0);
        let sum = |of: &dyn Fn(i128, i128) -> i128| -> i128 {
            counts.values().map(|[gold, found]| of(*gold, *found)).sum()
        };
        // Whole numbers, so that a constant prediction has exactly no excess and no variance.
        let (whole, by_chance) = (n as i128, sum(&|gold, found| gold * found));
        let excess = whole * right as i128 - by_chance;
        let variance = by_chance * whole * whole + by_chance * by_chance
            - whole * sum(&|gold, found| gold * found * (gold + found));
        let of_n = n.max(1) as f64;
        Self {
            n,
            right,
            majority: majority as usize,
            excess: excess as f64 / of_n,
            variance: variance as f64 / of_n.powi(3),
        }
    }

    /// Returns true if more is right than with the best constant prediction, or significantly more than by chance, or
    /// all gold values are the same one.
    fn is_learned(&self) -> bool {
        self.right > self.majority
            || self.majority == self.n
            || self.excess > STANDARD_ERRORS * self.variance.sqrt()
    }
}

impl Sum for Agreement {
    /// Adds up agreements on independent questions.
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |a, b| Self {
            n: a.n + b.n,
            right: a.right + b.right,
            majority: a.majority + b.majority,
            excess: a.excess + b.excess,
            variance: a.variance + b.variance,
        })
    }
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

    /// Pairs of gold and predicted values, from how often predicted value `p` goes with gold value `g`: `table[g][p]`.
    fn pairs<const N: usize>(table: [[usize; N]; N]) -> Vec<(usize, usize)> {
        let rows = table.into_iter().enumerate();
        let cells = rows.flat_map(|(g, row)| row.into_iter().enumerate().map(move |c| (g, c)));
        let times = cells.flat_map(|(g, (p, n))| std::iter::repeat_n((g, p), n));
        times.collect()
    }

    /// Counts of a model that is as useful as with `class-weights = "balanced"`: 68 of 100 are right, of the majority 90.
    const WEIGHTED: [[usize; 2]; 2] = [[60, 30], [2, 8]];
    /// Nearly independent of gold.
    const GUESSED: [[usize; 2]; 2] = [[67, 23], [6, 4]];
    const CONSTANTS: [[[usize; 2]; 2]; 2] = [[[90, 0], [10, 0]], [[0, 90], [0, 10]]];
    const ORDERED: [[usize; 3]; 3] = [[48, 30, 12], [2, 4, 2], [0, 0, 2]];

    /// Against `z_value` of statsmodels 0.15.0, `cohens_kappa(table)`.
    #[test]
    fn standard_errors_of_agreement_are_those_of_kappa() {
        let z = |pairs: Vec<(usize, usize)>| {
            let agreement = Agreement::of(pairs.into_iter());
            agreement.excess / agreement.variance.sqrt()
        };
        for (found, expected) in [
            (z(pairs(WEIGHTED)), 2.8842997520061506),
            (z(pairs(GUESSED)), 0.9760651021325873),
            (z(pairs(ORDERED)), 2.2659113957499186),
        ] {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }

    #[test]
    fn labels_that_agree_beyond_chance_are_learned_though_the_majority_is_right_more_often() {
        let names = |n: usize| (0..n).map(|i| i.to_string()).collect();
        let learned = |pairs: Vec<(usize, usize)>, objective: &Objective| {
            let targets = pairs.into_iter();
            let targets = targets.map(|(g, p)| (Target::Class(g), Target::Class(p)));
            has_learned(&dev(&targets.collect::<Vec<_>>()), objective)
        };
        let class = Objective::Class {
            labels: names(2),
            positive: None,
        };
        assert!(learned(pairs(WEIGHTED), &class));
        assert!(!learned(pairs(GUESSED), &class));
        for constant in CONSTANTS {
            assert!(!learned(pairs(constant), &class));
        }
        let ordinal = Objective::Ordinal { labels: names(3) };
        assert!(learned(pairs(ORDERED), &ordinal));
        assert!(!learned(
            pairs([[0, 0, 70], [0, 0, 20], [0, 0, 10]]),
            &ordinal
        ));
    }

    #[test]
    fn decisions_on_several_labels_are_judged_together() {
        let learned = |tables: &[[[usize; 2]; 2]]| {
            let decisions: Vec<_> = tables.iter().map(|table| pairs(*table)).collect();
            let of = |row: usize, gold: bool| {
                let applies = |decisions: &[(usize, usize)]| {
                    let (g, p) = decisions[row];
                    (if gold { g } else { p }) == 1
                };
                let labels = (0..tables.len()).filter(|label| applies(&decisions[*label]));
                Target::Labels(labels.collect())
            };
            let rows = (0..100).map(|row| (of(row, true), of(row, false)));
            let labels = (0..tables.len()).map(|i| i.to_string()).collect();
            has_learned(
                &dev(&rows.collect::<Vec<_>>()),
                &Objective::Labels { labels },
            )
        };
        assert!(learned(&[WEIGHTED, CONSTANTS[0]]));
        assert!(!learned(&CONSTANTS));
        // 0.976 standard errors each: √4 times as many for four labels, √5 times for five.
        assert!(!learned(&[GUESSED; 4]));
        assert!(learned(&[GUESSED; 5]));
    }

    #[test]
    fn tags_of_all_words_are_judged_together() {
        let learned = |table: [[usize; 2]; 2]| {
            let words = pairs(table);
            let sentences = words.chunks(7).map(|words| {
                let (gold, predicted) = words.iter().copied().unzip();
                (Target::Tags(gold), Target::Tags(predicted))
            });
            let labels = vec!["O".to_string(), "B-PER".to_string()];
            has_learned(
                &dev(&sentences.collect::<Vec<_>>()),
                &Objective::Tags { labels },
            )
        };
        assert!(learned(WEIGHTED));
        assert!(!learned(GUESSED));
        for constant in CONSTANTS {
            assert!(!learned(constant));
        }
    }
}
