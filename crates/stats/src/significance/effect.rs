//! Effect sizes: the size of a difference, independent of its significance.

use std::f64::consts::FRAC_1_SQRT_2;

use statrs::function::erf::erfc;
use statrs::function::gamma::ln_gamma;

use crate::summary::{Interval, mean, variance};

/// Cohen's d: (ā - b̄) over the pooled standard deviation,
/// √(((nₐ - 1) sₐ² + (n_b - 1) s_b²) / (nₐ + n_b - 2)) (Cohen 1988, section 2.5).
///
/// `None` where a sample has fewer than two values or neither varies.
pub fn cohens_d(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let (df_a, df_b) = (a.len() as f64 - 1.0, b.len() as f64 - 1.0);
    let pooled = ((df_a * variance(a) + df_b * variance(b)) / (df_a + df_b)).sqrt();
    (pooled > 0.0).then(|| (mean(a) - mean(b)) / pooled)
}

/// A difference in standard deviations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HedgesG {
    /// The effect size.
    pub g: f64,
    /// Confidence interval of the effect size.
    pub interval: Interval,
}

/// Hedges' g: Cohen's d without its bias upwards, which is a quarter for twice three values (Hedges 1981, eq. 6e):
/// d Γ(m/2) / (√(m/2) Γ((m - 1)/2)) with m = nₐ + n_b - 2 degrees of freedom.
///
/// The interval takes all values as independent: t = d √(nₐ n_b / (nₐ + n_b)) is of a noncentral t distribution, and
/// its ends are the noncentralities that leave (1 - `level`)/2 on either side of t (Cumming and Finch 2001).
///
/// `None` where [`cohens_d`] is.
pub fn hedges_g(a: &[f64], b: &[f64], level: f64) -> Option<HedgesG> {
    let d = cohens_d(a, b)?;
    let (n_a, n_b) = (a.len() as f64, b.len() as f64);
    let df = n_a + n_b - 2.0;
    let unbiased = (ln_gamma(df / 2.0) - ln_gamma((df - 1.0) / 2.0)).exp() / (df / 2.0).sqrt();
    let scale = (n_a * n_b / (n_a + n_b)).sqrt();
    let end = |below: f64| noncentrality(d * scale, df, below) / scale * unbiased;
    let tail = (1.0 - level) / 2.0;
    Some(HedgesG {
        g: d * unbiased,
        interval: Interval {
            low: end(1.0 - tail),
            high: end(tail),
        },
    })
}

/// The noncentrality for which a share `below` of the distribution lies below `t`, by bisection.
fn noncentrality(t: f64, df: f64, below: f64) -> f64 {
    let far = 10.0 + 4.0 * t.abs();
    let (mut low, mut high) = (-far, far);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if noncentral_t(t, df, middle) > below {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// Steps of Simpson's rule.
const STEPS: usize = 600;

/// P(T ≤ t) for T = (Z + `delta`) / S, where Z is normal and S² is chi-squared over its `df` degrees of freedom: the
/// mean of Φ(t S - `delta`) over the density of S, 2 (df/2)^(df/2) / Γ(df/2) s^(df-1) e^(-df s²/2).
fn noncentral_t(t: f64, df: f64, delta: f64) -> f64 {
    let half = 0.5 * df;
    let scale = std::f64::consts::LN_2 + half * half.ln() - ln_gamma(half);
    let value = |s: f64| {
        let density = if s > 0.0 {
            (scale + (df - 1.0) * s.ln() - half * s * s).exp()
        } else {
            0.0
        };
        density * 0.5 * erfc((delta - t * s) * FRAC_1_SQRT_2)
    };
    // Ten standard deviations of S, which are no more than 1/√(2 df) each, on either side of about 1.
    let reach = 10.0 / (2.0 * df).sqrt();
    let (from, to) = ((1.0 - reach).max(0.0), 1.0 + reach);
    let step = (to - from) / STEPS as f64;
    let weight = |at: usize| match at {
        0 | STEPS => 1.0,
        at if at % 2 == 1 => 4.0,
        _ => 2.0,
    };
    let sum: f64 = (0..=STEPS)
        .map(|at| weight(at) * value(from + step * at as f64))
        .sum();
    sum * step / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_standard_deviation_apart_is_one() {
        assert_eq!(cohens_d(&[2.0, 3.0, 4.0], &[1.0, 2.0, 3.0]), Some(1.0));
    }

    #[test]
    fn few_values_make_less_of_it() {
        // Of four degrees of freedom Γ(2) / (√2 Γ(1.5)) is 1 / (√2 √π / 2) = 0.798.
        let found = hedges_g(&[2.0, 3.0, 4.0], &[1.0, 2.0, 3.0], 0.95).expect("both vary");
        assert!((found.g - 0.797885).abs() < 1e-6, "{found:?}");
        assert!(
            found.interval.low < 0.0 && found.interval.high > 2.0,
            "{found:?}"
        );
    }

    #[test]
    fn without_spread_there_is_no_effect_size() {
        assert_eq!(cohens_d(&[1.0, 1.0], &[2.0, 2.0]), None);
        assert_eq!(cohens_d(&[1.0], &[2.0, 3.0]), None);
        assert_eq!(hedges_g(&[1.0], &[2.0, 3.0], 0.95), None);
    }
}
