//! Two groups of runs against each other: which test, and what it found.

pub(crate) mod paired;
pub(crate) mod strata;

use totune_stats::{
    Interval, PlannedSample, cohens_d, mean, minimal_detectable_difference, sd, t_interval,
    t_two_sided_p, welch,
};

use crate::select::sample::{LEVEL, Sample, Shared};
use crate::text::{Scale, fixed, p_equals};

/// Level at which a corrected p-value counts.
pub(crate) const ALPHA: f64 = 0.05;
/// Power for which detectable differences are computed.
pub(crate) const POWER: f64 = 0.8;

/// A difference of means, `a - b`, with its test.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Comparison {
    pub(crate) difference: f64,
    /// 95 % interval of the difference.
    pub(crate) interval: Interval,
    /// Two-sided, uncorrected.
    pub(crate) p: f64,
    /// Cohen's d.
    pub(crate) effect: Option<f64>,
    /// The test in words, with its statistic.
    pub(crate) test: String,
    /// A second test shown for comparison, in words.
    pub(crate) beside: Option<String>,
    /// The smallest difference that [`POWER`] of such comparisons would find at [`ALPHA`].
    pub(crate) detectable: Option<f64>,
}

/// Compares two groups, or says why that cannot be done.
///
/// * One run on one side and several on the other: the single run is taken as fixed and the others are
///   tested against it.
/// * Both sides share folds: a paired t-test, since the difficulty of a fold is common to both sides and would
///   otherwise drown the difference. Welch's test is shown for comparison.
/// * Otherwise Welch's test, as the papers use for repeated initialisations. Where both sides share seeds
///   on one split, a paired t-test is shown beside it.
pub(crate) fn compare(a: &Sample, b: &Sample) -> Result<Comparison, String> {
    match (a.n(), b.n()) {
        (0, _) | (_, 0) => Err("one side has no run".to_owned()),
        (1, 1) => Err("both sides have a single run".to_owned()),
        (_, 1) => against_fixed(
            &a.values,
            b.values[0],
            "the other side is a single run, taken as fixed",
        )
        .ok_or_else(|| NO_VARIATION.to_owned()),
        (1, _) => against_fixed(
            &b.values,
            a.values[0],
            "the first side is a single run, taken as fixed",
        )
        .map(Comparison::turned)
        .ok_or_else(|| NO_VARIATION.to_owned()),
        _ => {
            let independent = welch_test(a, b);
            let paired = a
                .paired_with(b)
                .and_then(|(left, right, shared)| Some((paired_test(&left, &right)?, shared)));
            let (mut chosen, beside) = match (independent, paired) {
                (beside, Some((paired, Shared::Folds))) => (paired, beside),
                (Some(independent), Some((paired, Shared::Seeds))) => (independent, Some(paired)),
                (Some(independent), None) => (independent, None),
                (None, _) => return Err(NO_VARIATION.to_owned()),
            };
            chosen.beside = beside
                .map(|beside| format!("for comparison: {}, {}", beside.test, p_equals(beside.p)));
            Ok(chosen)
        }
    }
}

const NO_VARIATION: &str =
    "neither side varies, so there is nothing to measure the difference with";

/// Tests the mean of `values` against a number taken as exact.
fn against_fixed(values: &[f64], fixed_value: f64, why: &str) -> Option<Comparison> {
    let differences: Vec<f64> = values.iter().map(|value| value - fixed_value).collect();
    let mut comparison = one_sample(&differences)?;
    comparison.test = format!("one-sample t-test ({why}), {}", comparison.test);
    Some(comparison)
}

fn welch_test(a: &Sample, b: &Sample) -> Option<Comparison> {
    let welch = welch(&a.values, &b.values)?;
    let planned = |sample: &Sample| {
        Some(PlannedSample {
            sd: sample.sd()?,
            n: sample.n(),
        })
    };
    Some(Comparison {
        difference: welch.difference,
        interval: welch.interval,
        p: welch.p,
        effect: cohens_d(&a.values, &b.values),
        test: format!(
            "Welch's t-test, t = {}, df = {}",
            fixed(welch.t, 2),
            fixed(welch.df, 1)
        ),
        beside: None,
        detectable: Some(minimal_detectable_difference(
            planned(a)?,
            planned(b)?,
            ALPHA,
            POWER,
        ))
        .filter(|difference| difference.is_finite()),
    })
}

