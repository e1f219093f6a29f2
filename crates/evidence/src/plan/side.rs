//! Sides of a comparison: groups of `report.toml`.

use anyhow::Result;
use serde::Deserialize;

use crate::plan::{Measure, Plan};

/// A group, or several whose runs are pooled.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Side {
    /// A group by name.
    One(String),
    /// Several groups by name.
    Pooled(Vec<String>),
}

impl Side {
    /// Names of the groups.
    pub fn names(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Pooled(names) => names,
        }
    }

    /// Titles of the groups, joined; `from` prefixes errors.
    pub(crate) fn title(&self, plan: &Plan, from: &str) -> Result<String> {
        let titles = self
            .names()
            .iter()
            .map(|name| Ok(plan.group(name, from)?.title.as_str()));
        Ok(titles.collect::<Result<Vec<_>>>()?.join(" + "))
    }

    /// The mean of the paper's cells for its groups, if it has them all.
    pub(crate) fn paper_mean(&self, plan: &Plan, measure: &Measure) -> Option<f64> {
        let cells = self
            .names()
            .iter()
            .map(|name| plan.paper_value(name, measure))
            .collect::<Option<Vec<_>>>()?;
        Some(totune_stats::mean(&cells))
    }
}
