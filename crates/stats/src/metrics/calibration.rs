//! Calibration of a classifier's probabilities.

/// Brier score (Brier 1950): the mean over examples of Σₖ (pₖ - yₖ)², where y is 1 for the gold class and 0 elsewhere;
/// from 0 for all right and certain to 2 for all wrong and certain. scikit-learn's `brier_score_loss` with
/// `scale_by_half=False`. `None` without examples.
///
/// `probabilities`: `[examples][classes]`.
///
/// # Panics
/// If the slices differ in length, or a gold class has no probability.
pub fn brier_score(probabilities: &[Vec<f64>], gold: &[usize]) -> Option<f64> {
    assert_eq!(
        probabilities.len(),
        gold.len(),
        "found {} rows of probabilities, expected one for each of {} gold classes",
        probabilities.len(),
        gold.len()
    );
    let of_example = |(row, &gold): (&Vec<f64>, &usize)| {
        assert!(
            gold < row.len(),
            "found the gold class {gold}, expected one below {}",
            row.len()
        );
        let classes = row.iter().enumerate();
        let squares = classes.map(|(class, p)| (p - f64::from(u8::from(class == gold))).powi(2));
        squares.sum::<f64>()
    };
    let sum: f64 = probabilities.iter().zip(gold).map(of_example).sum();
    (!gold.is_empty()).then(|| sum / gold.len() as f64)
}

/// Expected calibration error (Naeini et al. 2015): the mean over examples of the distance between accuracy and mean
/// confidence in the example's bin, one of `n_bins` equal parts of [0, 1]. `None` without examples.
///
/// `confidence` is the probability of the predicted class and `right` whether it is the gold one. The bins are those of
/// scikit-learn's `calibration_curve` with `strategy="uniform"`: a confidence on a border belongs to the bin below it.
///
/// # Panics
/// If the slices differ in length, there is no bin, or a confidence is not in [0, 1].
pub fn expected_calibration_error(
    confidence: &[f64],
    right: &[bool],
    n_bins: usize,
) -> Option<f64> {
    assert_eq!(
        confidence.len(),
        right.len(),
        "found {} confidences, expected one for each of {} answers",
        confidence.len(),
        right.len()
    );
    assert!(n_bins > 0, "found 0 bins, expected at least one");
    // Of each bin: right predictions minus the sum of confidences, which is its share of the error times all examples.
    let mut gaps = vec![0.0; n_bins];
    for (&p, &right) in confidence.iter().zip(right) {
        assert!(
            (0.0..=1.0).contains(&p),
            "found the confidence {p}, expected one from 0 to 1"
        );
        // The borders are computed as by numpy's linspace, so that both agree on values that lie on one.
        let above = |bin: &usize| p <= (*bin + 1) as f64 * (1.0 / n_bins as f64);
        let bin = (0..n_bins - 1).find(above).unwrap_or(n_bins - 1);
        gaps[bin] += f64::from(u8::from(right)) - p;
    }
    let sum: f64 = gaps.iter().map(|gap| gap.abs()).sum();
    (!right.is_empty()).then(|| sum / right.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certain_answers_score_0_or_2_and_even_odds_a_half() {
        let rows = |row: [f64; 2]| vec![row.to_vec(); 3];
        assert_eq!(brier_score(&rows([0.0, 1.0]), &[1, 1, 1]), Some(0.0));
        assert_eq!(brier_score(&rows([1.0, 0.0]), &[1, 1, 1]), Some(2.0));
        assert_eq!(brier_score(&rows([0.5, 0.5]), &[0, 1, 0]), Some(0.5));
        assert_eq!(brier_score(&[], &[]), None);
    }

    #[test]
    fn confidence_that_is_right_as_often_as_it_says_has_no_error() {
        let right = [true, true, true, false];
        assert_eq!(
            expected_calibration_error(&[0.75; 4], &right, 10),
            Some(0.0)
        );
        assert_eq!(
            expected_calibration_error(&[1.0; 4], &right, 10),
            Some(0.25)
        );
        assert_eq!(expected_calibration_error(&[], &[], 10), None);
    }
}
