//! Tables of rows by datasets: what the paper has in each cell beside what our runs have, and differences of rows.
//!
//! The columns are tasks, each with its own score. A row is a group of runs, a row of the paper alone, or the
//! difference of two others. A cell of the paper says where its number is from; ours says over how many seeds and
//! which part of the data was scored.

mod build;
mod cells;
mod correlate;
mod paper;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};

use anyhow::{Result, bail, ensure};
use serde::Deserialize;

pub(crate) use self::correlate::{Both, words};
pub(crate) use self::paper::PaperCell;
use super::{RenderedTable, TableKind};
use crate::plan::{Heading, Plan, check_id};
use crate::select::scope::Scope;
use crate::toml_file::did_you_mean;

/// `kind = "matrix"`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Matrix {
    /// Heading over the names of the rows.
    pub(crate) stub: String,
    #[serde(rename = "column")]
    pub(crate) columns: Vec<MatrixColumn>,
    #[serde(rename = "row")]
    pub(crate) rows: Vec<MatrixRow>,
    /// Which differences stand out, as in the paper.
    pub(crate) notable: Option<Notable>,
    /// Correlations of rows over the columns.
    #[serde(default)]
    pub(crate) correlate: Vec<Correlate>,
}

/// One column: a task.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct MatrixColumn {
    /// A task of `report.toml`, which is also the key of the paper's cells.
    pub(crate) task: String,
    /// Which part of the data the paper scored, such as `test`; left out where it does not say.
    #[serde(default)]
    pub(crate) paper_split: String,
    /// Why ours is another part, such as `test labels are hidden`.
    #[serde(default)]
    pub(crate) because: String,
}

/// One row, with what the paper has in it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct MatrixRow {
    /// Name of the row for differences, correlations and claims; left out, it is the group's.
    pub(crate) id: Option<String>,
    /// Title of the row; left out, it is the group's.
    pub(crate) title: Option<String>,
    /// The runs of this row.
    pub(crate) group: Option<String>,
    /// Instead: `a - b` of two rows above, by their names.
    pub(crate) difference: Option<[String; 2]>,
    /// Another metric than each task's own, such as `js-divergence`.
    pub(crate) metric: Option<String>,
    /// What was scored, such as `train` for a distance between texts that nothing was trained on.
    pub(crate) split: Option<String>,
    /// Digits after the point for such a metric, which is shown as it is and not in hundredths.
    #[serde(default = "three")]
    pub(crate) decimals: usize,
    /// Whose row it is.
    #[serde(default)]
    pub(crate) origin: Origin,
    /// The paper's cells by task. One that could not be recovered is left out. Those of a difference are what the
    /// paper prints; left out, its other cells give them.
    #[serde(default)]
    pub(crate) paper: BTreeMap<String, PaperCell>,
}

/// Who has a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Origin {
    /// The paper has it, whether its cells were recovered or not.
    #[default]
    Paper,
    /// It is added here.
    Ours,
}

/// The paper's rule for what stands out.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Notable {
    /// A difference beyond it stands out, in units of the score: `0.01` is one point.
    pub(crate) limit: f64,
    /// What a larger difference is good for, such as `fine-tuning`.
    pub(crate) above: String,
    /// What one below minus the limit is good for.
    pub(crate) below: String,
}

/// A correlation of two rows over the columns.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Correlate {
    pub(crate) x: String,
    pub(crate) y: String,
}

fn three() -> usize {
    3
}

impl MatrixRow {
    /// The name by which others refer to it.
    pub(crate) fn name(&self) -> &str {
        let name = self.id.as_deref().or(self.group.as_deref());
        name.unwrap_or_default()
    }

    /// What it is called on the page.
    pub(crate) fn shown(&self, plan: &Plan) -> String {
        let group = self.group.as_ref().and_then(|name| plan.groups.get(name));
        let title = self.title.as_ref().or(group.map(|group| &group.title));
        title.cloned().unwrap_or_default()
    }

    /// The paper's number on a task, if it has one.
    pub(crate) fn printed(&self, task: &str) -> Option<f64> {
        self.paper.get(task)?.value()
    }
}

impl TableKind for Matrix {
    fn check(&self, plan: &Plan, from: &str) -> Result<()> {
        for column in &self.columns {
            plan.task(&column.task, from)?;
        }
        let mut names = HashSet::new();
        for (at, row) in self.rows.iter().enumerate() {
            let from = format!("{from}: row {}", at + 1);
            check_id(row.name(), &from, &mut names)?;
            self.check_row(row, at, plan, &from)?;
        }
        for Correlate { x, y } in &self.correlate {
            self.row(x, from)?;
            self.row(y, from)?;
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

    fn render(&self, heading: &Heading, scope: &Scope) -> Result<RenderedTable> {
        self.build(heading, scope)
    }
}

impl Matrix {
    /// The row called `name`; `from` says who asks.
    pub(crate) fn row(&self, name: &str, from: &str) -> Result<&MatrixRow> {
        if let Some(row) = self.rows.iter().find(|row| row.name() == name) {
            return Ok(row);
        }
        let names: Vec<&str> = self.rows.iter().map(MatrixRow::name).collect();
        let near = did_you_mean(name, names.iter().copied());
        bail!(
            "{from}: unknown row `{name}`, expected one of: {}{near}",
            names.join(", ")
        )
    }

    fn check_row(&self, row: &MatrixRow, at: usize, plan: &Plan, from: &str) -> Result<()> {
        match (&row.group, &row.difference) {
            (Some(group), None) => {
                plan.group(group, from)?;
            }
            (None, Some(sides)) => {
                for side in sides {
                    let above = self.rows[..at].iter().any(|row| row.name() == side);
                    ensure!(
                        above,
                        "{from}: difference: found `{side}`, expected the name of a row above"
                    );
                }
            }
            (None, None) => ensure!(
                !row.paper.is_empty(),
                "{from}: found neither `group` nor `difference` nor `paper`, expected one of them"
            ),
            (Some(_), Some(_)) => {
                bail!("{from}: found `group` and `difference`, expected one of them")
            }
        }
        ensure!(
            row.group.is_some() || row.title.is_some(),
            "{from}: found no `title`, expected one for a row without a group"
        );
        let unknown = |key: &&String| self.columns.iter().all(|column| column.task != **key);
        if let Some(key) = row.paper.keys().find(unknown) {
            let near = did_you_mean(key, self.columns.iter().map(|column| column.task.as_str()));
            bail!("{from}: the paper's cell `{key}` has no column{near}");
        }
        Ok(())
    }
}
