//! The values a setting may take in a search.

use anyhow::{Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;
use totune_data::stream;

/// Range of the values of one setting.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Range {
    /// One of these.
    Choices(Vec<Value>),
    /// A whole number, both ends included, all equally likely.
    Whole { from: i64, to: i64 },
    /// A number, uniform on its scale, rounded to three significant digits.
    Number { from: f64, to: f64, scale: Scale },
}

/// Scale on which a number is uniform.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Scale {
    /// Linear scale.
    #[default]
    Linear,
    /// Logarithmic scale.
    Log,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    from: toml::Value,
    to: toml::Value,
    #[serde(default)]
    scale: Scale,
}

impl Range {
    /// Reads a list of values, or `{ from, to, scale }`.
    pub fn read(value: toml::Value) -> Result<Self> {
        match value {
            toml::Value::Array(choices) => {
                let choices: Vec<Value> = choices
                    .into_iter()
                    .map(serde_json::to_value)
                    .collect::<Result<_, _>>()?;
                ensure!(
                    !choices.is_empty(),
                    "the list is empty; expected at least one value"
                );
                for (i, choice) in choices.iter().enumerate() {
                    ensure!(
                        !choices[..i].contains(choice),
                        "found {choice} twice, expected every value once"
                    );
                }
                Ok(Self::Choices(choices))
            }
            toml::Value::Table(table) => {
                let Written { from, to, scale } = Written::deserialize(table)
                    .map_err(|error| anyhow::anyhow!("{}", error.message()))?;
                Self::between(&from, &to, scale)
            }
            other => bail!(
                "found {other}, expected a list of values or {{ from = …, to = … }}, with scale = \"log\" or without"
            ),
        }
    }

    fn between(from: &toml::Value, to: &toml::Value, scale: Scale) -> Result<Self> {
        if let (&toml::Value::Integer(from), &toml::Value::Integer(to), Scale::Linear) =
            (from, to, scale)
        {
            ensure!(
                from < to,
                "found from = {from}, to = {to}; expected more to go to"
            );
            return Ok(Self::Whole { from, to });
        }
        let number = |value: &toml::Value| match *value {
            toml::Value::Float(number) if number.is_finite() => Ok(number),
            toml::Value::Integer(number) => Ok(number as f64),
            ref other => bail!("found {other}, expected a number"),
        };
        let (from, to) = (number(from)?, number(to)?);
        ensure!(
            from < to,
            "found from = {from}, to = {to}; expected more to go to"
        );
        ensure!(
            scale == Scale::Linear || from > 0.0,
            "found from = {from}, expected more than 0 for a scale of logarithms"
        );
        Ok(Self::Number { from, to, scale })
    }

    /// The list of values, if the range is one.
    pub fn choices(&self) -> Option<&[Value]> {
        match self {
            Self::Choices(choices) => Some(choices),
            _ => None,
        }
    }

    /// Number of values; `None` for overflow, and for numbers from 0 or below it, of which there are very many.
    pub fn size(&self) -> Option<usize> {
        match self {
            Self::Choices(choices) => Some(choices.len()),
            Self::Whole { from, to } => {
                usize::try_from(to.checked_sub(*from)?.checked_add(1)?).ok()
            }
            Self::Number { from, to, .. } if *from > 0.0 => {
                usize::try_from(rank(*to) - rank(*from) + 1).ok()
            }
            Self::Number { .. } => None,
        }
    }

    /// Draw number `number` for `path`; it depends on nothing else, so that more trials or other searched settings
    /// leave it unchanged.
    pub fn draw(&self, seed: u64, path: &str, number: u64) -> Value {
        // 53 random bits are a number from 0 to less than 1.
        let bits = next(seed, path, number) >> 11;
        let share = bits as f64 / (1u64 << 53) as f64;
        match self {
            Self::Choices(choices) => {
                choices[((share * choices.len() as f64) as usize).min(choices.len() - 1)].clone()
            }
            Self::Whole { from, to } => {
                let size = (to - from) as f64 + 1.0;
                Value::from((from + (share * size) as i64).min(*to))
            }
            Self::Number { from, to, scale } => {
                let drawn = match scale {
                    Scale::Linear => from + share * (to - from),
                    Scale::Log => (from.ln() + share * (to.ln() - from.ln())).exp(),
                };
                Value::from(rounded(drawn).clamp(*from, *to))
            }
        }
    }
}

