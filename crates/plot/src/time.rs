//! Time axes: in seconds, minutes or hours, linear from 0 or by powers of ten.

use serde::Deserialize;
use totune_stats::number::{count, decimals, fixed};

use crate::axis::Axis;

/// Scale of a time axis.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Time {
    /// Linear, from 0.
    #[default]
    Linear,
    /// Logarithmic, by powers of ten, for times of different orders of magnitude.
    Log,
}

/// An axis whose ends are ticks.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeAxis {
    time: Time,
    /// First and last second.
    ends: (f64, f64),
    /// Seconds and label of each tick.
    pub ticks: Vec<(f64, String)>,
    /// Title with the unit: `Training time (minutes)`.
    pub title: String,
}

/// Units with their seconds.
const UNITS: [(&str, f64); 3] = [("seconds", 1.0), ("minutes", 60.0), ("hours", 3600.0)];

impl TimeAxis {
    /// The tightest axis with round ticks that holds all `seconds`, which are positive.
    pub fn around(seconds: impl Iterator<Item = f64>, time: Time) -> Self {
        let (low, high) = seconds.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), at| {
            (low.min(at), high.max(at))
        });
        let (low, high) = if high > 0.0 { (low, high) } else { (1.0, 10.0) };
        // On an even axis the longest time decides, with up to five minutes in seconds and three hours in minutes; by
        // powers the shortest one, so that no label is a small fraction.
        let (name, unit) = match time {
            Time::Linear if high <= 300.0 => UNITS[0],
            Time::Linear if high <= 10_800.0 => UNITS[1],
            Time::Linear => UNITS[2],
            Time::Log => UNITS
                .into_iter()
                .rfind(|(_, unit)| low >= *unit)
                .unwrap_or(UNITS[0]),
        };
        let ticks = match time {
            Time::Linear => {
                let axis = Axis::around([0.0, high / unit].into_iter(), 5);
                let label = |tick: &f64| match axis.decimals {
                    0 => count(tick.round() as u64),
                    decimals => fixed(*tick, decimals),
                };
                axis.ticks
                    .iter()
                    .map(|tick| (tick * unit, label(tick)))
                    .collect()
            }
            Time::Log => powers(low / unit, high / unit)
                .into_iter()
                .map(|tick| (tick * unit, power_label(tick)))
                .collect::<Vec<_>>(),
        };
        Self {
            time,
            ends: (ticks[0].0, ticks[ticks.len() - 1].0),
            ticks,
            title: format!("Training time ({name})"),
        }
    }

    /// Position of `seconds` along the axis, from 0 to 1.
    pub fn share(&self, seconds: f64) -> f64 {
        let (low, high) = self.ends;
        match self.time {
            Time::Linear => (seconds - low) / (high - low),
            Time::Log => (seconds / low).ln() / (high / low).ln(),
        }
    }

    /// Returns true if a straight line in time is one on the axis.
    pub fn is_even(&self) -> bool {
        self.time == Time::Linear
    }
}

/// Number of decades up to which there are ticks at 2 and 5 between the powers of ten.
const FINE: f64 = 3.0;

/// Ticks around `low` and `high` by powers of ten, with 2 and 5 between them where there is room.
pub(crate) fn powers(low: f64, high: f64) -> Vec<f64> {
    let factors: &[f64] = if (high / low).log10() <= FINE {
        &[1.0, 2.0, 5.0]
    } else {
        &[1.0]
    };
    let first = low.log10().floor() as i32;
    let last = high.log10().ceil() as i32 + 1;
    let all: Vec<f64> = (first..=last)
        .flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)))
        .collect();
    // A hair of tolerance keeps a time that is a tick from opening another step.
    let from = all
        .iter()
        .rposition(|tick| *tick <= low * (1.0 + 1e-9))
        .unwrap_or(0);
    let until = all
        .iter()
        .position(|tick| *tick >= high * (1.0 - 1e-9))
        .unwrap_or(all.len() - 1);
    all[from..=until.max(from + 1)].to_vec()
}

pub(crate) fn power_label(tick: f64) -> String {
    if tick >= 1.0 {
        count(tick.round() as u64)
    } else {
        // The fewest digits that identify the number; 0.2 may be 0.200…01.
        let rounded: f64 = fixed(tick, 9).parse().unwrap_or(tick);
        fixed(tick, decimals(rounded))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_one_would_say() {
        for (times, time, title, ticks) in [
            (
                &[4.0, 118.0][..],
                Time::Linear,
                "Training time (seconds)",
                "0 25 50 75 100 125",
            ),
            (
                &[1.4],
                Time::Linear,
                "Training time (seconds)",
                "0.0 0.5 1.0 1.5",
            ),
            (
                &[60.0, 1500.0],
                Time::Linear,
                "Training time (minutes)",
                "0 5 10 15 20 25",
            ),
            (
                &[68_000.0],
                Time::Linear,
                "Training time (hours)",
                "0 5 10 15 20",
            ),
            (
                &[3.0, 1500.0],
                Time::Log,
                "Training time (seconds)",
                "2 5 10 20 50 100 200 500 1,000 2,000",
            ),
            (
                &[120.0, 9000.0],
                Time::Log,
                "Training time (minutes)",
                "2 5 10 20 50 100 200",
            ),
            (
                &[0.02, 900.0],
                Time::Log,
                "Training time (seconds)",
                "0.01 0.1 1 10 100 1,000",
            ),
            (&[50.0], Time::Log, "Training time (seconds)", "50 100"),
            (&[], Time::Log, "Training time (seconds)", "1 2 5 10"),
        ] {
            let axis = TimeAxis::around(times.iter().copied(), time);
            let labels: Vec<&str> = axis.ticks.iter().map(|(_, label)| label.as_str()).collect();
            assert_eq!(
                (axis.title.as_str(), labels.join(" ").as_str()),
                (title, ticks)
            );
        }
    }

    #[test]
    fn times_lie_between_the_ends() {
        let even = TimeAxis::around([30.0, 100.0].into_iter(), Time::Linear);
        assert!((even.share(50.0) - 0.5).abs() < 1e-12);
        let powers = TimeAxis::around([1.0, 100.0].into_iter(), Time::Log);
        assert!((powers.share(10.0) - 0.5).abs() < 1e-12);
    }
}
