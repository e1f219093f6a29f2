//! Tables of rows by datasets: what the paper has in each cell beside what our runs have, and differences of rows.
//!
//! What is in it is a [`Grid`]: the columns are tasks, each with its own score; a row is a group of runs, a row of the paper
//! alone, or the difference of two others. A cell of the paper says where its number is from; ours says over how many seeds and
//! which part of the data was scored.

mod build;
mod correlate;

#[cfg(test)]
mod tests;

use anyhow::{Result, ensure};
use serde::Deserialize;
use totune_evidence::claims::Judged;
use totune_evidence::plan::{Grid, GridColumn, GridRow, Plan};
use totune_evidence::select::scope::Scope;

use super::{RenderedTable, TableKind};
use crate::item::Heading;

/// `kind = "matrix"`.
#[derive(Debug, Deserialize)]
#[serde(from = "Written")]
pub(crate) struct Matrix {
    pub(crate) grid: Grid,
    /// Heading over the names of the rows.
    stub: String,
    /// Which differences stand out, as in the paper.
    notable: Option<Notable>,
    /// Correlations of rows over the columns.
    correlate: Vec<Correlate>,
}

/// The settings as they are written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Written {
    stub: String,
    #[serde(rename = "column")]
    columns: Vec<GridColumn>,
    #[serde(rename = "row")]
    rows: Vec<GridRow>,
    notable: Option<Notable>,
    #[serde(default)]
    correlate: Vec<Correlate>,
}

impl From<Written> for Matrix {
    fn from(written: Written) -> Self {
        Self {
            grid: Grid {
                columns: written.columns,
                rows: written.rows,
            },
            stub: written.stub,
            notable: written.notable,
            correlate: written.correlate,
        }
    }
}

/// The paper's rule for what stands out.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Notable {
    /// A difference beyond it stands out, in units of the score: `0.01` is one point.
    limit: f64,
    /// What a larger difference is good for, such as `fine-tuning`.
    above: String,
    /// What one below minus the limit is good for.
    below: String,
}

/// A correlation of two rows over the columns.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Correlate {
    x: String,
    y: String,
}

impl TableKind for Matrix {
    fn check(&self, plan: &Plan, from: &str) -> Result<()> {
        self.grid.check(plan, from)?;
        for Correlate { x, y } in &self.correlate {
            self.grid.row(x, from)?;
            self.grid.row(y, from)?;
        }
        if let Some(notable) = &self.notable {
            ensure!(
                notable.limit > 0.0 && notable.limit.is_finite(),
                "{from}: notable: found limit = {}, expected more than 0",
                notable.limit
            );
        }
        Ok(())
    }

    fn render(&self, heading: &Heading, scope: &Scope, _: &[Judged]) -> Result<RenderedTable> {
        self.build(heading, scope)
    }
}
