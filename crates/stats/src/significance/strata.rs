//! The mean of means: one number per stratum, each known from its own values.

use crate::student::{assert_level, quantile, t_two_sided_p};
use crate::summary::{Interval, mean, variance};

/// What is known about the mean over strata of each stratum's mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stratified {
    /// The mean over strata, each counting once whatever the number of its values.
    pub mean: f64,
    /// Interval for it at the level asked for.
    pub interval: Interval,
    /// The mean over its standard error.
    pub t: f64,
    /// Degrees of freedom after Welch and Satterthwaite.
    pub df: f64,
    /// Two-sided p-value for a mean of 0.
    pub p: f64,
    /// Strata with a single value, which were given the variance common to the others.
    pub single: usize,
}

/// Student's test and interval for the mean over fixed strata, such as tasks with paired differences over seeds.
///
/// With m strata of n values and variance s² each, the mean of the strata's means has the variance
/// V = Σ s²/n / m², and its degrees of freedom are V² / Σ (c s²)² / (n - 1) with c the weight of s² in V
/// (Satterthwaite 1946). With one stratum this is the t-test of its values; two with the values of one turned in
/// sign are Welch's test.
///
/// A stratum of one value has no variance of its own and takes the variance pooled over the others, Σ (n - 1) s²
/// / Σ (n - 1), which adds to the weights c. `None` where there is no stratum, one is empty, all have a single
/// value, or nothing varies.
///
/// # Panics
/// If `level` is not between 0 and 1.
pub fn stratified_t(strata: &[Vec<f64>], level: f64) -> Option<Stratified> {
    assert_level(level);
    if strata.is_empty() || strata.iter().any(Vec::is_empty) {
        return None;
    }
    let m = strata.len() as f64;
    let means: Vec<f64> = strata.iter().map(|values| mean(values)).collect();
    let several: Vec<&Vec<f64>> = strata.iter().filter(|values| values.len() > 1).collect();
    let single = strata.len() - several.len();
    let freedom = |values: &[f64]| values.len() as f64 - 1.0;
    let total: f64 = several.iter().map(|values| freedom(values)).sum();
    // Each stratum's share of V and its degrees of freedom.
    let shares: Vec<(f64, f64)> = several
        .iter()
        .map(|values| {
            let own = 1.0 / values.len() as f64;
            let lent = single as f64 * freedom(values) / total;
            (variance(values) * (own + lent) / (m * m), freedom(values))
        })
        .collect();
    let squared_error: f64 = shares.iter().map(|(share, _)| share).sum();
    let error = squared_error.sqrt();
    let mean = mean(&means);
    // Differences that are equal but for rounding have a spread of about 1e-17, which is no spread.
    let largest = strata
        .iter()
        .flatten()
        .fold(0.0f64, |most, value| most.max(value.abs()));
    if error.is_nan() || error <= 1e-13 * largest {
        return None;
    }
    let df = 1.0
        / shares
            .iter()
            .map(|(share, df)| (share / squared_error).powi(2) / df)
            .sum::<f64>();
    let t = mean / error;
    Some(Stratified {
        mean,
        interval: Interval::around(mean, quantile(0.5 + level / 2.0, df) * error),
        t,
        df,
        p: t_two_sided_p(t, df),
        single,
    })
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::{t_interval, welch};

    const A: [f64; 4] = [0.81, 0.83, 0.80, 0.84];
    const B: [f64; 3] = [0.79, 0.82, 0.80];

    #[test]
    fn one_stratum_is_the_t_interval_of_its_values() {
        let found = stratified_t(&[A.to_vec()], 0.95).expect("varies");
        let expected = t_interval(&A, 0.95).expect("four values");
        assert!((found.interval.low - expected.low).abs() < 1e-15);
        assert_eq!(found.df, 3.0);
    }

    #[test]
    fn two_strata_one_turned_in_sign_are_welchs_test() {
        let turned = B.map(|value| -value).to_vec();
        let found = stratified_t(&[A.to_vec(), turned], 0.95).expect("vary");
        let welch = welch(&A, &B).expect("vary");
        assert!((found.t - welch.t).abs() < 1e-12 && (found.df - welch.df).abs() < 1e-12);
        assert!((2.0 * found.interval.high - welch.interval.high).abs() < 1e-12);
    }

    #[test]
    fn every_stratum_counts_once_whatever_its_size() {
        let found = stratified_t(&[vec![1.0, 3.0], vec![10.0, 10.0, 10.0, 14.0]], 0.95);
        assert_eq!(found.expect("vary").mean, 6.5);
    }

    #[test]
    fn a_single_value_borrows_the_spread_of_the_others() {
        // One stratum of variance 2 and one value: V = (2/2 + 2) / 4 = 3/4, on the one degree of freedom there is.
        let found = stratified_t(&[vec![1.0, 3.0], vec![4.0]], 0.95).expect("one varies");
        assert_eq!((found.mean, found.single), (3.0, 1));
        assert!((found.t - 3.0 / 0.75f64.sqrt()).abs() < 1e-12);
        assert!((found.df - 1.0).abs() < 1e-12);
    }

    #[test]
    fn without_spread_or_values_there_is_no_test() {
        assert_eq!(stratified_t(&[], 0.95), None);
        assert_eq!(stratified_t(&[vec![1.0, 2.0], vec![]], 0.95), None);
        assert_eq!(stratified_t(&[vec![1.0], vec![2.0]], 0.95), None);
        assert_eq!(stratified_t(&[vec![0.1; 3], vec![0.2; 3]], 0.95), None);
        let rounding = vec![0.1 + 0.2, 0.3, 0.3];
        assert_eq!(stratified_t(&[rounding], 0.95), None);
    }

    #[test]
    fn intervals_hold_the_truth_about_as_often_as_they_say() {
        // Four tasks with spreads a factor of fifteen apart, three seeds each: the hard case of these pages.
        let mut random = ChaCha8Rng::seed_from_u64(1);
        // The sum of twelve uniform numbers less six is normal enough here.
        let mut normal = || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        let rounds = 4000;
        let held = (0..rounds)
            .filter(|_| {
                let strata = [0.002, 0.005, 0.01, 0.03]
                    .map(|sd: f64| (0..3).map(|_| sd * normal()).collect::<Vec<f64>>());
                let found = stratified_t(&strata, 0.95).expect("varies");
                found.interval.contains(0.0)
            })
            .count();
        let share = held as f64 / rounds as f64;
        assert!((0.94..0.985).contains(&share), "{share}");
    }
}
