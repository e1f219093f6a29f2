//! Tables of rows by datasets: in each cell the paper's number next to ours, and differences of rows.
//!
//! Its content is a [`Grid`]: the columns are tasks, each with its own score; a row is a group of runs, a row of only
//! the paper, or the difference of two others. A cell of the paper names the origin of its number; ours names the
//! number of seeds and the part of the data that was scored.

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
    /// The paper's rule for differences that stand out.
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
    /// The side that a larger difference favours, such as `fine-tuning`.
    above: String,
    /// The side that one below minus the limit favours.
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
