//! An estimate with its standard error and degrees of freedom, the basis of every test by Student's t.

use crate::student::{quantile, t_upper_p};
use crate::summary::{Interval, mean, variance};
use crate::t_two_sided_p;

/// A mean, a difference of means or another weighted sum of means, with its uncertainty.
///
/// Its tests and intervals use Student's t with [`Self::df`] degrees of freedom, so that superiority, equivalence,
/// intervals and power of one comparison agree with each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The estimate, in units of the values.
    pub value: f64,
    /// Standard error of the estimate; above 0.
    pub error: f64,
    /// Degrees of freedom of the standard error, a fraction where variances were summed.
    pub df: f64,
}

/// Two one-sided tests of a value within a margin of 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tost {
    /// (value + margin) / standard error, and its one-sided p of a value above `-margin`.
    pub lower: (f64, f64),
    /// (value - margin) / standard error, and its one-sided p of a value below `margin`.
    pub upper: (f64, f64),
}

impl Tost {
    /// The larger p of both tests: at most 0.05 where the 90 % interval lies within the margin.
    pub fn p(&self) -> f64 {
        self.lower.1.max(self.upper.1)
    }
}

impl Estimate {
    /// Σ w ā over independent samples with weights w.
    ///
    /// With v = w² s²/n of each sample its variance is V = Σ v, with V² / Σ v²/(n - 1) degrees of freedom
    /// (Satterthwaite 1946). One sample of weight 1 is Student's test, weights 1 and -1 are Welch's test, and 1/k and
    /// -1/k for two samples on each of k tasks are the mean over the tasks of differences of means.
    ///
    /// `None` where there is no sample, one has fewer than two values, or nothing varies but by rounding.
    pub fn of_samples(samples: &[(f64, &[f64])]) -> Option<Self> {
        if samples.is_empty() || samples.iter().any(|(_, values)| values.len() < 2) {
            return None;
        }
        let parts: Vec<(f64, f64)> = samples
            .iter()
            .map(|(weight, values)| {
                let n = values.len() as f64;
                (weight * weight * variance(values) / n, n - 1.0)
            })
            .collect();
        let sum: f64 = parts.iter().map(|(part, _)| part).sum();
        let largest = samples
            .iter()
            .flat_map(|(weight, values)| values.iter().map(move |value| (weight * value).abs()))
            .fold(0.0, f64::max);
        // Numbers that are equal but for rounding have a spread of about 1e-17, which is no spread.
        if sum.is_nan() || sum.sqrt() <= 1e-13 * largest {
            return None;
        }
        // Shares of the sum, so that tiny variances do not underflow when squared.
        let inverse: f64 = parts
            .iter()
            .map(|(part, df)| (part / sum).powi(2) / df)
            .sum();
        Some(Self {
            value: samples.iter().map(|(w, values)| w * mean(values)).sum(),
            error: sum.sqrt(),
            df: 1.0 / inverse,
        })
    }

    /// The mean of independent values, such as paired differences or one mean per cluster (task, dataset).
    pub fn of_mean(values: &[f64]) -> Option<Self> {
        Self::of_samples(&[(1.0, values)])
    }

    /// `mean(a) - mean(b)` of independent samples, without assuming equal variances (Welch 1947; facts.md C14).
    pub fn welch(a: &[f64], b: &[f64]) -> Option<Self> {
        Self::of_samples(&[(1.0, a), (-1.0, b)])
    }

    /// The mean difference over folds of one cross-validation, with as many test examples as `share` times the training
    /// examples: 1/(folds - 1).
    ///
    /// Folds share training examples, so their differences are correlated; the variance is s² (1/n + share) in place of
    /// s²/n, with n - 1 degrees of freedom (Nadeau and Bengio 2003).
    pub fn of_folds(differences: &[f64], share: f64) -> Option<Self> {
        let plain = Self::of_mean(differences)?;
        let n = differences.len() as f64;
        Some(Self {
            error: plain.error * (1.0 + n * share).sqrt(),
            ..plain
        })
    }

    /// The value over its standard error.
    pub fn t(&self) -> f64 {
        self.value / self.error
    }

    /// Two-sided p-value for a true value of 0.
    pub fn p(&self) -> f64 {
        t_two_sided_p(self.t(), self.df)
    }

    /// One-sided p-value for a true value of at most `limit`: small where the value is above it.
    ///
    /// One less it is the share of the posterior above `limit` under a flat prior.
    pub fn p_above(&self, limit: f64) -> f64 {
        t_upper_p((self.value - limit) / self.error, self.df)
    }

