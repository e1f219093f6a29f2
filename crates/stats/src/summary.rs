//! Summary of a sample of scores: mean, standard deviation, interval, quartiles.

use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::student;

/// The arithmetic mean; `NaN` for an empty sample.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The sample standard deviation, with n - 1 below the line; `NaN` for fewer than two values.
pub fn sd(values: &[f64]) -> f64 {
    variance(values).sqrt()
}

/// The sample variance, with n - 1 below the line; `NaN` for fewer than two values.
///
/// Two passes: the mean first, then the squared distances from it, minus the contribution of the mean's rounding (Chan,
/// Golub and LeVeque 1983), so that scores near 0.8 that differ in the fourth decimal lose nothing to cancellation.
/// Equal values give exactly 0.
pub(crate) fn variance(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return f64::NAN;
    }
    if values.iter().all(|&v| v == values[0]) {
        return 0.0;
    }
    let centre = mean(values);
    let (mut sum, mut squares) = (0.0, 0.0);
    for distance in values.iter().map(|v| v - centre) {
        sum += distance;
        squares += distance * distance;
    }
    (squares - sum * sum / values.len() as f64) / (values.len() - 1) as f64
}

/// A closed interval of plausible values.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// The interval `centre` ± `half`.
    pub fn around(centre: f64, half: f64) -> Self {
        Self {
            low: centre - half,
            high: centre + half,
        }
    }

    /// Returns true if `value` is within the interval, ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// The interval for the mean at confidence `level` (say 0.95) by Student's t with n - 1 degrees of freedom:
/// mean ± t · sd / √n.
///
/// `None` for fewer than two values. A constant sample gives an interval of no width, which says that nothing
/// varied and not that the mean is known.
///
/// # Panics
/// If `level` is not between 0 and 1.
pub fn t_interval(values: &[f64], level: f64) -> Option<Interval> {
    student::assert_level(level);
    if values.len() < 2 {
        return None;
    }
    let n = values.len() as f64;
    let half = student::quantile(0.5 + level / 2.0, n - 1.0) * sd(values) / n.sqrt();
    Some(Interval::around(mean(values), half))
}

/// The interval for a standard deviation that was estimated with `df` degrees of freedom, of normal numbers:
/// sd √(df / χ²) between the quantiles of χ² on either side.
///
/// `None` where nothing varies or `df` is not above 0.
///
/// # Panics
/// If `level` is not between 0 and 1.
pub fn sd_interval(sd: f64, df: f64, level: f64) -> Option<Interval> {
    student::assert_level(level);
    let chi_squared = ChiSquared::new(df).ok()?;
    let end = |p: f64| sd * (df / chi_squared.inverse_cdf(p)).sqrt();
    (sd > 0.0).then(|| Interval {
        low: end(0.5 + level / 2.0),
        high: end(0.5 - level / 2.0),
    })
}

/// Minimum, first quartile, median, third quartile and maximum, by linear interpolation between order
/// statistics: the q-quantile lies at position q (n - 1), counted from zero.
///
/// That is numpy's default and type 7 of Hyndman and Fan (1996). Five `NaN`s for an empty sample or one that
/// holds a `NaN`.
pub fn quartiles(values: &[f64]) -> [f64; 5] {
    if values.is_empty() || values.iter().any(|v| v.is_nan()) {
        return [f64::NAN; 5];
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    [0.0, 0.25, 0.5, 0.75, 1.0].map(|q| quantile_of_sorted(&sorted, q))
}

/// The `q`-quantile of an ascending, non-empty slice.
pub(crate) fn quantile_of_sorted(sorted: &[f64], q: f64) -> f64 {
    let position = q * (sorted.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    let share = position - below as f64;
    sorted[below] + share * (sorted[above] - sorted[below])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_of_one_to_five_is_the_root_of_two_and_a_half() {
        assert_eq!(sd(&[1.0, 2.0, 3.0, 4.0, 5.0]), 2.5f64.sqrt());
    }

    #[test]
    fn one_value_has_no_spread_and_no_interval() {
        assert!(sd(&[0.8]).is_nan());
        assert_eq!(t_interval(&[0.8], 0.95), None);
    }

    #[test]
    fn a_constant_sample_has_no_width() {
        let interval = t_interval(&[0.1; 7], 0.95).expect("seven values");
        assert_eq!(interval.low, interval.high);
    }

    #[test]
    fn the_interval_of_two_values_uses_the_wide_t_of_one_degree() {
        // t(0.975, 1) = tan(0.475 π) = 12.7062; half of |1 - 0| / √2 · t / √2.
        let interval = t_interval(&[0.0, 1.0], 0.95).expect("two values");
        let half = (0.475 * std::f64::consts::PI).tan() / 2.0;
        assert!((interval.high - (0.5 + half)).abs() < 1e-12);
        assert!(interval.contains(0.5) && !interval.contains(7.0));
    }

    #[test]
    fn quartiles_interpolate_between_neighbours() {
        assert_eq!(
            quartiles(&[4.0, 1.0, 3.0, 2.0]),
            [1.0, 1.75, 2.5, 3.25, 4.0]
        );
        assert_eq!(quartiles(&[7.0]), [7.0; 5]);
        assert!(quartiles(&[]).iter().all(|q| q.is_nan()));
    }

    #[test]
    #[should_panic(expected = "between 0 and 1")]
    fn a_level_in_percent_is_refused() {
        t_interval(&[0.0, 1.0], 95.0);
    }
}
