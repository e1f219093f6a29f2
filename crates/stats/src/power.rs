//! What a comparison of two samples could have seen: power, and the smallest difference worth looking for.
//!
//! Both concern Welch's test ([`crate::welch`]) of normal samples whose standard deviations are taken as known
//! when planning: T then follows the noncentral t distribution with Welch and Satterthwaite's degrees of
//! freedom and noncentrality difference / standard error.

use statrs::function::gamma::ln_gamma;

use crate::student::{assert_level, normal_tail, quantile};

/// One of two samples that are to be compared, before they are taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannedSample {
    /// Standard deviation of its values.
    pub sd: f64,
    /// How many values it will have.
    pub n: usize,
}

/// The probability that Welch's test at level `alpha` (two-sided) notices a true `difference`.
///
/// `NaN` where a sample has fewer than two values or a standard deviation is not a number; 1 where neither
/// sample varies and there is a difference.
///
/// # Panics
/// If `alpha` is not between 0 and 1.
pub fn welch_power(difference: f64, a: PlannedSample, b: PlannedSample, alpha: f64) -> f64 {
    assert_level(alpha);
    let Some(plan) = Plan::new(a, b, alpha) else {
        return f64::NAN;
    };
    if plan.error == 0.0 {
        return if difference == 0.0 { alpha } else { 1.0 };
    }
    plan.power(difference.abs() / plan.error)
}

/// The smallest true difference of means that Welch's test at level `alpha` (two-sided) notices with
/// probability `power`, by bisection on [`welch_power`].
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
    assert_level(alpha);
    assert_level(power);
    let Some(plan) = Plan::new(a, b, alpha) else {
        return f64::NAN;
    };
    if power <= alpha || plan.error == 0.0 {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    while plan.power(high) < power {
        (low, high) = (high, 2.0 * high);
    }
    while high - low > 1e-12 * high {
        let middle = 0.5 * (low + high);
        if plan.power(middle) < power {
            low = middle
        } else {
            high = middle
        }
    }
    high * plan.error
}

/// A comparison before it is made.
struct Plan {
    /// Standard error of the difference.
    error: f64,
    df: f64,
    /// The |t| from which on the test speaks.
    critical: f64,
}

impl Plan {
    fn new(a: PlannedSample, b: PlannedSample, alpha: f64) -> Option<Self> {
        if [a, b].iter().any(|each| each.n < 2 || !each.sd.is_finite()) {
            return None;
        }
        let variance = |each: PlannedSample| each.sd * each.sd / each.n as f64;
        let (va, vb) = (variance(a), variance(b));
        let error = (va + vb).sqrt();
        if error == 0.0 {
            return Some(Self {
                error,
                df: f64::NAN,
                critical: f64::NAN,
            });
        }
        let (share_a, share_b) = (va / (va + vb), vb / (va + vb));
        let df =
            1.0 / (share_a * share_a / (a.n - 1) as f64 + share_b * share_b / (b.n - 1) as f64);
        Some(Self {
            error,
            df,
            critical: quantile(1.0 - alpha / 2.0, df),
        })
    }

    /// P(|T| ≥ critical) for noncentrality `delta` ≥ 0.
    ///
    /// Given S = √(χ²/df), T is (Z + delta) / S, so the probability is the mean over S of
    /// Φ(delta - critical S) + Φ(-delta - critical S). With S = eˣ the integrand vanishes at both ends faster
    /// than exponentially, and the trapezoidal rule with a step of a quarter of its narrowest feature is exact to
    /// rounding (Trefethen and Weideman 2014).
    fn power(&self, delta: f64) -> f64 {
        let df = self.df;
        // ln of the density of x: 2 (df/2)^(df/2) / Γ(df/2) · e^(df x - df e^(2x) / 2).
        let constant = 2f64.ln() + 0.5 * df * (0.5 * df).ln() - ln_gamma(0.5 * df);
        let (left, right) = (-(40.0 / df + 9.0 / df.sqrt()), (9.0 / df.sqrt()).ln_1p());
        let narrowest = (1.0 / (2.0 * df).sqrt()).min(1.0 / delta.max(1.0));
        let steps = ((right - left) / (0.25 * narrowest)).ceil();
        let h = (right - left) / steps;
        let sum: f64 = (0..=steps as usize)
            .map(|i| {
                let x = left + h * i as f64;
                let s = x.exp();
                let density = (constant + df * x - 0.5 * df * s * s).exp();
                density
                    * (normal_tail(self.critical * s - delta)
                        + normal_tail(self.critical * s + delta))
            })
            .sum();
        h * sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(sd: f64, n: usize) -> PlannedSample {
        PlannedSample { sd, n }
    }

    #[test]
    fn without_a_difference_the_power_is_the_level() {
        for (n_a, n_b, alpha) in [(2, 2, 0.05), (10, 10, 0.01), (3, 50, 0.2)] {
            let power = welch_power(0.0, sample(1.0, n_a), sample(2.0, n_b), alpha);
            assert!((power - alpha).abs() < 1e-10, "{n_a} {n_b}: {power}");
        }
    }

    #[test]
    fn the_smallest_difference_has_the_power_asked_for() {
        let (a, b) = (sample(0.028, 10), sample(0.0137, 10));
        let difference = minimal_detectable_difference(a, b, 0.05, 0.8);
        assert!((welch_power(difference, a, b, 0.05) - 0.8).abs() < 1e-9);
    }

    #[test]
    fn large_samples_need_the_normal_difference() {
        // (1.959964 + 0.841621) √(2/n).
        let expected = 2.801585 * (2.0 / 1e6f64).sqrt();
        let large = sample(1.0, 1_000_000);
        let found = minimal_detectable_difference(large, large, 0.05, 0.8);
        assert!((found / expected - 1.0).abs() < 1e-5, "{found} {expected}");
    }

    #[test]
    fn without_spread_any_difference_shows_and_without_values_none_can_be_named() {
        let detectable = |a, b| minimal_detectable_difference(a, b, 0.05, 0.8);
        assert_eq!(detectable(sample(0.0, 5), sample(0.0, 5)), 0.0);
        assert!(detectable(sample(1.0, 1), sample(1.0, 5)).is_nan());
        assert!(detectable(sample(f64::NAN, 5), sample(1.0, 5)).is_nan());
    }
}
