//! Time limits as SLURM writes them.

use std::time::Duration;

/// A time limit as `sbatch --time` takes it: minutes, m:ss, h:mm:ss, d-hh, d-hh:mm or d-hh:mm:ss. One without end is
/// [`Duration::MAX`]; `None` where the text is none of these.
pub fn time_limit(text: &str) -> Option<Duration> {
    let endless = ["unlimited", "infinite"];
    if endless.iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Some(Duration::MAX);
    }
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (Some(number(days)?), rest),
        None => (None, text),
    };
    let parts: Option<Vec<u64>> = rest.split(':').map(number).collect();
    let (hours, minutes, seconds) = match (days, parts?.as_slice()) {
        (None, [minutes]) => (0, *minutes, 0),
        (None, [minutes, seconds]) => (0, *minutes, *seconds),
        (Some(_), [hours]) => (*hours, 0, 0),
        (Some(_), [hours, minutes]) => (*hours, *minutes, 0),
        (_, [hours, minutes, seconds]) => (*hours, *minutes, *seconds),
        _ => return None,
    };
    let hours = days.unwrap_or(0) * 24 + hours;
    Some(match (hours * 60 + minutes) * 60 + seconds {
        // As sbatch(1) has it.
        0 => Duration::MAX,
        seconds => Duration::from_secs(seconds),
    })
}

/// A number of at most ten digits, with which no sum of the above overflows.
fn number(text: &str) -> Option<u64> {
    let is_number = text.chars().all(|c| c.is_ascii_digit());
    text.parse::<u32>()
        .ok()
        .filter(|_| is_number)
        .map(u64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_sbatch_reads_them() {
        for (text, seconds) in [
            ("4", 240),
            ("4:30", 270),
            ("4:00:00", 14_400),
            ("1-2", 93_600),
            ("1-02:30", 95_400),
            ("1-02:30:01", 95_401),
        ] {
            assert_eq!(
                time_limit(text),
                Some(Duration::from_secs(seconds)),
                "{text}"
            );
        }
        for endless in ["0", "0:00:00", "UNLIMITED", "infinite"] {
            assert_eq!(time_limit(endless), Some(Duration::MAX), "{endless}");
        }
        for wrong in [
            "",
            "4h",
            "4 hours",
            "1:2:3:4",
            "-1",
            "1-",
            "+4",
            "4294967296",
        ] {
            assert_eq!(time_limit(wrong), None, "{wrong}");
        }
    }
}
