//! Tables of means: rows of groups, columns of scores or of numbers that every run has.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use serde::Deserialize;

use crate::plan::{Measure, Plan, Where};
use crate::toml_file::did_you_mean;

/// One table: rows of groups, columns of scores.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct TablePlan {
    /// Name of its files and of its place on the page.
    pub(crate) id: String,
    pub(crate) title: String,
    /// Where the paper's numbers are from; empty for a table the paper does not have.
    #[serde(default)]
    pub(crate) source: String,
    /// A paragraph above the table.
    #[serde(default)]
    pub(crate) text: String,
    /// Heading over the names of the rows.
    pub(crate) stub: String,
    #[serde(rename = "column")]
    pub(crate) columns: Vec<ColumnPlan>,
    #[serde(rename = "row")]
    pub(crate) rows: Vec<RowPlan>,
    /// Repeats all rows once per part, each part with further conditions; none is one part without.
    #[serde(default, rename = "part")]
    pub(crate) parts: Vec<PartPlan>,
    /// Further conditions on every cell.
    #[serde(default, rename = "where")]
    pub(crate) conditions: Where,
}

/// One column: a final score of a split, or a number every run has.
#[derive(Debug, Deserialize)]
#[serde(try_from = "ColumnText")]
pub(crate) struct ColumnPlan {
    /// Key of the paper's values in the rows.
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) measure: Measure,
    /// Digits after the point.
    pub(crate) decimals: usize,
    /// Further conditions on the cells of this column.
    pub(crate) conditions: Where,
}

/// A column as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ColumnText {
    id: String,
    title: String,
    metric: Option<String>,
    split: Option<String>,
    field: Option<String>,
    #[serde(default = "three")]
    decimals: usize,
    #[serde(default, rename = "where")]
    conditions: Where,
}

impl TryFrom<ColumnText> for ColumnPlan {
    type Error = String;

    fn try_from(text: ColumnText) -> Result<Self, String> {
        let ColumnText {
            id,
            title,
            metric,
            split,
            field,
            decimals,
            conditions,
        } = text;
        let measure = match (metric, split, field) {
            (Some(metric), Some(split), None) => Measure::Score { metric, split },
            (None, None, Some(field)) => Measure::Field { field },
            _ => {
                return Err(format!(
                    "column `{id}`: expected `metric` and `split`, or `field` alone"
                ));
            }
        };
        Ok(Self {
            id,
            title,
            measure,
            decimals,
            conditions,
        })
    }
}

/// One row: a group, and what the paper reports for it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RowPlan {
    pub(crate) group: String,
    /// The paper's values by column; one that could not be recovered is left out.
    #[serde(default)]
    pub(crate) paper: BTreeMap<String, f64>,
}

/// A repetition of all rows under further conditions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct PartPlan {
    pub(crate) title: String,
    #[serde(rename = "where")]
    pub(crate) conditions: Where,
}

impl TablePlan {
    /// Checks what the types cannot.
    pub(super) fn check(&self, plan: &Plan, from: &str) -> Result<()> {
        for row in &self.rows {
            plan.group(&row.group, from)?;
            let unknown = |key: &&String| self.columns.iter().all(|column| column.id != **key);
            if let Some(key) = row.paper.keys().find(unknown) {
                let near = did_you_mean(key, self.columns.iter().map(|column| column.id.as_str()));
                bail!(
                    "{from}: row `{}`: the paper's value `{key}` has no column{near}",
                    row.group
                );
            }
        }
        Ok(())
    }
}

fn three() -> usize {
    3
}
