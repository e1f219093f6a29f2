//! Student's t distribution: tail, quantile.

use std::f64::consts::FRAC_1_SQRT_2;

use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::function::erf::erfc;

/// The probability that |T| is at least |t|, for T with `df` degrees of freedom (which may be fractional).
///
/// `NaN` where `t` is, or where `df` is not positive; 0 for an infinite `t`. Infinitely many degrees of freedom
/// give the normal tail.
pub fn t_two_sided_p(t: f64, df: f64) -> f64 {
    if t.is_nan() || df.is_nan() || df <= 0.0 {
        return f64::NAN;
    }
    if t.is_infinite() {
        return 0.0;
    }
    (2.0 * upper_tail(t.abs(), df)).min(1.0)
}

/// The probability that T is at least `t`, for T with `df` degrees of freedom; `NaN` as for [`t_two_sided_p`].
pub(crate) fn t_upper_p(t: f64, df: f64) -> f64 {
    let half = 0.5 * t_two_sided_p(t, df);
    if t > 0.0 { half } else { 1.0 - half }
}

/// The t ≥ 0 with P(T ≤ t) = `p`, for `p` of one half or more.
///
/// By bisection on the tail: the inverse that statrs 0.19 has is right to four digits only for a million
/// degrees of freedom.
pub(crate) fn quantile(p: f64, df: f64) -> f64 {
    let tail = 1.0 - p;
    let (mut low, mut high) = (0.0, 1.0);
    while upper_tail(high, df) > tail {
        (low, high) = (high, 2.0 * high);
    }
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return middle;
        }
        if upper_tail(middle, df) > tail {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// Degrees of freedom from which on the incomplete beta function loses more digits than the series of Hill
/// leaves out (its first term left out is of the order of df⁻⁶).
const MANY: f64 = 1000.0;

/// P(T ≥ t) for t ≥ 0.
fn upper_tail(t: f64, df: f64) -> f64 {
    if df < MANY {
        let distribution = StudentsT::new(0.0, 1.0, df).expect("degrees of freedom are positive");
        return distribution.cdf(-t);
    }
    normal_tail(if df.is_infinite() {
        t
    } else {
        as_normal(t, df)
    })
}

/// The normal deviate with the tail of `t` (G. W. Hill, Algorithm 395, CACM 13, 1970).
fn as_normal(t: f64, df: f64) -> f64 {
    let a = df - 0.5;
    let b = 48.0 * a * a;
    let square = a * (t * t / df).ln_1p();
    let z = square.sqrt();
    let third = (((4.0 * square + 33.0) * square + 240.0) * square + 855.0)
        / (10.0 * b * (b + 0.8 * square * square + 100.0));
    z * (1.0 + (square + 3.0) / b - third)
}

/// P(Z ≥ z) of the standard normal distribution.
pub(crate) fn normal_tail(z: f64) -> f64 {
    0.5 * erfc(z * FRAC_1_SQRT_2)
}

/// The z ≥ 0 with P(Z ≤ z) = `p`, for `p` of one half or more.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    quantile(p, f64::INFINITY)
}

#[track_caller]
pub(crate) fn assert_level(level: f64) {
    assert!(
        level > 0.0 && level < 1.0,
        "a level lies between 0 and 1, found {level}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_degree_of_freedom_is_cauchy() {
        // P(|T| ≥ 1) = 1 - (2/π) atan 1 = 1/2.
        assert!((t_two_sided_p(1.0, 1.0) - 0.5).abs() < 1e-14);
    }

    #[test]
    fn the_tail_is_symmetric_and_ends_at_one() {
        assert_eq!(t_two_sided_p(2.5, 7.3), t_two_sided_p(-2.5, 7.3));
        assert_eq!(t_two_sided_p(0.0, 7.3), 1.0);
        assert_eq!(t_two_sided_p(f64::INFINITY, 7.3), 0.0);
    }

    #[test]
    fn both_ways_to_the_tail_agree_where_they_meet() {
        for t in [0.3, 1.0, 1.96, 4.0, 9.0] {
            let (beta, series) = (upper_tail(t, MANY * (1.0 - 1e-12)), upper_tail(t, MANY));
            assert!(
                (beta / series - 1.0).abs() < 1e-9,
                "{t}: {beta:e} {series:e}"
            );
        }
    }

    #[test]
    fn endless_degrees_of_freedom_are_normal() {
        let p = t_two_sided_p(1.959963984540054, f64::INFINITY);
        assert!((p - 0.05).abs() < 1e-11, "{p}");
    }

    #[test]
    fn what_has_no_tail_is_not_a_number() {
        assert!(t_two_sided_p(f64::NAN, 3.0).is_nan());
        assert!(t_two_sided_p(1.0, 0.0).is_nan());
    }
}
