//! Checks of groups of runs: their means, differences and spreads.

use anyhow::{Result, ensure};
use serde::Deserialize;

use crate::plan::Where;

/// What is measured on which runs; every check of runs has these.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Value {
    pub(crate) metric: String,
    pub(crate) split: String,
    #[serde(default, rename = "where")]
    pub(crate) conditions: Where,
    pub(crate) group: String,
    /// The paper's value; left out, it is the one a table of `report.toml` gives for the group and metric.
    pub(crate) paper: Option<f64>,
    /// How far off still counts as the same.
    pub(crate) tolerance: f64,
}

/// Groups from the highest to the lowest.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Order {
    pub(crate) metric: String,
    pub(crate) split: String,
    #[serde(default, rename = "where")]
    pub(crate) conditions: Where,
    pub(crate) groups: Vec<Side>,
}

/// `a - b`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Difference {
    pub(crate) metric: String,
    pub(crate) split: String,
    #[serde(default, rename = "where")]
    pub(crate) conditions: Where,
    pub(crate) a: Side,
    pub(crate) b: Side,
    /// The size the paper gives in words, with its sign.
    pub(crate) paper: f64,
    /// How far off still counts as the same size.
    pub(crate) tolerance: f64,
}

/// Two sides to compare.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Pair {
    pub(crate) metric: String,
    pub(crate) split: String,
    #[serde(default, rename = "where")]
    pub(crate) conditions: Where,
    pub(crate) a: Side,
    pub(crate) b: Side,
}

/// A group, or several whose runs are pooled.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum Side {
    One(String),
    Pooled(Vec<String>),
}

impl Side {
    /// Names of the groups.
    pub(crate) fn names(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Pooled(names) => names,
        }
    }
}

impl Order {
    pub(super) fn check(&self, from: &str) -> Result<()> {
        ensure!(
            self.groups.len() > 1,
            "{from}: found {} groups, expected at least two",
            self.groups.len()
        );
        Ok(())
    }
}

impl Difference {
    pub(super) fn check(&self, from: &str) -> Result<()> {
        ensure!(
            self.paper != 0.0,
            "{from}: found paper = 0, expected a difference; use `no-difference`"
        );
        Ok(())
    }
}
