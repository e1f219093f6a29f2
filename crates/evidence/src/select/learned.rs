//! Checks whether a run learned, by its predictions on test compared with guessing.
//!
//! A run that did not learn says nothing about the strategy it was trained with (Mosbach et al. 2021 call a run
//! failed whose accuracy is at most that of the majority class).

use std::collections::HashMap;

use totune_record::PredictionRow;

/// Smallest distance above guessing that shows that a run learned: one point.
const MARGIN: f64 = 0.01;

/// One of twenty guesses has a correlation with the truth of more than this by the root of the number of examples.
const CHANCE: f64 = 1.645;

/// Fewest examples that show anything.
const FEWEST: usize = 10;

/// Summary of a run's predictions on test, compared with the gold labels.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TestPredictions {
    /// Whether every example got the same prediction.
    constant: bool,
    /// The share of correct predictions.
    accuracy: f64,
    /// The accuracy of predicting the most frequent gold label for every example.
    majority: f64,
}

impl TestPredictions {
    /// Summary of a run's `rows`; `None` of fewer than ten.
    pub(crate) fn of(rows: &[PredictionRow]) -> Option<Self> {
        if rows.len() < FEWEST {
            return None;
        }
        let mut expected: HashMap<&str, usize> = HashMap::new();
        for row in rows {
            *expected.entry(&row.gold).or_default() += 1;
        }
        let share = |n: usize| n as f64 / rows.len() as f64;
        let right = rows.iter().filter(|row| row.gold == row.predicted).count();
        Some(Self {
            constant: rows.iter().all(|row| row.predicted == rows[0].predicted),
            accuracy: share(right),
            majority: share(expected.into_values().max().unwrap_or_default()),
        })
    }

    /// The accuracy of predicting the most frequent gold label.
    pub(crate) fn majority(&self) -> f64 {
        self.majority
    }

    /// Whether the run learned, given that its score by `metric` shows `by_score`; `None` for a metric that cannot show
    /// it.
    ///
    /// Any accuracy or F1 over classes is judged by the accuracy: an F1 of the more frequent class is high for guesses.
    pub(crate) fn learned(&self, metric: &str, by_score: Option<bool>) -> Option<bool> {
        let by_accuracy = self.accuracy > self.majority + MARGIN;
        let above = by_score.or(is_of_classes(metric).then_some(by_accuracy))?;
        Some(above && !self.constant)
    }
}

/// Whether guessing scores 0 by `metric`.
pub(crate) fn is_zero_for_guesses(metric: &str) -> bool {
    is_correlation(metric) || metric.starts_with("span-")
}

/// Whether a metric correlates predictions with gold values; a quadratic kappa is a correlation that also counts a
/// difference of means and variances.
fn is_correlation(metric: &str) -> bool {
    let of_zero = [
        "matthews",
        "quadratic-kappa",
        "pearson",
        "spearman",
        "pearson-spearman",
    ];
    of_zero.contains(&metric)
}

/// Whether a metric counts correct classes, or correct sets of labels.
pub(crate) fn is_of_classes(metric: &str) -> bool {
    metric.contains("accuracy") || metric.starts_with("f1-") || metric == "exact-match"
}

/// Whether a score by `metric` on `n` examples shows by itself that a run learned; `None` for a metric whose score
/// cannot.
pub(crate) fn by_score(metric: &str, score: f64, n: Option<u64>) -> Option<bool> {
    let n = n.filter(|_| is_correlation(metric));
    let chance = n.map_or(0.0, |n| CHANCE / (n as f64).sqrt());
    is_zero_for_guesses(metric).then_some(score > chance.max(MARGIN))
}

/// Caveat about runs, given whether each learned; `None` if all did.
pub(crate) fn caveat(learned: impl Iterator<Item = bool>) -> Option<String> {
    let learned: Vec<bool> = learned.collect();
    let unlearned = learned.iter().filter(|learned| !**learned).count();
    (unlearned > 0).then(|| {
        format!(
            "{unlearned} of the {} runs here did not learn: they give every test example the same answer, are at most one point \
             above guessing (the accuracy of the most frequent class; 0 for spans), or have a correlation or Matthews' coefficient \
             that one of twenty guesses reaches",
            learned.len()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(pairs: &[(&str, &str)]) -> TestPredictions {
        let rows: Vec<PredictionRow> = (pairs.iter().cycle().take(12).enumerate())
            .map(|(i, (gold, predicted))| PredictionRow {
                run_id: "run".into(),
                split: "test".into(),
                example_id: i.to_string(),
                position: 0,
                gold: (*gold).into(),
                predicted: (*predicted).into(),
                scores: vec![],
            })
            .collect();
        TestPredictions::of(&rows).expect("enough rows")
    }

    #[test]
    fn the_majority_class_is_no_learning_however_high_its_f1() {
        let majority = answers(&[("a", "a"), ("a", "a"), ("b", "a")]);
        let all_right = answers(&[("a", "a"), ("a", "a"), ("b", "b")]);
        for metric in ["accuracy", "f1-positive"] {
            assert_eq!(majority.learned(metric, None), Some(false));
            assert_eq!(all_right.learned(metric, None), Some(true));
        }
    }

    #[test]
    fn a_correlation_has_to_be_above_what_guesses_reach() {
        // 1.645 / sqrt(400) = 0.082.
        for (metric, score, n, expected) in [
            ("matthews", 0.06, Some(400), Some(false)),
            ("matthews", 0.09, Some(400), Some(true)),
            ("pearson", 0.06, Some(1000), Some(true)),
            ("pearson", 0.012, Some(1_000_000), Some(true)),
            ("spearman", 0.009, Some(1_000_000), Some(false)),
            ("pearson", 0.06, None, Some(true)),
            ("span-f1", 0.0, Some(50), Some(false)),
            ("span-f1", 0.02, Some(50), Some(true)),
            ("accuracy", 0.9, Some(50), None),
        ] {
            assert_eq!(by_score(metric, score, n), expected, "{metric} {score}");
        }
    }

    #[test]
    fn a_caveat_counts_those_that_did_not_learn() {
        assert_eq!(caveat([true, true].into_iter()), None);
        let told = caveat([true, false, true].into_iter()).unwrap();
        assert!(
            told.starts_with("1 of the 3 runs here did not learn: "),
            "{told}"
        );
    }

    #[test]
    fn a_constant_is_no_learning_whatever_its_score() {
        let constant = answers(&[("0.1", "0.5"), ("0.9", "0.5")]);
        let varied = answers(&[("0.1", "0.2"), ("0.9", "0.7")]);
        for (answers, by_score, expected) in [
            (&constant, Some(true), Some(false)),
            (&varied, Some(true), Some(true)),
            (&varied, Some(false), Some(false)),
            (&varied, None, None),
        ] {
            assert_eq!(answers.learned("pearson", by_score), expected);
        }
    }
}
