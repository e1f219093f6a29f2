//! Comparisons of two sides: the one source of every p-value, interval and effect that a page shows.
//!
//! Claims, tables and takeaways compare two sides through [`strata`], so that they cannot disagree.

mod examples;
pub mod grid;
pub mod paired;
pub mod strata;

use totune_stats::{Correlation, Estimate, Interval};

use crate::compare::strata::{folds, unpaired};
use crate::plan::Unit;
use crate::select::sample::{LEVEL, Sample};
use crate::text::{Scale, counted, fixed, p_equals};

/// Level of every test.
pub const ALPHA: f64 = 0.05;
/// Power for which detectable differences are computed.
pub(crate) const POWER: f64 = 0.8;
/// Level of a two-sided test whose one side is at [`ALPHA`].
pub(crate) const ONE_SIDED: f64 = 2.0 * ALPHA;
/// Level of the interval that decides on equivalence: both one-sided tests at [`ALPHA`].
pub(crate) const NARROW: f64 = 1.0 - ONE_SIDED;

/// Values on each side that a verdict takes: with fewer, the variance is practically unknown.
pub(crate) const LEAST: usize = 3;

/// Checks that `n` values a side are enough for a verdict.
pub(crate) fn enough(n: usize, unit: Unit) -> Result<(), String> {
    if n < LEAST {
        Err(format!(
            "{} with both sides; at least {LEAST} are needed",
            counted(n, unit.noun())
        ))
    } else {
        Ok(())
    }
}

/// A difference of means, `a - b`, with its tests.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The difference of the means.
    pub difference: f64,
    /// 95 % interval of the difference.
    pub interval: Interval,
    /// 90 % interval of the difference, for equivalence.
    pub narrow: Interval,
    /// Two-sided, uncorrected; of the test that [`Self::test`] names.
    pub p: f64,
    /// The same p by exchanging labels or signs, with the name of that test.
    pub permutation: Option<(f64, String)>,
    /// Cohen's d.
    pub(crate) effect: Option<f64>,
    /// The test in words, with its statistic.
    pub(crate) test: String,
    /// Estimate that power, prediction intervals and posteriors are computed from; `None` for correlations.
    pub(crate) estimate: Option<Estimate>,
    /// Values on either side: seeds, folds or tasks; the mean over tasks where they differ.
    pub(crate) n: f64,
    /// Differences by task; one where there is a single one.
    pub(crate) parts: Vec<f64>,
}

impl Comparison {
    /// An estimate over tasks with differences `parts`, each of `n` values.
    pub fn of(estimate: Estimate, name: &str, n: f64, parts: Vec<f64>) -> Self {
        let (t, df) = (fixed(estimate.t(), 2), fixed(estimate.df, 1));
        Self {
            difference: estimate.value,
            interval: estimate.interval(LEVEL),
            narrow: estimate.interval(NARROW),
            p: estimate.p(),
            permutation: None,
            effect: None,
            test: format!("{name}, t = {t}, df = {}", df.trim_end_matches(".0")),
            estimate: Some(estimate),
            n,
            parts,
        }
    }

    /// A correlation of `n` pairs with its test in words; an end of an interval that does not exist is the end of all
    /// correlations.
    pub(crate) fn of_correlation([wide, narrow]: [Correlation; 2], test: String, n: usize) -> Self {
        let everything = Interval {
            low: -1.0,
            high: 1.0,
        };
        Self {
            difference: wide.r,
            interval: wide.interval.unwrap_or(everything),
            narrow: narrow.interval.unwrap_or(everything),
            p: wide.p,
            permutation: None,
            effect: None,
            test,
            estimate: None,
            n: n as f64,
            parts: vec![wide.r],
        }
    }

    /// The same seen from the other side, `b - a`.
    pub(crate) fn turned(&self) -> Self {
        let turned = |Interval { low, high }| Interval {
            low: -high,
            high: -low,
        };
        Self {
            difference: -self.difference,
            interval: turned(self.interval),
            narrow: turned(self.narrow),
            effect: self.effect.map(|effect| -effect),
            estimate: self.estimate.map(|estimate| Estimate {
                value: -estimate.value,
                ..estimate
            }),
            parts: self.parts.iter().map(|part| -part).collect(),
            ..self.clone()
        }
    }

    /// The same as one of `n` comparisons of which any may be picked: with intervals that hold for all together
    /// (Bonferroni). Where there is no estimate they stay as they are.
    pub fn one_of(&self, n: usize) -> Self {
        let level = |alone: f64| 1.0 - (1.0 - alone) / n as f64;
        let interval = |alone| {
            self.estimate
                .map(|estimate| estimate.interval(level(alone)))
        };
        Self {
            interval: interval(LEVEL).unwrap_or(self.interval),
            narrow: interval(NARROW).unwrap_or(self.narrow),
            ..self.clone()
        }
    }

    /// `+0.009 [-0.012, 0.030]`, `+0.90 [-1.20, 3.00] points`.
    pub fn difference_in(&self, scale: Scale) -> String {
        let (signed, interval) = (scale.signed(self.difference), scale.interval(self.interval));
        format!("{signed} {interval}{}", scale.unit())
    }

