//! A length of time as a person types it.

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
        let end = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = UNITS.iter().find(|(unit, _)| *unit == &text[end.len()..]);
        let (_, seconds) = unit.ok_or_else(expected)?;
        let number: f64 = end.parse().map_err(|_| expected())?;
        let time = Duration::try_from_secs_f64(number * seconds).map_err(|_| expected())?;
        Ok(Self(Some(time)))
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
        for text in ["", "10", "m", "5 minutes", "-1s", "NaNs", "1e400h", "1d"] {
            let error = text.parse::<Interval>().expect_err(text);
            assert!(error.starts_with(&format!("found `{text}`")), "{error}");
        }
    }
}
