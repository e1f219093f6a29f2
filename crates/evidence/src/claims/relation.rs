//! Relations between sides by a quantity.

use anyhow::{Result, ensure};
use serde::{Deserialize, Deserializer};

/// The paper's statement about a quantity: `relation = "greater"`, `relation = { at-most = 0.01 }`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Relation {
    /// Each side is above the next, or a trend rises.
    Greater,
    /// Printed numbers of the first side are above those of the second by more than so much.
    GreaterBy(f64),
    /// The sides are at most a margin apart; a correlation is at most a margin from 0.
    Equivalent,
    /// The first side is at most a margin below the second.
    NonInferior,
    /// The number is the one that the paper prints.
    Near(Near),
    AtMost(f64),
    AtLeast(f64),
    /// The paper's numbers or words agree with each other.
    #[default]
    Consistent,
}

/// A printed number, or several.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Near {
    /// Signed fractions. Left out for a mean, a table of `report.toml` gives the value.
    #[serde(default, deserialize_with = "one_or_many")]
    pub(crate) paper: Vec<f64>,
    /// The tolerance of a value. Left out for differences, whose own uncertainty decides, and for printed numbers,
    /// whose digits decide: a number computed from them has to round to `paper`.
    pub(crate) tolerance: Option<f64>,
}

fn one_or_many<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<f64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        One(f64),
        Many(Vec<f64>),
    }
    Ok(match Written::deserialize(input)? {
        Written::One(value) => vec![value],
        Written::Many(values) => values,
    })
}

impl Relation {
    /// Its name in `claims.toml`.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Greater => "greater",
            Self::GreaterBy(_) => "greater-by",
            Self::Equivalent => "equivalent",
            Self::NonInferior => "non-inferior",
            Self::Near(_) => "near",
            Self::AtMost(_) => "at-most",
            Self::AtLeast(_) => "at-least",
            Self::Consistent => "consistent",
        }
    }

    /// Checks that numbers are in range; `from` prefixes errors.
    pub(crate) fn check(&self, from: &str) -> Result<()> {
        match self {
            Self::GreaterBy(limit) | Self::AtMost(limit) | Self::AtLeast(limit) => ensure!(
                *limit > 0.0 && limit.is_finite(),
                "{from}: found {} = {limit}, expected more than 0",
                self.name()
            ),
            Self::Near(Near { tolerance, .. }) => ensure!(
                tolerance.is_none_or(|tolerance| tolerance > 0.0),
                "{from}: found tolerance = {}, expected more than 0",
                tolerance.unwrap_or_default()
            ),
            Self::Greater | Self::Equivalent | Self::NonInferior | Self::Consistent => {}
        }
        Ok(())
    }

    /// The paper's printed values; empty where it gives only a direction.
    pub(crate) fn papers(&self) -> &[f64] {
        match self {
            Self::Near(near) => &near.paper,
            _ => &[],
        }
    }

    /// The largest deviation that counts as equal.
    pub(crate) fn tolerance(&self) -> Option<f64> {
        match self {
            Self::Near(near) => near.tolerance,
            _ => None,
        }
    }

    /// Whether a number keeps the limit of this relation, where it has one.
    pub(crate) fn keeps(&self, value: f64) -> bool {
        match self {
            Self::AtMost(limit) => value <= limit + 1e-9,
            Self::AtLeast(limit) => value >= limit - 1e-9,
            Self::GreaterBy(limit) => value > limit + 1e-9,
            Self::Greater => value > 1e-9,
            _ => true,
        }
    }

    /// The limit of a number.
    pub(crate) fn limit(&self) -> f64 {
        match self {
            Self::GreaterBy(limit) | Self::AtMost(limit) | Self::AtLeast(limit) => *limit,
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_itself_is_kept_and_what_lies_beyond_is_not() {
        for (relation, below, at, above) in [
            (Relation::AtMost(0.3), true, true, false),
            (Relation::AtLeast(0.3), false, true, true),
            (Relation::GreaterBy(0.3), false, false, true),
            (Relation::Consistent, true, true, true),
        ] {
            // 0.1 + 0.2 is a little more than 0.3.
            let kept = [0.29, 0.1 + 0.2, 0.31].map(|value| relation.keeps(value));
            assert_eq!(kept, [below, at, above], "{relation:?}");
        }
    }
}
