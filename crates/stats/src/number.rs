//! Numbers as text, alike on axes, in tables and in sentences.

/// `value` with a fixed number of digits; never `-0`.
pub fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(digits) if digits.chars().all(|digit| matches!(digit, '0' | '.')) => digits.to_owned(),
        _ => text,
    }
}

/// A difference: [`fixed`] with its sign, also when it is positive.
pub fn signed(value: f64, decimals: usize) -> String {
    let text = fixed(value, decimals);
    let zero = text.chars().all(|digit| matches!(digit, '0' | '.'));
    if text.starts_with('-') || zero || !value.is_finite() {
        text
    } else {
        format!("+{text}")
    }
}

/// A count with commas between thousands.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 run`, `2 runs`.
pub fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// Digits after the point that a number was written with; trailing zeros are lost in reading TOML.
pub fn decimals(value: f64) -> usize {
    format!("{value}")
        .split_once('.')
        .map_or(0, |(_, digits)| digits.len())
}

/// A whole number of five digits or more with commas between thousands; any other text as it is.
pub fn readable(text: &str) -> String {
    match text.parse::<u64>() {
        Ok(value) if value >= 10_000 => count(value),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_fixed_digits_and_no_negative_zero() {
        assert_eq!(fixed(0.7955, 3), "0.795");
        assert_eq!(fixed(-0.0001, 3), "0.000");
        assert_eq!(signed(-0.0001, 3), "0.000");
        assert_eq!(signed(0.0125, 3), "+0.013");
        assert_eq!(signed(-0.5, 1), "-0.5");
    }

    #[test]
    fn thousands_are_apart() {
        assert_eq!(count(7613), "7,613");
        assert_eq!(count(109_482_240), "109,482,240");
        assert_eq!([0, 999, 1000].map(count), ["0", "999", "1,000"]);
        assert_eq!(
            (readable("12345").as_str(), readable("0.12345").as_str()),
            ("12,345", "0.12345")
        );
    }

    #[test]
    fn decimals_are_those_written() {
        assert_eq!((decimals(0.872), decimals(-1.5), decimals(16.0)), (3, 1, 0));
    }
}
