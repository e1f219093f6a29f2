//! The names that result rows use, and the scores of one evaluation under them.
//!
//! The stored scores of a run are part of the results, so [`classification_scores`] never gains a row by itself: later
//! additions are in [`classification_scores_with`], for callers that request them by name, such as a dataset's card.

use super::classes::{accuracy, f1_batch_mean, f1_macro, f1_micro, f1_weighted, for_class};
use super::correlation::{
    mean_squared_error, pearson, pearson_spearman, spearman, spearman_textbook,
};
use super::matthews::matthews;
use super::tagging::SpanScores;
use super::tags::SpanEvaluation;

/// Batch size of `f1-batch-mean`, the batch Hart (2020) most likely trained with (BERT's default).
const BATCH: usize = 32;

/// Optional scores of [`classification_scores_with`], in addition to those that are always there.
pub const CLASSIFICATION_EXTRAS: [&str; 3] = ["matthews", "f1-weighted", "accuracy-f1"];

/// All scores of one evaluation under the names the result rows use.
///
/// Always `accuracy`, `f1-macro`, `f1-micro`. With a positive class also `precision-positive`,
/// `recall-positive`, `f1-positive`, `f1-batch-mean` (batches of 32) and, where there are exactly two
/// classes, `f1-negative`.
///
/// # Panics
/// If the slices differ in length, or the positive class is not below `n_classes`.
pub fn classification_scores(
    gold: &[usize],
    predicted: &[usize],
    n_classes: usize,
    positive: Option<usize>,
) -> Vec<(&'static str, f64)> {
    let mut scores = vec![
        ("accuracy", accuracy(gold, predicted)),
        ("f1-macro", f1_macro(gold, predicted, n_classes)),
        ("f1-micro", f1_micro(gold, predicted, n_classes)),
    ];
    if let Some(positive) = positive {
        assert!(
            positive < n_classes,
            "positive class {positive} of {n_classes}"
        );
        let of_positive = for_class(gold, predicted, positive);
        scores.push(("precision-positive", of_positive.precision));
        scores.push(("recall-positive", of_positive.recall));
        scores.push(("f1-positive", of_positive.f1));
        if n_classes == 2 {
            scores.push(("f1-negative", for_class(gold, predicted, 1 - positive).f1));
        }
        scores.push((
            "f1-batch-mean",
            f1_batch_mean(gold, predicted, positive, BATCH),
        ));
    }
    scores
}

/// Computes [`classification_scores`], then those of [`CLASSIFICATION_EXTRAS`] that are in `asked`.
///
/// `matthews` is the score that GLUE reports for CoLA, `accuracy-f1` the mean of accuracy and the F1 of the positive
/// class that it reports for MRPC and QQP; without a positive class it is left out. Other names in `asked` add nothing.
///
/// # Panics
/// As [`classification_scores`], or if a class is not below `n_classes`.
pub fn classification_scores_with<'a>(
    gold: &[usize],
    predicted: &[usize],
    n_classes: usize,
    positive: Option<usize>,
    asked: impl IntoIterator<Item = &'a str>,
) -> Vec<(&'static str, f64)> {
    let mut scores = classification_scores(gold, predicted, n_classes, positive);
    for asked in asked {
        let Some(&name) = CLASSIFICATION_EXTRAS.iter().find(|name| **name == asked) else {
            continue;
        };
        if scores.iter().any(|(there, _)| *there == name) {
            continue;
        }
        let value = match name {
            "matthews" => Some(matthews(gold, predicted, n_classes)),
            "f1-weighted" => Some(f1_weighted(gold, predicted, n_classes)),
            _ => positive.map(|positive| {
                (accuracy(gold, predicted) + for_class(gold, predicted, positive).f1) / 2.0
            }),
        };
        scores.extend(value.map(|value| (name, value)));
    }
    scores
}

/// All scores of a regression under the names the result rows use: `pearson`, `spearman`, `spearman-textbook`,
/// `pearson-spearman` (their mean, the first two) and `mse`.
///
/// An undefined score, such as a correlation with predictions that do not vary or are not finite, is left out.
///
/// # Panics
/// If the slices differ in length.
pub fn regression_scores(gold: &[f64], predicted: &[f64]) -> Vec<(&'static str, f64)> {
    [
        ("pearson", pearson(gold, predicted)),
        ("spearman", spearman(gold, predicted)),
        ("spearman-textbook", spearman_textbook(gold, predicted)),
        ("pearson-spearman", pearson_spearman(gold, predicted)),
        ("mse", mean_squared_error(gold, predicted)),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect()
}

/// All scores of a tagger under the names the result rows use, see [`SpanScores::rows`].
///
/// `gold` and `predicted` are sentences of tags such as `B-PER`.
///
/// # Panics
/// If sentences or their tags differ in number, or as [`SpanScores::add_names`] does.
pub fn tagging_scores<S: AsRef<str>>(
    gold: &[Vec<S>],
    predicted: &[Vec<S>],
    reading: SpanEvaluation,
) -> Vec<(String, f64)> {
    assert_eq!(
        gold.len(),
        predicted.len(),
        "gold and predicted sentences differ in number"
    );
    let mut scores = SpanScores::new(reading);
    for (gold, predicted) in gold.iter().zip(predicted) {
        scores.add_names(gold, predicted);
    }
    scores.rows()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOLD: [usize; 6] = [1, 1, 1, 0, 0, 0];

    #[test]
    fn no_examples_score_zero() {
        for (name, value) in classification_scores_with(&[], &[], 2, Some(1), CLASSIFICATION_EXTRAS)
        {
            assert_eq!(value, 0.0, "{name}");
        }
        assert_eq!(regression_scores(&[], &[]), []);
    }

    #[test]
    fn a_negative_class_is_named_only_where_there_are_two() {
        let names = |n| names(classification_scores(&GOLD, &GOLD, n, Some(1)));
        assert!(names(2).contains(&"f1-negative"));
        assert!(!names(3).contains(&"f1-negative"));
    }

    #[test]
    fn scores_beyond_the_usual_come_when_asked_for() {
        let predicted = [1, 1, 0, 1, 0, 0];
        let usual = classification_scores(&GOLD, &predicted, 2, Some(1));
        let asked = ["accuracy", "matthews", "accuracy-f1", "matthews", "span-f1"];
        let scores = classification_scores_with(&GOLD, &predicted, 2, Some(1), asked);
        assert_eq!(scores[..usual.len()], usual);
        assert_eq!(
            names(scores[usual.len()..].to_vec()),
            ["matthews", "accuracy-f1"]
        );
        let without = classification_scores_with(&GOLD, &predicted, 2, None, ["accuracy-f1"]);
        assert_eq!(names(without), ["accuracy", "f1-macro", "f1-micro"]);
    }

    #[test]
    fn a_correlation_without_an_answer_is_left_out() {
        let found = regression_scores(&[1.0, 2.0], &[3.0, 3.0]);
        assert_eq!(names(found), ["mse"]);
    }

    fn names(scores: Vec<(&'static str, f64)>) -> Vec<&'static str> {
        scores.into_iter().map(|(name, _)| name).collect()
    }
}
