//! Numbers and words in sentences and cells: fixed digits, units, p-values, counts.

use std::collections::BTreeMap;
use std::fmt::Display;

use totune_stats::Interval;
pub use totune_stats::number::{count, counted, decimals, fixed, readable, signed};

/// Number format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// The number itself, with so many digits.
    Plain(usize),
    /// A difference of scores, in hundredths: `+0.66 points`.
    Points,
    /// A share, in hundredths: `33.5 %`.
    Percent,
}

impl Scale {
    /// The number without its unit.
    pub fn number(self, value: f64) -> String {
        match self {
            Self::Plain(decimals) => fixed(value, decimals),
            Self::Points => fixed(value * 100.0, 2),
            Self::Percent => fixed(value * 100.0, 1),
        }
    }

    /// The number with its sign, also when it is positive; without its unit.
    pub fn signed(self, value: f64) -> String {
        match self {
            Self::Plain(decimals) => signed(value, decimals),
            Self::Points => signed(value * 100.0, 2),
            Self::Percent => signed(value * 100.0, 1),
        }
    }

    /// An interval without its unit: `[-1.20, 3.00]`.
    pub fn interval(self, Interval { low, high }: Interval) -> String {
        format!("[{}, {}]", self.number(low), self.number(high))
    }

    /// The unit that follows the number.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Plain(_) => "",
            Self::Points => " points",
            Self::Percent => " %",
        }
    }

    /// The number with its unit, without a sign.
    pub fn amount(self, value: f64) -> String {
        format!("{}{}", self.number(value), self.unit())
    }

    /// The number with sign and unit.
    pub fn text(self, value: f64) -> String {
        format!("{}{}", self.signed(value), self.unit())
    }

    /// A value of the paper: with its sign and as many digits as were written, without its unit.
    pub(crate) fn printed(self, value: f64) -> String {
        let written = decimals(value);
        match self {
            Self::Plain(least) => signed(value, written.max(least)),
            Self::Points => signed(value * 100.0, written.saturating_sub(2).max(2)),
            Self::Percent => signed(value * 100.0, written.saturating_sub(2).max(1)),
        }
    }
}

/// A p-value: three digits, or the bound that three digits can show.
pub fn p_value(p: f64) -> String {
    if p < 0.001 {
        "< 0.001".to_owned()
    } else {
        fixed(p, 3)
    }
}

/// `p = 0.012` or `p < 0.001`.
pub fn p_equals(p: f64) -> String {
    let text = p_value(p);
    if text.starts_with('<') {
        format!("p {text}")
    } else {
        format!("p = {text}")
    }
}

/// Seconds with three digits, or all of a larger number: `0.42`, `4.20`, `42.0`, `420`, `4,200`.
pub fn seconds(value: f64) -> String {
    match value {
        ..9.995 => fixed(value, 2),
        ..99.95 => fixed(value, 1),
        _ => count(value.round() as u64),
    }
}

/// `2 diverged, 1 failed`; empty where there is nothing.
pub fn counts(counts: &BTreeMap<impl Display, usize>) -> String {
    let parts = counts.iter().map(|(what, n)| format!("{n} {what}"));
    parts.collect::<Vec<_>>().join(", ")
}

/// `a`, `a and b`, `a, b and c`.
pub fn joined(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A title within a sentence: its first letter small, unless the word is an abbreviation or a single letter.
pub fn in_sentence(title: &str) -> String {
    let mut letters = title.chars();
    let first = letters.next();
    let word = letters.as_str().split(' ').next().unwrap_or_default();
    let is_name = word.is_empty() || word.chars().any(char::is_uppercase);
    match first {
        Some(first) if !is_name => first.to_lowercase().chain(letters).collect(),
        _ => title.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_fit_into_sentences() {
        for (title, expected) in [
            ("All layers", "all layers"),
            ("BERT", "BERT"),
            ("LoRA, rank 8", "LoRA, rank 8"),
            ("A", "A"),
            ("12 layers", "12 layers"),
            ("", ""),
        ] {
            assert_eq!(in_sentence(title), expected);
        }
        assert_eq!(joined(&["a", "b", "c"]), "a, b and c");
        assert_eq!((joined(&["a"]).as_str(), joined(&[]).as_str()), ("a", ""));
    }

    #[test]
    fn shares_and_points_are_hundredths() {
        assert_eq!(Scale::Points.text(0.0066), "+0.66 points");
        assert_eq!(Scale::Percent.text(-0.05), "-5.0 %");
        assert_eq!(Scale::Plain(3).text(0.5), "+0.500");
        assert_eq!(Scale::Points.printed(-0.002125), "-0.2125");
        assert_eq!(Scale::Points.printed(0.0066), "+0.66");
        assert_eq!(Scale::Percent.printed(0.3348), "+33.48");
        assert_eq!(Scale::Percent.printed(0.4), "+40.0");
    }

    #[test]
    fn small_p_values_are_bounds() {
        assert_eq!(p_equals(0.00002), "p < 0.001");
        assert_eq!(p_equals(0.1529), "p = 0.153");
    }

    #[test]
    fn seconds_have_three_digits() {
        let shown = [0.416, 4.2, 9.996, 42.04, 99.96, 4199.6].map(seconds);
        assert_eq!(shown, ["0.42", "4.20", "10.0", "42.0", "100", "4,200"]);
    }
}
