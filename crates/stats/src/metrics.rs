//! Scores of a single-label classifier: gold and predicted class numbers in, fractions out.
//!
//! The definitions are scikit-learn's (`sklearn.metrics`, with `zero_division=0`): a ratio whose denominator
//! is zero counts as 0. An average over classes runs over all `n_classes`, as with `labels=range(n_classes)`;
//! scikit-learn's own default leaves out classes that occur in neither slice.

/// Batch size of `f1-batch-mean`, the batch Hart (2020) most likely trained with (BERT's default).
const BATCH: usize = 32;

/// The share of examples whose class is predicted right; 0 for no examples.
///
/// # Panics
/// If the slices differ in length.
pub fn accuracy(gold: &[usize], predicted: &[usize]) -> f64 {
    assert_same_length(gold, predicted);
    let right = gold.iter().zip(predicted).filter(|(g, p)| g == p).count();
    ratio(right, gold.len())
}

/// Precision, recall and F1 of one class against all others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrecisionRecallF1 {
    /// TP / (TP + FP): how much of what was predicted as this class belongs to it.
    pub precision: f64,
    /// TP / (TP + FN): how much of this class was found.
    pub recall: f64,
    /// 2 TP / (2 TP + FP + FN), the harmonic mean of the two.
    pub f1: f64,
    /// TP + FN: how many examples belong to this class.
    pub support: usize,
}

/// Precision, recall and F1 of `class`.
///
/// # Panics
/// If the slices differ in length.
pub fn for_class(gold: &[usize], predicted: &[usize], class: usize) -> PrecisionRecallF1 {
    Counts::of(gold, predicted, class).scores()
}

/// The unweighted mean of the F1 of classes `0..n_classes`.
///
/// # Panics
/// If the slices differ in length.
pub fn f1_macro(gold: &[usize], predicted: &[usize], n_classes: usize) -> f64 {
    let sum: f64 = (0..n_classes)
        .map(|class| for_class(gold, predicted, class).f1)
        .sum();
    if n_classes == 0 {
        0.0
    } else {
        sum / n_classes as f64
    }
}

/// F1 of the counts summed over classes `0..n_classes`.
///
/// Where every example has one class and one prediction, each error is one FP and one FN, so this is the
/// accuracy.
///
/// # Panics
/// If the slices differ in length.
pub fn f1_micro(gold: &[usize], predicted: &[usize], n_classes: usize) -> f64 {
    let mut sum = Counts::default();
    for class in 0..n_classes {
        let counts = Counts::of(gold, predicted, class);
        sum.both += counts.both;
        sum.gold += counts.gold;
        sum.predicted += counts.predicted;
    }
    sum.scores().f1
}

/// The mean over consecutive batches of the F1 of `class`, as a metric averaged per batch reports it.
///
/// This is not the F1 of the whole: a batch with no example of the class, found or predicted, counts as 0,
/// and the last batch may be short and weighs as much as the others. 0 for no examples.
///
/// # Panics
/// If the slices differ in length or `batch` is 0.
pub fn f1_batch_mean(gold: &[usize], predicted: &[usize], class: usize, batch: usize) -> f64 {
    assert_same_length(gold, predicted);
    let scores: Vec<f64> = gold
        .chunks(batch)
        .zip(predicted.chunks(batch))
        .map(|(gold, predicted)| for_class(gold, predicted, class).f1)
        .collect();
    if scores.is_empty() {
        0.0
    } else {
        scores.iter().sum::<f64>() / scores.len() as f64
    }
}

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

/// The largest F1 of a class that makes up the share `prevalence`, at a given `accuracy`.
///
/// With p = TP + FN, a = accuracy and e = FP + FN = 1 - a, all as shares: F1 = 2 TP / (2 TP + e) grows with TP,
/// and TP is at most p (no FN), which gives 2p / (2p + 1 - a). A reported F1 above it cannot be the F1 of this
/// class.
pub fn f1_upper_bound(prevalence: f64, accuracy: f64) -> f64 {
    2.0 * prevalence / (2.0 * prevalence + 1.0 - accuracy)
}

