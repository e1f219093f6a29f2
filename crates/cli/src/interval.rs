//! Lengths of time as a person types them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Time between two checkpoints of a run, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval(pub Option<Duration>);

/// Checkpoints of a run.
#[derive(Debug, Clone, clap::Args)]
pub struct Checkpointing {
    /// Time between two checkpoints within a run, such as 90s, 10m or 2h, or `off`
    #[arg(long, value_name = "TIME", default_value = "10m")]
    pub checkpoint_every: Interval,
}

/// Units with their seconds.
const UNITS: [(&str, f64); 4] = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(time) = self.0 else {
            return f.write_str("off");
        };
        let milliseconds = time.as_millis();
        // The largest unit of which it is a whole number.
        let units = UNITS.map(|(unit, seconds)| (unit, (seconds * 1e3) as u128));
        let mut whole = units.iter().rev();
        let (unit, length) = whole
            .find(|(_, length)| milliseconds.is_multiple_of(*length))
            .unwrap_or(&units[0]);
        write!(f, "{}{unit}", milliseconds / length)
    }
}

impl FromStr for Interval {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self(None));
        }
        let expected = || {
            format!(
                "found `{text}`, expected a number with its unit, such as 90s, 10m or 2h, or `off`"
            )
        };
        let time = time(text).ok_or_else(expected)?;
        Ok(Self(Some(time)))
    }
}

/// Time for everything, of a second to 30 days.
///
/// # Errors
/// When `text` is anything else.
pub fn budget(text: &str) -> Result<Duration, String> {
    let limits = Duration::from_secs(1)..=Duration::from_secs(30 * 86_400);
    let budget = time(text).filter(|time| limits.contains(time));
    budget.ok_or_else(|| format!("found `{text}`, expected a time such as 90s, 10m, 1h or 5m30s"))
}

/// The sum of numbers with their units, such as `90s`, `1.5h` or `5m30s`.
fn time(text: &str) -> Option<Duration> {
    let is_letter = |c: char| c.is_ascii_alphabetic();
    let mut rest = text;
    let mut sum = Duration::ZERO;
    loop {
        let (number, others) = rest.split_at(rest.find(is_letter)?);
        let end = others.find(|c| !is_letter(c)).unwrap_or(others.len());
        let (unit, after) = others.split_at(end);
        let (_, seconds) = UNITS.iter().find(|(name, _)| *name == unit)?;
        let part = number.parse::<f64>().ok()? * seconds;
        sum = sum.checked_add(Duration::try_from_secs_f64(part).ok()?)?;
        if after.is_empty() {
            return Some(sum);
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_number_with_its_unit() {
        for (text, milliseconds) in [
            ("250ms", 250),
            ("90s", 90_000),
            ("10m", 600_000),
            ("1.5h", 5_400_000),
            ("0s", 0),
            ("5m30s", 330_000),
            ("1h30m", 5_400_000),
        ] {
            let time = Duration::from_millis(milliseconds);
            let parsed: Interval = text.parse().expect(text);
            assert_eq!(parsed, Interval(Some(time)), "{text}");
            assert_eq!(parsed.to_string().parse(), Ok(parsed), "{text}");
        }
        for text in ["250ms", "90s", "10m", "2h", "off"] {
            let parsed: Interval = text.parse().expect(text);
            assert_eq!(parsed.to_string(), text);
        }
        assert_eq!("off".parse(), Ok(Interval(None)));
        assert_eq!(budget("5m30s"), Ok(Duration::from_secs(330)));
        for text in ["off", "999ms", "0s", "721h"] {
            assert!(budget(text).is_err(), "{text}");
        }
        for text in [
            "",
            "10",
            "m",
            "5 minutes",
            "-1s",
            "NaNs",
            "1e400h",
            "1d",
            "5m30",
            "5m-3s",
        ] {
            let error = text.parse::<Interval>().expect_err(text);
            assert!(error.starts_with(&format!("found `{text}`")), "{error}");
        }
    }
}
