//! Matthews' correlation of gold and predicted classes.

use super::counts::assert_same_length;

/// Matthews' correlation coefficient of classes `0..n_classes`: 1 for all right, 0 for chance.
///
/// For two classes (TP TN - FP FN) / √((TP+FP)(TP+FN)(TN+FP)(TN+FN)) (Matthews 1975), for more Gorodkin's R_K (2004),
/// which is the same for two. With c right of n examples, and gₖ and pₖ how often class k is in gold and predicted:
/// (c n - Σ gₖ pₖ) / √((n² - Σ gₖ²)(n² - Σ pₖ²)). 0 where gold or predictions hold only one class or nothing, as in
/// scikit-learn.
///
/// # Panics
/// If the slices differ in length, or hold a class not below `n_classes`.
pub fn matthews(gold: &[usize], predicted: &[usize], n_classes: usize) -> f64 {
    assert_same_length(gold, predicted);
    let (mut in_gold, mut in_predicted) = (vec![0i128; n_classes], vec![0i128; n_classes]);
    let mut right = 0i128;
    for (&g, &p) in gold.iter().zip(predicted) {
        in_gold[g] += 1;
        in_predicted[p] += 1;
        right += i128::from(g == p);
    }
    let n = gold.len() as i128;
    let dot = |a: &[i128], b: &[i128]| a.iter().zip(b).map(|(a, b)| a * b).sum::<i128>();
    // Whole numbers, so that a degenerate case is exactly that.
    let both = right * n - dot(&in_gold, &in_predicted);
    let of_gold = n * n - dot(&in_gold, &in_gold);
    let of_predicted = n * n - dot(&in_predicted, &in_predicted);
    if of_gold == 0 || of_predicted == 0 {
        0.0
    } else {
        both as f64 / (of_gold as f64 * of_predicted as f64).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_each_error_among_six_is_a_third() {
        // TP = TN = 2, FP = FN = 1: (4 - 1) / √(3⁴).
        let found = matthews(&[1, 1, 1, 0, 0, 0], &[1, 1, 0, 1, 0, 0], 2);
        assert!((found - 1.0 / 3.0).abs() < 1e-15);
    }

    #[test]
    fn all_right_is_one_all_wrong_minus_one_and_one_class_nothing() {
        let gold = [0, 1, 1, 0];
        for (predicted, expected) in [
            ([0, 1, 1, 0], 1.0),
            ([1, 0, 0, 1], -1.0),
            ([1, 1, 1, 1], 0.0),
        ] {
            assert!((matthews(&gold, &predicted, 2) - expected).abs() < 1e-15);
        }
        assert_eq!(matthews(&[], &[], 2), 0.0);
    }
}
