//! Power of a comparison, its smallest detectable difference or margin, and the number of seeds needed.
//!
//! Standard errors are taken as known when planning: T then follows the noncentral t distribution with the degrees of
//! freedom of the [`Estimate`] and noncentrality difference / standard error.

use statrs::function::gamma::ln_gamma;

use crate::significance::Estimate;
use crate::student::{assert_level, normal_tail, quantile};

/// Upper limit of the number of seeds, beyond which [`Estimate::seeds_needed`] returns `None`.
const MOST_SEEDS: usize = 1000;

/// A planned sample of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannedSample {
    /// Standard deviation of its values.
    pub sd: f64,
    /// Number of values.
    pub n: usize,
}

/// The smallest true difference of means that Welch's test at level `alpha` (two-sided) notices with probability
/// `power`.
///
/// `NaN` where a sample has fewer than two values or a standard deviation is not a number; 0 where neither
/// sample varies.
///
/// # Panics
/// If `alpha` or `power` is not between 0 and 1.
pub fn minimal_detectable_difference(
    a: PlannedSample,
    b: PlannedSample,
    alpha: f64,
    power: f64,
) -> f64 {
    if [a, b].iter().any(|each| each.n < 2 || !each.sd.is_finite()) {
        return f64::NAN;
    }
    let variance = |each: PlannedSample| each.sd * each.sd / each.n as f64;
    let (va, vb) = (variance(a), variance(b));
    let error = (va + vb).sqrt();
    if error == 0.0 {
        return 0.0;
    }
    let (share_a, share_b) = (va / (va + vb), vb / (va + vb));
    let df = 1.0 / (share_a * share_a / (a.n - 1) as f64 + share_b * share_b / (b.n - 1) as f64);
    let value = 0.0;
    Estimate { value, error, df }.detectable(alpha, power)
}

impl Estimate {
    /// The probability that a test like this one at level `alpha` (two-sided) notices a true `difference`.
    ///
    /// # Panics
    /// If `alpha` is not between 0 and 1.
    pub fn power(&self, difference: f64, alpha: f64) -> f64 {
        assert_level(alpha);
        let critical = quantile(1.0 - alpha / 2.0, self.df);
        let delta = difference.abs() / self.error;
        self.mean_over_spread(delta, f64::INFINITY, |s| {
            normal_tail(critical * s - delta) + normal_tail(critical * s + delta)
        })
    }

    /// The smallest true difference that such a test at level `alpha` (two-sided) notices with probability `power`.
    ///
    /// # Panics
    /// If `alpha` or `power` is not between 0 and 1.
    pub fn detectable(&self, alpha: f64, power: f64) -> f64 {
        assert_level(power);
        if power <= alpha {
            return 0.0;
        }
        self.error * smallest(|sizes| self.power(sizes * self.error, alpha) >= power)
    }

    /// The probability that two one-sided tests at level `alpha` show a true `difference` to be within `margin` of 0.
    ///
    /// # Panics
    /// If `alpha` is not between 0 and 1.
    pub fn equivalence_power(&self, difference: f64, margin: f64, alpha: f64) -> f64 {
        assert_level(alpha);
        let critical = quantile(1.0 - alpha, self.df);
        let (delta, edge) = (difference / self.error, margin / self.error);
        // A larger spread leaves no room within the margin.
        self.mean_over_spread(edge, edge / critical, |s| {
            let reach = edge - critical * s;
            normal_tail(-reach - delta) - normal_tail(reach - delta)
        })
    }

    /// The smallest margin within which two one-sided tests at level `alpha` show a true difference of 0 to lie with
    /// probability `power`.
    ///
    /// # Panics
    /// If `alpha` or `power` is not between 0 and 1.
    pub fn detectable_margin(&self, alpha: f64, power: f64) -> f64 {
        assert_level(power);
        self.error
            * smallest(|sizes| self.equivalence_power(0.0, sizes * self.error, alpha) >= power)
    }

