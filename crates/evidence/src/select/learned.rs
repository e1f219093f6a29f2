//! Whether a run learned: its answers on test next to guessing.
//!
//! A run that did not learn says nothing about the strategy it was trained with (Mosbach et al. 2021 call a run
//! failed whose accuracy is at most that of the majority class).

use std::collections::HashMap;

use totune_record::PredictionRow;

use crate::plan::TEST;

/// How far above guessing a score has to be to show that a run learned: one point.
const MARGIN: f64 = 0.01;

/// Fewer examples than this tell nothing.
const FEWEST: usize = 10;

/// The answers of a run on test, next to the expected ones.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answers {
    /// Whether every example got the same one.
    constant: bool,
    /// The share of right ones.
    accuracy: f64,
    /// The share of right ones if every example got the most frequent expected one.
    majority: f64,
}

impl Answers {
    /// Those of every run that kept ten or more, by run id.
    pub(crate) fn by_run(predictions: &[PredictionRow]) -> HashMap<&str, Self> {
        let mut rows: HashMap<&str, Vec<&PredictionRow>> = HashMap::new();
        for row in predictions.iter().filter(|row| row.split == TEST) {
            rows.entry(&row.run_id).or_default().push(row);
        }
        rows.into_iter()
            .filter(|(_, rows)| rows.len() >= FEWEST)
            .map(|(run, rows)| (run, Self::of(&rows)))
            .collect()
    }

    /// Those in `rows`, at least one.
    fn of(rows: &[&PredictionRow]) -> Self {
        let mut expected: HashMap<&str, usize> = HashMap::new();
        for row in rows {
            *expected.entry(&row.gold).or_default() += 1;
        }
        let share = |n: usize| n as f64 / rows.len() as f64;
        let right = rows.iter().filter(|row| row.gold == row.predicted).count();
        Self {
            constant: rows.iter().all(|row| row.predicted == rows[0].predicted),
            accuracy: share(right),
            majority: share(expected.into_values().max().unwrap_or_default()),
        }
    }

    /// The accuracy of giving every example the most frequent expected answer.
    pub(crate) fn majority(&self) -> f64 {
        self.majority
    }

    /// Whether they, with `score` by `metric`, show that the run learned; `None` for a metric without a score of guessing.
    ///
    /// Any accuracy or F1 over classes is judged by the accuracy: an F1 of the more frequent class is high for guesses.
    pub(crate) fn learned(&self, metric: &str, score: f64) -> Option<bool> {
        let above = match metric {
            metric if is_zero_for_guesses(metric) => score > MARGIN,
            metric if metric.contains("accuracy") || metric.starts_with("f1-") => {
                self.accuracy > self.majority + MARGIN
            }
            _ => return None,
        };
        Some(above && !self.constant)
    }
}

/// Whether guessing scores 0 by `metric`.
pub(crate) fn is_zero_for_guesses(metric: &str) -> bool {
    let correlations = ["matthews", "pearson", "spearman", "pearson-spearman"];
    correlations.contains(&metric) || metric.starts_with("span-")
}

/// What is to be said of runs, given whether each learned; nothing if all did.
pub(crate) fn caveat(learned: impl Iterator<Item = bool>) -> Option<String> {
    let learned: Vec<bool> = learned.collect();
    let unlearned = learned.iter().filter(|learned| !**learned).count();
    (unlearned > 0).then(|| {
        format!(
            "{unlearned} of the {} runs here did not learn: they give every test example the same answer, or are at most one \
             point above guessing (the accuracy of the most frequent class; 0 for correlations, Matthews' coefficient and spans)",
            learned.len()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(pairs: &[(&str, &str)]) -> Answers {
        let rows: Vec<PredictionRow> = (pairs.iter().cycle().take(12).enumerate())
            .map(|(i, (gold, predicted))| PredictionRow {
                run_id: "run".into(),
                split: TEST.into(),
                example_id: i.to_string(),
                position: 0,
                gold: (*gold).into(),
                predicted: (*predicted).into(),
                scores: vec![],
            })
            .collect();
        Answers::by_run(&rows).remove("run").expect("a run")
    }

    #[test]
    fn the_majority_class_is_no_learning_however_high_its_f1() {
        let majority = answers(&[("a", "a"), ("a", "a"), ("b", "a")]);
        assert_eq!(majority.learned("accuracy", 2.0 / 3.0), Some(false));
        assert_eq!(majority.learned("f1-positive", 0.8), Some(false));
        let all_right = answers(&[("a", "a"), ("a", "a"), ("b", "b")]);
        assert_eq!(all_right.learned("accuracy", 1.0), Some(true));
        assert_eq!(all_right.learned("f1-positive", 1.0), Some(true));
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
    fn a_constant_or_a_correlation_of_nothing_is_no_learning() {
        let constant = answers(&[("0.1", "0.5"), ("0.9", "0.5")]);
        assert_eq!(constant.learned("pearson", 0.3), Some(false));
        let varied = answers(&[("0.1", "0.2"), ("0.9", "0.7")]);
        assert_eq!(varied.learned("pearson", 0.9), Some(true));
        assert_eq!(varied.learned("pearson", 0.01), Some(false));
        assert_eq!(varied.learned("brier", 0.2), None);
    }
}
