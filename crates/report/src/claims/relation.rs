//! How sides compare by a quantity, and what of that makes which verdict.

use anyhow::{Result, ensure};
use serde::{Deserialize, Deserializer};

use super::verdict::{self, Tested, Verdict, within};

/// What the paper says of a quantity: `relation = "greater"`, `relation = { at-most = 0.01 }`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Relation {
    /// Each side is above the next, or a trend rises.
    Greater,
    /// The first side is above the second by more than so much.
    GreaterBy(f64),
    /// There is nothing: no difference, no correlation.
    Null,
    /// The first side is not above the second.
    NonSuperior,
    /// The first side is at most so far below the second.
    NonInferior(f64),
    /// The sides are at most so far apart.
    Equivalent(f64),
    /// It is the number that the paper prints.
    Near(Near),
    AtMost(f64),
    AtLeast(f64),
    /// The paper's numbers or words agree with each other.
    #[default]
    Consistent,
}

/// A printed number, or several, and how far off still counts as the same.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Near {
    /// As a fraction with its sign. Left out for a mean, it is what a table of `report.toml` gives.
    #[serde(default, deserialize_with = "one_or_many")]
    pub(crate) paper: Vec<f64>,
    /// Left out where the digits of printed numbers decide: what is computed from them has to round to `paper`.
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
    /// As it is written.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Greater => "greater",
            Self::GreaterBy(_) => "greater-by",
            Self::Null => "null",
            Self::NonSuperior => "non-superior",
            Self::NonInferior(_) => "non-inferior",
            Self::Equivalent(_) => "equivalent",
            Self::Near(_) => "near",
            Self::AtMost(_) => "at-most",
            Self::AtLeast(_) => "at-least",
            Self::Consistent => "consistent",
        }
    }

    /// Numbers in range; `from` says who asks.
    pub(crate) fn check(&self, from: &str) -> Result<()> {
        match self {
            Self::GreaterBy(limit)
            | Self::NonInferior(limit)
            | Self::Equivalent(limit)
            | Self::AtMost(limit)
            | Self::AtLeast(limit) => ensure!(
                *limit > 0.0 && limit.is_finite(),
                "{from}: found {} = {limit}, expected more than 0",
                self.name()
            ),
            Self::Near(Near { tolerance, .. }) => ensure!(
                tolerance.is_none_or(|tolerance| tolerance > 0.0),
                "{from}: found tolerance = {}, expected more than 0",
                tolerance.unwrap_or_default()
            ),
            Self::Greater | Self::Null | Self::NonSuperior | Self::Consistent => {}
        }
        Ok(())
    }

    /// What the paper prints; empty where it gives a direction alone.
    pub(crate) fn papers(&self) -> &[f64] {
        match self {
            Self::Near(near) => &near.paper,
            _ => &[],
        }
    }

    /// How far off still counts as the same.
    pub(crate) fn tolerance(&self) -> Option<f64> {
        match self {
            Self::Near(near) => near.tolerance,
            _ => None,
        }
    }

    /// Whether a number keeps the limit that this sets, where it sets one.
    pub(crate) fn keeps(&self, value: f64) -> bool {
        match self {
            Self::Equivalent(limit) => within(value, *limit),
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
            Self::GreaterBy(limit)
            | Self::Equivalent(limit)
            | Self::AtMost(limit)
            | Self::AtLeast(limit) => *limit,
            _ => 0.0,
        }
    }

    /// The verdict on comparisons of runs, at least one.
    pub(crate) fn verdict(&self, tested: &[Tested]) -> Verdict {
        match self {
            Self::Near(near) => {
                verdict::of_differences(tested, &near.paper, near.tolerance.unwrap_or(0.0))
            }
            Self::Null => verdict::of_null(&tested[0]),
            Self::NonSuperior => verdict::of_non_superior(&tested[0]),
            Self::NonInferior(margin) => verdict::of_non_inferiority(&tested[0], *margin),
            Self::Equivalent(margin) => verdict::of_equivalence(&tested[0], *margin),
            Self::Greater
            | Self::GreaterBy(_)
            | Self::AtMost(_)
            | Self::AtLeast(_)
            | Self::Consistent => verdict::of_order(tested),
        }
    }
}
