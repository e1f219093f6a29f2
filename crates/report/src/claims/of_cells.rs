//! Checks of the paper's own cells in a matrix of `report.toml`: orders, and differences that it prints.

use anyhow::{Result, ensure};
use serde::Deserialize;

use crate::matrix::MatrixPlan;
use crate::plan::Plan;
use crate::toml_file::did_you_mean;

/// How two rows of the paper lie to each other in some columns.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Cells {
    /// The id of a matrix.
    pub(crate) table: String,
    /// Names of rows; several are each held against `b`.
    pub(crate) a: Vec<String>,
    pub(crate) b: String,
    /// Tasks; all that both rows have a number in, unless named.
    #[serde(default)]
    pub(crate) columns: Vec<String>,
    pub(crate) expect: Lie,
    /// For `similar`, the largest difference that still is; for the others, the smallest that counts (0 unless given).
    #[serde(default)]
    pub(crate) limit: f64,
}

/// How `a` lies to `b`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Lie {
    Above,
    Below,
    Similar,
}

/// Differences that a row prints, against the cells they are of.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct PrintedDifferences {
    pub(crate) table: String,
    /// Names of rows that are differences and have the paper's cells.
    pub(crate) rows: Vec<String>,
}

impl Cells {
    pub(super) fn check(&self, plan: &Plan, from: &str) -> Result<()> {
        let table = matrix(plan, &self.table, from)?;
        for row in self.a.iter().chain([&self.b]) {
            table.row(row, from)?;
        }
        for column in &self.columns {
            let known = || table.columns.iter().map(|column| column.task.as_str());
            ensure!(
                known().any(|task| task == column),
                "{from}: `{column}` is no column of `{}`{}",
                self.table,
                did_you_mean(column, known())
            );
        }
        ensure!(
            self.limit >= 0.0 && (self.expect != Lie::Similar || self.limit > 0.0),
            "{from}: found limit = {}, expected 0 or more, and more than 0 with `expect = \"similar\"`",
            self.limit
        );
        Ok(())
    }
}

impl PrintedDifferences {
    pub(super) fn check(&self, plan: &Plan, from: &str) -> Result<()> {
        let table = matrix(plan, &self.table, from)?;
        for name in &self.rows {
            let row = table.row(name, from)?;
            ensure!(
                row.difference.is_some() && !row.paper.is_empty(),
                "{from}: row `{name}` is no difference with cells of the paper"
            );
        }
        Ok(())
    }
}

/// The matrix called `id`; `from` says who asks.
pub(crate) fn matrix<'a>(plan: &'a Plan, id: &str, from: &str) -> Result<&'a MatrixPlan> {
    let found = plan.matrices.iter().find(|matrix| matrix.id == id);
    found.ok_or_else(|| {
        let known = plan.matrices.iter().map(|matrix| matrix.id.as_str());
        anyhow::anyhow!(
            "{from}: there is no matrix `{id}`{}",
            did_you_mean(id, known)
        )
    })
}