fn next(seed: u64, path: &str, number: u64) -> u64 {
    use rand::Rng;
    stream(seed, &format!("search {path}"), number).next_u64()
}

/// The place of a number above 0 among all of three significant digits, which are 900 from one power of ten to the next.
fn rank(value: f64) -> i64 {
    let text = format!("{value:.2e}");
    let (digits, power) = text.split_once('e').expect("as it was just written");
    let digits: f64 = digits.parse().expect("a number");
    let power: i64 = power.parse().expect("a whole number");
    900 * power + (digits * 100.0).round() as i64 - 100
}

/// Rounds to three significant digits, so that a spec stays readable.
fn rounded(value: f64) -> f64 {
    format!("{value:.2e}")
        .parse()
        .expect("a number as it was just written")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Range> {
        let mut table: toml::Table = toml::from_str(&format!("x = {text}")).expect("TOML");
        Range::read(table.remove("x").expect("x"))
    }

    fn draws(text: &str) -> Vec<f64> {
        let range = read(text).expect("a range");
        (0..1000)
            .map(|number| {
                let drawn = range.draw(1, "x", number);
                drawn.as_f64().expect("a number")
            })
            .collect()
    }

    #[test]
    fn numbers_have_three_digits_and_so_are_not_endless() {
        for (text, expected) in [
            ("{ from = 0.1, to = 0.11 }", Some(11)),
            ("{ from = 0.9, to = 1.1 }", Some(111)),
            ("{ from = 1e-5, to = 1e-3, scale = \"log\" }", Some(1801)),
            ("{ from = 0.0, to = 1.0 }", None),
        ] {
            assert_eq!(read(text).expect("a range").size(), expected, "{text}");
        }
    }

    #[test]
    fn numbers_are_uniform_on_their_scale() {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let linear = draws("{ from = 0.1, to = 0.5 }");
        assert!(linear.iter().all(|x| (0.1..=0.5).contains(x)));
        // The mean of 1000 draws: 0.3 with a standard error of 0.0037.
        assert!((mean(&linear) - 0.3).abs() < 0.015);
        let log = draws("{ from = 1e-4, to = 1e-1, scale = 'log' }");
        assert!(log.iter().all(|x| (1e-4..=1e-1).contains(x)));
        let exponents: Vec<f64> = log.iter().map(|x| x.log10()).collect();
        assert!((mean(&exponents) + 2.5).abs() < 0.11); // standard error 0.027
        assert!(log.iter().all(|x| rounded(*x) == *x));
    }

    #[test]
    fn whole_numbers_include_both_ends_and_choices_all_of_them() {
        for (text, expected) in [
            ("{ from = 2, to = 5 }", [2, 3, 4, 5]),
            ("[8, 16, 32, 64]", [8, 16, 32, 64]),
        ] {
            let found: std::collections::BTreeSet<i64> =
                draws(text).iter().map(|x| *x as i64).collect();
            assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
        }
        assert!(
            read("{ from = 2, to = 5 }")
                .expect("whole")
                .draw(1, "x", 0)
                .as_u64()
                .is_some()
        );
    }

    #[test]
    fn a_draw_depends_on_its_seed_its_path_and_its_number() {
        let range = read("{ from = 0.0, to = 1.0 }").expect("a range");
        let first = range.draw(1, "x", 0);
        assert_eq!(first, range.draw(1, "x", 0));
        for other in [
            range.draw(2, "x", 0),
            range.draw(1, "y", 0),
            range.draw(1, "x", 1),
        ] {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for (text, expected) in [
            ("3", "found 3, expected a list of values or { from"),
            ("[]", "the list is empty; expected at least one value"),
            ("[1, 2, 1]", "found 1 twice, expected every value once"),
            ("{ from = 1 }", "missing field `to`"),
            (
                "{ from = 2, to = 1 }",
                "found from = 2, to = 1; expected more to go to",
            ),
            ("{ from = 'a', to = 1 }", "found \"a\", expected a number"),
            (
                "{ from = 0, to = 1, scale = 'log' }",
                "found from = 0, expected more than 0",
            ),
            (
                "{ from = 0.0, to = 1.0, steps = 3 }",
                "unknown field `steps`",
            ),
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