    /// The permutation test in words.
    pub(crate) fn permutation_text(&self) -> Option<String> {
        let (p, name) = self.permutation.as_ref()?;
        Some(format!("{name}, {}", p_equals(*p)))
    }

    /// The smallest true difference that [`POWER`] of such comparisons would find at [`ALPHA`].
    pub(crate) fn detectable(&self) -> Option<f64> {
        self.estimate
            .map(|estimate| estimate.detectable(ALPHA, POWER))
    }

    /// The smallest loss that [`POWER`] of such comparisons would show not to be there, if there is none.
    pub(crate) fn detectable_loss(&self) -> Option<f64> {
        self.estimate
            .map(|estimate| estimate.detectable(ONE_SIDED, POWER))
    }

    /// The smallest margin within which [`POWER`] of such comparisons would show that there is no difference.
    pub(crate) fn detectable_margin(&self) -> Option<f64> {
        self.estimate
            .map(|estimate| estimate.detectable_margin(ALPHA, POWER))
    }
}

/// Compares the runs of two groups by their seeds or by the folds that they share, or says why that cannot be done.
pub(crate) fn compare(a: &Sample, b: &Sample, unit: Unit) -> Result<Comparison, String> {
    let (left, right) = a.matched(b, unit)?;
    match unit {
        Unit::Fold => folds(&left, &right),
        _ => unpaired(&[(1.0, &left, &right)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::sample::Key;

    #[test]
    fn seeds_get_welchs_test_with_the_permutation_test_beside() {
        let comparison = compare(
            &seeds(&[0.80, 0.82, 0.84]),
            &seeds(&[0.70, 0.71, 0.75]),
            Unit::Seed,
        );
        let comparison = comparison.unwrap();
        assert!(comparison.test.starts_with("Welch's t-test, t = "));
        assert!((comparison.difference - 0.1).abs() < 1e-12);
        // Clearly apart: two of the twenty ways to deal out six values.
        let text = comparison.permutation_text().unwrap();
        assert_eq!(text, "permutation test over all 20 labellings, p = 0.100");
    }

    #[test]
    fn folds_get_the_test_for_shared_training_examples() {
        // Differences 0.01, 0.01, 0.02 and 0.02: mean 0.015, sd 0.00577; the variance is s² (1/4 + 1/3).
        let (a, b) = (
            folds_of(&[0.71, 0.81, 0.62, 0.92]),
            folds_of(&[0.70, 0.80, 0.60, 0.90]),
        );
        let comparison = compare(&a, &b, Unit::Fold).unwrap();
        let expected = "corrected resampled t-test (Nadeau and Bengio), t = 3.40, df = 3";
        assert_eq!(comparison.test, expected);
        let error = compare(&a, &b, Unit::Seed).unwrap_err();
        assert!(error.starts_with("its runs are folds"), "{error}");
    }

    #[test]
    fn seeds_of_one_side_only_are_left_out() {
        let (many, few) = (seeds(&[0.80, 0.82, 0.84, 0.99]), seeds(&[0.70, 0.71, 0.75]));
        let comparison = compare(&many, &few, Unit::Seed).unwrap();
        assert!((comparison.difference - 0.1).abs() < 1e-12);
        assert_eq!(comparison.n, 3.0);
    }

    /// Equal numbers of seeds on either side with a standard deviation of 1; from scipy's noncentral t-distribution.
    #[test]
    fn the_loss_that_can_be_excluded_is_that_of_a_one_sided_test() {
        for (n, expected) in [(3, 2.48), (5, 1.72), (10, 1.16), (18, 0.85)] {
            let n = f64::from(n);
            let estimate = Estimate {
                error: (2.0 / n).sqrt(),
                df: 2.0 * (n - 1.0),
                ..Estimate::of_mean(&[0.0, 1.0]).unwrap()
            };
            let comparison = Comparison::of(estimate, "test", n, vec![0.0]);
            let found = comparison.detectable_loss().unwrap();
            assert!((found - expected).abs() < 0.01, "{n}: {found}");
        }
    }

    #[test]
    fn what_cannot_be_compared_says_why() {
        check(&[], &[0.5, 0.6], "one side has no run");
        check(&[0.5], &[0.6], "only 1 seed has both sides");
        check(&[0.5, 0.5], &[0.6, 0.6], "neither side varies");
    }

    #[track_caller]
    fn check(a: &[f64], b: &[f64], reason: &str) {
        let found = compare(&seeds(a), &seeds(b), Unit::Seed).unwrap_err();
        assert!(found.starts_with(reason), "{found}");
    }

    fn seeds(values: &[f64]) -> Sample {
        sample(values, |number| Key {
            fold: 0,
            seed: number,
        })
    }

    fn folds_of(values: &[f64]) -> Sample {
        sample(values, |number| Key {
            fold: number,
            seed: 0,
        })
    }

    fn sample(values: &[f64], key: fn(u64) -> Key) -> Sample {
        let mut sample = Sample::default();
        for (number, &value) in values.iter().enumerate() {
            sample.push(value, key(number as u64), "one split".to_owned());
        }
        sample
    }
}