/// How often a class is in gold, in the predictions, and in both.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    both: usize,
    gold: usize,
    predicted: usize,
}

impl Counts {
    fn of(gold: &[usize], predicted: &[usize], class: usize) -> Self {
        assert_same_length(gold, predicted);
        let mut counts = Self::default();
        for (&g, &p) in gold.iter().zip(predicted) {
            counts.both += usize::from(g == class && p == class);
            counts.gold += usize::from(g == class);
            counts.predicted += usize::from(p == class);
        }
        counts
    }

    fn scores(self) -> PrecisionRecallF1 {
        PrecisionRecallF1 {
            precision: ratio(self.both, self.predicted),
            recall: ratio(self.both, self.gold),
            f1: ratio(2 * self.both, self.gold + self.predicted),
            support: self.gold,
        }
    }
}

/// `part / whole`, and 0 where `whole` is 0 (scikit-learn's `zero_division=0`).
fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

#[track_caller]
fn assert_same_length(gold: &[usize], predicted: &[usize]) {
    assert_eq!(
        gold.len(),
        predicted.len(),
        "gold and predicted classes differ in length"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOLD: [usize; 6] = [1, 1, 1, 0, 0, 0];

    #[test]
    fn two_of_three_found_with_one_false_alarm_is_two_thirds_throughout() {
        let scores = for_class(&GOLD, &[1, 1, 0, 1, 0, 0], 1);
        let third = 1.0 / 3.0;
        assert_eq!(
            scores,
            PrecisionRecallF1 {
                precision: 2.0 * third,
                recall: 2.0 * third,
                f1: 2.0 * third,
                support: 3
            }
        );
    }

    #[test]
    fn a_class_never_predicted_scores_zero() {
        let scores = for_class(&GOLD, &[0; 6], 1);
        assert_eq!(
            scores,
            PrecisionRecallF1 {
                precision: 0.0,
                recall: 0.0,
                f1: 0.0,
                support: 3
            }
        );
    }

    #[test]
    fn no_examples_score_zero() {
        for (name, value) in classification_scores(&[], &[], 2, Some(1)) {
            assert_eq!(value, 0.0, "{name}");
        }
    }

    #[test]
    fn the_batch_mean_is_not_the_f1_of_the_whole() {
        // Batches of two: F1 is 1, then 0 (one FN, one FP), then 0 (class absent). The whole: 2·2/(3+3).
        let predicted = [1, 1, 0, 1, 0, 0];
        assert_eq!(f1_batch_mean(&GOLD, &predicted, 1, 2), 1.0 / 3.0);
        assert_eq!(for_class(&GOLD, &predicted, 1).f1, 2.0 / 3.0);
    }

    #[test]
    fn the_short_last_batch_counts_as_one_batch() {
        assert_eq!(f1_batch_mean(&[1, 1, 1], &[1, 1, 0], 1, 2), 0.5);
    }

    #[test]
    fn the_frozen_f1_in_hart_is_above_what_its_accuracy_allows() {
        // facts.md D2: prevalence .4297, accuracy .824: at most .830, reported .872.
        assert!((f1_upper_bound(0.4297, 0.824) - 0.830).abs() < 5e-4);
    }

    #[test]
    fn the_bound_is_reached_by_a_prediction_without_misses() {
        let predicted = [1, 1, 1, 1, 0, 0];
        let bound = f1_upper_bound(0.5, accuracy(&GOLD, &predicted));
        assert!((for_class(&GOLD, &predicted, 1).f1 - bound).abs() < 1e-15);
    }

    #[test]
    fn a_negative_class_is_named_only_where_there_are_two() {
        let names = |n| -> Vec<_> {
            classification_scores(&GOLD, &GOLD, n, Some(1))
                .into_iter()
                .map(|(name, _)| name)
                .collect()
        };
        assert!(names(2).contains(&"f1-negative"));
        assert!(!names(3).contains(&"f1-negative"));
    }

    #[test]
    #[should_panic(expected = "differ in length")]
    fn slices_of_different_length_are_refused() {
        accuracy(&[1], &[1, 0]);
    }
}
