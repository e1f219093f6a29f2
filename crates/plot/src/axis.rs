//! Linear axes: round ticks, and the position of a value between the ends.

use totune_stats::number::fixed;

/// A linear axis whose ends are ticks.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Tick values, ascending; the first and last are the ends.
    pub ticks: Vec<f64>,
    /// Number of decimal places needed to distinguish the ticks.
    pub decimals: usize,
}

impl Axis {
    /// The tightest axis with about `wanted` steps of 1, 2, 2.5 or 5 times a power of ten that holds all `values`.
    ///
    /// Values that are not finite do not count; without any, the axis runs from 0 to 1.
    pub fn around(values: impl Iterator<Item = f64>, wanted: usize) -> Self {
        let (low, high) = values
            .filter(|value| value.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        // A span of rounding errors is none.
        let least = 1e-9 * low.abs().max(high.abs());
        let (low, high) = match high - low {
            span if span > least && span > 1e-12 => (low, high),
            _ if low.is_finite() => (low - 0.05, low + 0.05),
            _ => (0.0, 1.0),
        };
        let (step, decimals) = round_step((high - low) / wanted as f64);
        // A hair of tolerance keeps a value that is a tick from opening another step.
        let first = (low / step + 1e-9).floor() as i64;
        let last = (high / step - 1e-9).ceil() as i64;
        Self {
            ticks: (first..=last).map(|tick| tick as f64 * step).collect(),
            decimals,
        }
    }

    /// Place of each tick in the picture, with its number.
    pub(crate) fn labelled(&self, place: impl Fn(f64) -> f64) -> Vec<(f64, String)> {
        let label = |&tick: &f64| (place(tick), fixed(tick, self.decimals));
        self.ticks.iter().map(label).collect()
    }

    /// Position of `value` along the axis, from 0 to 1.
    pub fn share(&self, value: f64) -> f64 {
        let (low, high) = (self.ticks[0], self.ticks[self.ticks.len() - 1]);
        (value - low) / (high - low)
    }
}

/// The smallest round step of at least `rough`, and the decimals it needs.
fn round_step(rough: f64) -> (f64, usize) {
    let magnitude = rough.log10().floor() as i32;
    let unit = 10f64.powi(magnitude);
    let (factor, extra) = [(1.0, 0), (2.0, 0), (2.5, 1), (5.0, 0), (10.0, -1)]
        .into_iter()
        .find(|(factor, _)| factor * unit >= rough * (1.0 - 1e-9))
        .unwrap_or((10.0, -1));
    (factor * unit, (extra - magnitude).max(0) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_hold_the_values() {
        check(
            &[0.71, 0.80],
            5,
            &["0.700", "0.720", "0.740", "0.760", "0.780", "0.800"],
            2,
        );
        check(
            &[0.0, 1.0],
            5,
            &["0.000", "0.200", "0.400", "0.600", "0.800", "1.000"],
            1,
        );
        check(
            &[0.8123, 0.8168],
            5,
            &["0.812", "0.813", "0.814", "0.815", "0.816", "0.817"],
            3,
        );
        check(
            &[3.0, 47.0],
            5,
            &["0.000", "10.000", "20.000", "30.000", "40.000", "50.000"],
            0,
        );
        check(
            &[-0.02, 0.03],
            5,
            &["-0.020", "-0.010", "0.000", "0.010", "0.020", "0.030"],
            2,
        );
    }

    #[test]
    fn one_value_sits_in_the_middle() {
        let axis = Axis::around([0.5].into_iter(), 5);
        assert!((axis.share(0.5) - 0.5).abs() < 1e-9, "{axis:?}");
    }

    #[test]
    fn no_value_gives_the_unit_axis() {
        let axis = Axis::around([f64::NAN].into_iter(), 5);
        assert_eq!((axis.ticks[0], axis.ticks[5]), (0.0, 1.0));
    }

    #[track_caller]
    fn check(values: &[f64], wanted: usize, ticks: &[&str], decimals: usize) {
        let axis = Axis::around(values.iter().copied(), wanted);
        let found: Vec<String> = axis.ticks.iter().map(|tick| format!("{tick:.3}")).collect();
        assert_eq!(
            (found, axis.decimals),
            (
                ticks.iter().map(|tick| tick.to_string()).collect(),
                decimals
            )
        );
    }
}