    /// Smallest number of seeds m on each side, in place of `n`, at which `decides` returns true for the estimate, with
    /// its variance multiplied by n/m and its degrees of freedom by (m - 1)/(n - 1); `None` if 1,000 are not enough.
    pub fn seeds_needed(&self, n: f64, decides: impl Fn(&Self) -> bool) -> Option<usize> {
        let with = |m: usize| Self {
            error: self.error * (n / m as f64).sqrt(),
            df: self.df * (m as f64 - 1.0) / (n - 1.0),
            ..*self
        };
        if n <= 1.0 || !decides(&with(MOST_SEEDS)) {
            return None;
        }
        let (mut low, mut high) = (1, MOST_SEEDS);
        while high - low > 1 {
            let middle = low.midpoint(high);
            if decides(&with(middle)) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Some(high)
    }

    /// The mean over S = √(χ²/df) of `value` up to `until`, of 0 beyond; its features are about 1/`steepness` wide.
    ///
    /// Given S, T is (Z + δ) / S, so that probabilities of T are such means of normal ones. With S = eˣ the integrand
    /// vanishes at both ends faster than exponentially, and the trapezoidal rule with a step of a quarter of its
    /// narrowest feature is exact to rounding (Trefethen and Weideman 2014). Where it ends before, Simpson's rule is
    /// good to six digits.
    fn mean_over_spread(&self, steepness: f64, until: f64, value: impl Fn(f64) -> f64) -> f64 {
        let df = self.df;
        // ln of the density of x: 2 (df/2)^(df/2) / Γ(df/2) · e^(df x - df e^(2x) / 2).
        let constant = 2f64.ln() + 0.5 * df * (0.5 * df).ln() - ln_gamma(0.5 * df);
        let (left, all) = (-(40.0 / df + 9.0 / df.sqrt()), (9.0 / df.sqrt()).ln_1p());
        let right = all.min(until.ln()).max(left);
        let narrowest = (1.0 / (2.0 * df).sqrt()).min(1.0 / steepness.max(1.0));
        let finer = if right < all { 4.0 } else { 1.0 };
        let steps = 2.0 * (finer * (right - left) / (0.5 * narrowest)).ceil().max(1.0);
        let h = (right - left) / steps;
        let weight = |i: usize| match (right < all, i.is_multiple_of(2)) {
            (false, _) => 1.0,
            (true, _) if i == 0 || i == steps as usize => 1.0 / 3.0,
            (true, true) => 2.0 / 3.0,
            (true, false) => 4.0 / 3.0,
        };
        let sum: f64 = (0..=steps as usize)
            .map(|i| {
                let x = left + h * i as f64;
                let s = x.exp();
                weight(i) * (constant + df * x - 0.5 * df * s * s).exp() * value(s)
            })
            .sum();
        h * sum
    }
}

/// Smallest x > 0 from which on `holds` is true, by bisection.
fn smallest(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while !holds(high) {
        (low, high) = (high, 2.0 * high);
    }
    while high - low > 1e-12 * high {
        let middle = 0.5 * (low + high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(error: f64, df: f64) -> Estimate {
        let value = 0.0;
        Estimate { value, error, df }
    }

    /// Two samples of `n` with standard deviation 1.
    fn unpaired(n: f64) -> Estimate {
        estimate((2.0 / n).sqrt(), 2.0 * (n - 1.0))
    }

    #[test]
    fn without_a_difference_the_power_is_the_level() {
        for (error, df, alpha) in [(1.0, 1.3, 0.05), (0.5, 18.0, 0.01), (2.0, 50.0, 0.2)] {
            let power = estimate(error, df).power(0.0, alpha);
            assert!((power - alpha).abs() < 1e-10, "{df}: {power}");
        }
    }

    #[test]
    fn large_samples_need_the_normal_difference() {
        // (1.959964 + 0.841621) √(2/n).
        let expected = 2.801585 * (2.0 / 1e6f64).sqrt();
        let large = PlannedSample {
            sd: 1.0,
            n: 1_000_000,
        };
        let found = minimal_detectable_difference(large, large, 0.05, 0.8);
        assert!((found / expected - 1.0).abs() < 1e-5, "{found} {expected}");
    }

    #[test]
    fn without_spread_any_difference_shows_and_without_values_none_can_be_named() {
        let sample = |sd, n| PlannedSample { sd, n };
        let detectable = |a, b| minimal_detectable_difference(a, b, 0.05, 0.8);
        assert_eq!(detectable(sample(0.0, 5), sample(0.0, 5)), 0.0);
        assert!(detectable(sample(1.0, 1), sample(1.0, 5)).is_nan());
        assert!(detectable(sample(f64::NAN, 5), sample(1.0, 5)).is_nan());
    }

    #[test]
    fn three_five_and_ten_seeds_show_differences_of_3_2_and_1_3_standard_deviations() {
        // With equal spreads, whose degrees of freedom Welch's test has to estimate; margins as `estimates.py`
        // integrates them.
        for (n, difference, margin) in [(3.0, 3.07, 2.922), (5.0, 2.02, 2.032), (10.0, 1.33, 1.361)]
        {
            let found = unpaired(n);
            assert!(
                (found.detectable(0.05, 0.8) - difference).abs() < 0.006,
                "{n}"
            );
            assert!(
                (found.detectable_margin(0.05, 0.8) - margin).abs() < 0.001,
                "{n}"
            );
        }
    }

    #[test]
    fn a_difference_of_one_standard_deviation_takes_17_seeds_and_equivalence_within_it_18() {
        let found = unpaired(3.0);
        let power = |size: f64| move |with: &Estimate| with.power(size, 0.05) >= 0.8;
        assert_eq!(found.seeds_needed(3.0, power(1.0)), Some(17));
        assert_eq!(found.seeds_needed(3.0, power(2.0)), Some(6));
        assert_eq!(found.seeds_needed(3.0, power(1e-6)), None);
        let alike = |with: &Estimate| with.equivalence_power(0.0, 1.0, 0.05) >= 0.8;
        assert_eq!(found.seeds_needed(3.0, alike), Some(18));
    }
}