    /// The interval at confidence `level`.
    ///
    /// # Panics
    /// If `level` is not between 0 and 1.
    pub fn interval(&self, level: f64) -> Interval {
        self.spread(self.error, level)
    }

    /// Prediction interval of the value in another study of the same effect, whose standard error is `other`.
    ///
    /// # Panics
    /// If `level` is not between 0 and 1.
    pub fn prediction(&self, other: f64, level: f64) -> Interval {
        self.spread(self.error.hypot(other), level)
    }

    fn spread(&self, error: f64, level: f64) -> Interval {
        crate::student::assert_level(level);
        Interval::around(self.value, quantile(0.5 + level / 2.0, self.df) * error)
    }

    /// Two one-sided tests of equivalence within `margin` of 0 (Schuirmann 1987; Lakens 2017).
    pub fn tost(&self, margin: f64) -> Tost {
        let (lower, upper) = (self.value + margin, self.value - margin);
        Tost {
            lower: (lower / self.error, t_upper_p(lower / self.error, self.df)),
            upper: (upper / self.error, t_upper_p(-upper / self.error, self.df)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [f64; 4] = [0.81, 0.83, 0.80, 0.84];
    const B: [f64; 3] = [0.79, 0.82, 0.80];

    #[test]
    fn equal_variances_and_sizes_give_all_degrees_of_freedom() {
        let test = Estimate::welch(&[1.0, 2.0, 3.0], &[2.0, 3.0, 4.0]).expect("both vary");
        assert!((test.df - 4.0).abs() < 1e-12);
        // Standard error √(1/3 + 1/3), difference -1.
        assert!((test.t() + 1.5f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn a_constant_sample_leaves_the_other_ones_degrees_of_freedom() {
        let test = Estimate::welch(&[1.0, 1.0, 1.0], &[2.0, 3.0, 4.0]).expect("one varies");
        assert!((test.df - 2.0).abs() < 1e-12);
    }

    #[test]
    fn without_spread_or_with_one_value_there_is_no_test() {
        assert_eq!(Estimate::welch(&[1.0, 1.0], &[2.0, 2.0]), None);
        assert_eq!(Estimate::welch(&[1.0], &[2.0, 3.0]), None);
        assert_eq!(Estimate::of_samples(&[]), None);
        let rounding = [0.1 + 0.2, 0.3, 0.3];
        assert_eq!(Estimate::of_mean(&rounding), None);
    }

    #[test]
    fn tiny_spreads_do_not_underflow() {
        let tiny: Vec<f64> = [1.0, 2.0, 3.0].iter().map(|v| v * 1e-120).collect();
        assert!((Estimate::welch(&tiny, &tiny).expect("both vary").df - 4.0).abs() < 1e-9);
    }

    #[test]
    fn swapping_the_samples_changes_signs_only() {
        let (ab, ba) = (Estimate::welch(&A, &B), Estimate::welch(&B, &A));
        let (ab, ba) = (ab.expect("vary"), ba.expect("vary"));
        assert_eq!((ab.t(), ab.value, ab.p()), (-ba.t(), -ba.value, ba.p()));
        assert_eq!(ab.interval(0.95).low, -ba.interval(0.95).high);
    }

    #[test]
    fn every_task_counts_once_whatever_its_seeds() {
        let tasks: [&[f64]; 2] = [&[1.0, 3.0], &[10.0, 10.0, 10.0, 14.0]];
        let found = Estimate::of_samples(&tasks.map(|values| (0.5, values)));
        assert_eq!(found.expect("vary").value, 6.5);
    }

    #[test]
    fn equivalence_is_the_90_percent_interval_within_the_margin() {
        let found = Estimate::welch(&A, &B).expect("vary");
        let Interval { low, high } = found.interval(0.90);
        let edge = low.abs().max(high.abs());
        assert!((found.tost(edge).p() - 0.05).abs() < 1e-9);
        assert!(found.tost(edge * 1.01).p() < 0.05 && found.tost(edge * 0.99).p() > 0.05);
    }

    #[test]
    fn a_flat_posterior_above_a_limit_is_what_the_one_sided_test_leaves() {
        let found = Estimate::welch(&A, &B).expect("vary");
        assert!((found.p_above(found.value) - 0.5).abs() < 1e-12);
        assert!((2.0 * found.p_above(0.0) - found.p()).abs() < 1e-12);
        assert!((found.p_above(found.interval(0.95).low) - 0.025).abs() < 1e-9);
    }
}
