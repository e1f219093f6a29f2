//! Scores of a single-label classifier: gold and predicted class numbers in, fractions out.
//!
//! The definitions are scikit-learn's (`sklearn.metrics`, with `zero_division=0`): a ratio whose denominator
//! is zero counts as 0. An average over classes runs over all `n_classes`, as with `labels=range(n_classes)`;
//! scikit-learn's own default leaves out classes that occur in neither slice.

use super::counts::{Counts, PrecisionRecallF1, assert_same_length, ratio};

/// The share of examples whose class is predicted right; 0 for no examples.
///
/// # Panics
/// If the slices differ in length.
pub fn accuracy(gold: &[usize], predicted: &[usize]) -> f64 {
    assert_same_length(gold, predicted);
    let right = gold.iter().zip(predicted).filter(|(g, p)| g == p).count();
    ratio(right, gold.len())
}

/// Precision, recall and F1 of `class`.
///
/// # Panics
/// If the slices differ in length.
pub fn for_class(gold: &[usize], predicted: &[usize], class: usize) -> PrecisionRecallF1 {
    Counts::of(gold, predicted, class).scores()
}

/// Average of scores over classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Average {
    /// The unweighted mean over the classes.
    Macro,
    /// The scores of the counts summed over the classes. Where every example has one class and one prediction, each
    /// error is one FP and one FN, so that all three are the accuracy.
    Micro,
    /// The mean over the classes, each as often as it is in gold.
    Weighted,
}

/// Precision, recall and F1 averaged over classes `0..n_classes`; all 0 for no classes or no examples.
///
/// # Panics
/// If the slices differ in length.
pub fn averaged(
    gold: &[usize],
    predicted: &[usize],
    n_classes: usize,
    average: Average,
) -> PrecisionRecallF1 {
    let counts = (0..n_classes).map(|class| Counts::of(gold, predicted, class));
    let total = counts.clone().fold(Counts::default(), Counts::plus);
    let weight = |of: Counts| match average {
        Average::Weighted => of.gold as f64,
        Average::Macro | Average::Micro => 1.0,
    };
    let whole = match average {
        Average::Micro => return total.scores(),
        Average::Weighted => total.gold as f64,
        Average::Macro => n_classes as f64,
    };
    let mean = |score: fn(PrecisionRecallF1) -> f64| {
        let sum: f64 = counts
            .clone()
            .map(|of| weight(of) * score(of.scores()))
            .sum();
        if whole == 0.0 { 0.0 } else { sum / whole }
    };
    PrecisionRecallF1 {
        precision: mean(|scores| scores.precision),
        recall: mean(|scores| scores.recall),
        f1: mean(|scores| scores.f1),
        support: total.gold,
    }
}

/// The unweighted mean of the F1 of classes `0..n_classes`.
///
/// # Panics
/// If the slices differ in length.
pub fn f1_macro(gold: &[usize], predicted: &[usize], n_classes: usize) -> f64 {
    averaged(gold, predicted, n_classes, Average::Macro).f1
}

/// F1 of the counts summed over classes `0..n_classes`, see [`Average::Micro`].
///
/// # Panics
/// If the slices differ in length.
pub fn f1_micro(gold: &[usize], predicted: &[usize], n_classes: usize) -> f64 {
    averaged(gold, predicted, n_classes, Average::Micro).f1
}

/// The mean of the F1 of classes `0..n_classes`, each as often as it is in gold.
///
/// # Panics
/// If the slices differ in length.
pub fn f1_weighted(gold: &[usize], predicted: &[usize], n_classes: usize) -> f64 {
    averaged(gold, predicted, n_classes, Average::Weighted).f1
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

/// The largest F1 of a class that makes up the share `prevalence`, at a given `accuracy`.
///
/// With p = TP + FN, a = accuracy and e = FP + FN = 1 - a, all as shares: F1 = 2 TP / (2 TP + e) grows with TP,
/// and TP is at most p (no FN), which gives 2p / (2p + 1 - a). A reported F1 above it cannot be the F1 of this
/// class.
pub fn f1_upper_bound(prevalence: f64, accuracy: f64) -> f64 {
    2.0 * prevalence / (2.0 * prevalence + 1.0 - accuracy)
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
    #[should_panic(expected = "differ in length")]
    fn slices_of_different_length_are_refused() {
        accuracy(&[1], &[1, 0]);
    }
}