fn paired_test(a: &[f64], b: &[f64]) -> Option<Comparison> {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let mut comparison = one_sample(&differences)?;
    comparison.effect = cohens_d(a, b);
    comparison.test = format!("paired t-test, {}", comparison.test);
    Some(comparison)
}

/// Student's test of differences against 0; `None` where they do not vary.
fn one_sample(differences: &[f64]) -> Option<Comparison> {
    let (n, difference, sd) = (differences.len(), mean(differences), sd(differences));
    let interval = t_interval(differences, LEVEL)?;
    // Differences that are equal but for rounding have a spread of about 1e-17, which is no spread.
    if sd.is_nan() || sd < 1e-12 {
        return None;
    }
    let (t, df) = (difference / (sd / (n as f64).sqrt()), (n - 1) as f64);
    Some(Comparison {
        difference,
        interval,
        p: t_two_sided_p(t, df),
        effect: Some(difference / sd),
        test: format!("t = {}, df = {}", fixed(t, 2), fixed(df, 0)),
        beside: None,
        detectable: None,
    })
}

impl Comparison {
    /// The same comparison seen from the other side, `b - a`.
    pub(crate) fn turned(self) -> Self {
        Self {
            difference: -self.difference,
            interval: Interval {
                low: -self.interval.high,
                high: -self.interval.low,
            },
            effect: self.effect.map(|effect| -effect),
            ..self
        }
    }

    /// `+0.009 [-0.012, 0.030]`, `+0.90 [-1.20, 3.00] points`.
    pub(crate) fn difference_in(&self, scale: Scale) -> String {
        let Interval { low, high } = self.interval;
        let (signed, low, high) = (
            scale.signed(self.difference),
            scale.number(low),
            scale.number(high),
        );
        format!("{signed} [{low}, {high}]{}", scale.unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::sample::Key;

    #[test]
    fn repeated_initialisations_get_welch_with_the_paired_test_beside() {
        let comparison = compare(&seeds(&[0.80, 0.82, 0.84]), &seeds(&[0.70, 0.71, 0.75])).unwrap();
        assert!(
            comparison.test.starts_with("Welch's t-test"),
            "{}",
            comparison.test
        );
        assert!(comparison.beside.unwrap().contains("paired t-test"));
        assert!((comparison.difference - 0.1).abs() < 1e-12);
    }

    #[test]
    fn shared_folds_get_the_paired_test_with_welch_beside() {
        // Differences 0.01, 0.01, 0.02 and 0.02: mean 0.015, sd 0.00577, t = 0.015 / (0.00577 / 2) = 5.20.
        let comparison = compare(
            &folds(&[0.71, 0.81, 0.62, 0.92]),
            &folds(&[0.70, 0.80, 0.60, 0.90]),
        )
        .unwrap();
        assert_eq!(comparison.test, "paired t-test, t = 5.20, df = 3");
        assert!(comparison.beside.unwrap().contains("Welch"));
    }

    #[test]
    fn a_single_run_is_taken_as_fixed() {
        let many = seeds(&[0.80, 0.82, 0.84]);
        let one = seeds(&[0.79]);
        let comparison = compare(&many, &one).unwrap();
        // mean 0.82, sd 0.02, t = 0.03 / (0.02 / sqrt 3) = 2.598.
        assert!(
            comparison.test.ends_with("t = 2.60, df = 2"),
            "{}",
            comparison.test
        );
        let turned = compare(&one, &many).unwrap();
        assert!((turned.difference + comparison.difference).abs() < 1e-12);
        assert!(turned.interval.low < turned.interval.high);
    }

    #[test]
    fn what_cannot_be_compared_says_why() {
        check(&[], &[0.5, 0.6], "one side has no run");
        check(&[0.5], &[0.6], "both sides have a single run");
        check(&[0.5, 0.5], &[0.6, 0.6], "neither side varies");
    }

    #[track_caller]
    fn check(a: &[f64], b: &[f64], reason: &str) {
        let found = compare(&seeds(a), &seeds(b)).unwrap_err();
        assert!(found.starts_with(reason), "{found}");
    }

    fn seeds(values: &[f64]) -> Sample {
        sample(values, |number| Key {
            fold: 0,
            seed: number,
        })
    }

    fn folds(values: &[f64]) -> Sample {
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
