//! Correction for multiple comparisons.

/// Holm's step-down adjusted p-values, in the order given.
///
/// The k-th smallest of m p-values (from k = 0) becomes the largest of (m - j) p_j over j ≤ k, at most 1
/// (Holm 1979). `NaN`s (comparisons that could not be made) stay `NaN` and do not count towards m.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).filter(|&i| !p[i].is_nan()).collect();
    order.sort_by(|&i, &j| p[i].total_cmp(&p[j]));
    let mut adjusted = vec![f64::NAN; p.len()];
    let mut largest: f64 = 0.0;
    for (k, &i) in order.iter().enumerate() {
        largest = largest.max((order.len() - k) as f64 * p[i]).min(1.0);
        adjusted[i] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_is_multiplied_most_and_order_is_kept() {
        check(&[0.01, 0.04, 0.03, 0.005], &[0.03, 0.06, 0.06, 0.02]);
    }

    #[test]
    fn nothing_exceeds_one() {
        check(&[0.6, 0.9], &[1.0, 1.0]);
    }

    #[test]
    fn one_comparison_is_left_alone() {
        check(&[0.2], &[0.2]);
        check(&[], &[]);
    }

    #[test]
    fn a_comparison_that_was_not_made_does_not_count() {
        let adjusted = holm(&[0.02, f64::NAN, 0.04]);
        assert!(adjusted[1].is_nan());
        check(&[0.02, 0.04], &[adjusted[0], adjusted[2]]);
    }

    #[track_caller]
    fn check(p: &[f64], expected: &[f64]) {
        for (found, expected) in holm(p).iter().zip(expected) {
            assert!((found - expected).abs() < 1e-15, "{found} {expected}");
        }
    }
}
