//! Welch's t-test: two means, two variances.

use crate::student::{quantile, t_two_sided_p};
use crate::summary::{Interval, mean, variance};

/// Confidence of [`Welch::interval`].
const LEVEL: f64 = 0.95;

/// What Welch's test says about `mean(a) - mean(b)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// The difference over its standard error.
    pub t: f64,
    /// Degrees of freedom after Welch and Satterthwaite, a fraction as R prints it.
    pub df: f64,
    /// Two-sided p-value.
    pub p: f64,
    /// `mean(a) - mean(b)`.
    pub difference: f64,
    /// 95 % interval for the difference.
    pub interval: Interval,
}

/// Compares the means of two independent samples without assuming equal variances.
///
/// With v = s²/n of each sample: t = (ā - b̄) / √(vₐ + v_b) and
/// df = (vₐ + v_b)² / (vₐ² / (nₐ - 1) + v_b² / (n_b - 1)) (Welch 1947; facts.md C14).
///
/// `None` where a sample has fewer than two values, or where neither varies: then there is no standard error
/// to measure the difference with.
pub fn welch(a: &[f64], b: &[f64]) -> Option<Welch> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let (df_a, df_b) = (a.len() as f64 - 1.0, b.len() as f64 - 1.0);
    let (va, vb) = (variance(a) / a.len() as f64, variance(b) / b.len() as f64);
    let squared_error = va + vb;
    if squared_error.is_nan() || squared_error <= 0.0 {
        return None;
    }
    let error = squared_error.sqrt();
    // Shares of the squared error, so that tiny variances do not underflow when squared.
    let (share_a, share_b) = (va / squared_error, vb / squared_error);
    let df = 1.0 / (share_a * share_a / df_a + share_b * share_b / df_b);
    let difference = mean(a) - mean(b);
    let t = difference / error;
    Some(Welch {
        t,
        df,
        p: t_two_sided_p(t, df),
        difference,
        interval: Interval::around(difference, quantile(0.5 + LEVEL / 2.0, df) * error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_variances_and_sizes_give_all_degrees_of_freedom() {
        let test = welch(&[1.0, 2.0, 3.0], &[2.0, 3.0, 4.0]).expect("both vary");
        assert!((test.df - 4.0).abs() < 1e-12);
        // Standard error √(1/3 + 1/3), difference -1.
        assert!((test.t + 1.5f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn a_constant_sample_leaves_the_other_ones_degrees_of_freedom() {
        let test = welch(&[1.0, 1.0, 1.0], &[2.0, 3.0, 4.0]).expect("one varies");
        assert!((test.df - 2.0).abs() < 1e-12);
    }

    #[test]
    fn without_spread_or_with_one_value_there_is_no_test() {
        assert_eq!(welch(&[1.0, 1.0], &[2.0, 2.0]), None);
        assert_eq!(welch(&[1.0], &[2.0, 3.0]), None);
        assert_eq!(welch(&[], &[]), None);
    }

    #[test]
    fn tiny_spreads_do_not_underflow() {
        let tiny: Vec<f64> = [1.0, 2.0, 3.0].iter().map(|v| v * 1e-120).collect();
        assert!((welch(&tiny, &tiny).expect("both vary").df - 4.0).abs() < 1e-9);
    }

    #[test]
    fn swapping_the_samples_changes_signs_only() {
        let (a, b) = ([0.81, 0.83, 0.80, 0.84], [0.79, 0.82, 0.80]);
        let (ab, ba) = (welch(&a, &b).expect("vary"), welch(&b, &a).expect("vary"));
        assert_eq!((ab.t, ab.difference), (-ba.t, -ba.difference));
        assert_eq!(ab.interval.low, -ba.interval.high);
        assert_eq!(ab.p, ba.p);
    }
}
