//! Scores of labels in an order: gold and predicted steps in, numbers out.

use super::classes::{accuracy, f1_macro};
use super::counts::assert_same_length;

/// Cohen's kappa with quadratic weights (Cohen 1968; scikit-learn's `cohen_kappa_score(weights="quadratic")`):
/// `1 - Σ (g - p)² / Σ expected (g - p)²`, where the expected sum is that of independent predictions with the same
/// frequencies. 1 at best, 0 for a constant prediction; `None` where gold and predictions are one and the same label
/// throughout, or there are none.
///
/// # Panics
/// If the slices differ in length.
pub fn quadratic_kappa(gold: &[usize], predicted: &[usize]) -> Option<f64> {
    assert_same_length(gold, predicted);
    let square = |g: usize, p: usize| (g as f64 - p as f64).powi(2);
    let observed: f64 = gold
        .iter()
        .zip(predicted)
        .map(|(&g, &p)| square(g, p))
        .sum();
    let n = gold.iter().chain(predicted).max()? + 1;
    let counts = |steps: &[usize]| {
        let mut counts = vec![0.0; n];
        steps.iter().for_each(|&step| counts[step] += 1.0);
        counts
    };
    let (of_gold, of_predicted) = (counts(gold), counts(predicted));
    let mut expected = 0.0;
    for (g, n_gold) in of_gold.iter().enumerate() {
        for (p, n_predicted) in of_predicted.iter().enumerate() {
            expected += n_gold * n_predicted * square(g, p);
        }
    }
    expected /= gold.len() as f64;
    (expected > 0.0).then(|| 1.0 - observed / expected)
}

/// Mean absolute error in steps; `None` for no examples.
///
/// # Panics
/// If the slices differ in length.
pub fn mean_absolute_step(gold: &[usize], predicted: &[usize]) -> Option<f64> {
    assert_same_length(gold, predicted);
    let steps: usize = gold
        .iter()
        .zip(predicted)
        .map(|(g, p)| g.abs_diff(*p))
        .sum();
    (!gold.is_empty()).then(|| steps as f64 / gold.len() as f64)
}

/// All scores of labels in an order under the names of the result rows: `quadratic-kappa`, `mae` (in steps), `accuracy`
/// and `f1-macro`. An undefined score is left out.
///
/// # Panics
/// If the slices differ in length.
pub fn ordinal_scores(
    gold: &[usize],
    predicted: &[usize],
    n_labels: usize,
) -> Vec<(&'static str, f64)> {
    [
        ("quadratic-kappa", quadratic_kappa(gold, predicted)),
        ("mae", mean_absolute_step(gold, predicted)),
        ("accuracy", Some(accuracy(gold, predicted))),
        ("f1-macro", Some(f1_macro(gold, predicted, n_labels))),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_prediction_is_no_better_than_chance() {
        assert_eq!(quadratic_kappa(&[0, 1, 2, 2], &[1; 4]), Some(0.0));
        assert_eq!(quadratic_kappa(&[0, 1, 2], &[0, 1, 2]), Some(1.0));
        for none in [&[][..], &[3, 3]] {
            assert_eq!(quadratic_kappa(none, none), None);
        }
    }

    #[test]
    fn an_error_counts_by_its_steps() {
        assert_eq!(mean_absolute_step(&[0, 4, 2], &[1, 2, 2]), Some(1.0));
        assert_eq!(mean_absolute_step(&[], &[]), None);
    }
}
