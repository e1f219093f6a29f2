//! Grids of a paper: rows of runs by tasks, with the paper's value in each cell.

use std::collections::{BTreeMap, HashSet};

use anyhow::{Result, bail, ensure};
use serde::Deserialize;

use crate::plan::{Plan, check_id};
use crate::toml_file::{did_you_mean, unknown};

/// Rows by tasks; [`Self::fill`] adds the numbers of our runs.
#[derive(Debug, Clone, Default)]
pub struct Grid {
    /// The tasks, each with its own score.
    pub columns: Vec<GridColumn>,
    /// In the order of the page; a difference stands below the rows it is of.
    pub rows: Vec<GridRow>,
}

/// One column: a task.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct GridColumn {
    /// A task of `report.toml`, which is also the key of the paper's cells.
    pub task: String,
    /// Part of the data that the paper scored, such as `test`; left out where it does not say.
    #[serde(default)]
    pub paper_split: String,
    /// Reason why ours is another part, such as `test labels are hidden`.
    #[serde(default)]
    pub reason: String,
}

/// One row, with the paper's cells.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct GridRow {
    /// Name of the row for differences, correlations and claims; left out, it is the group's.
    pub(crate) id: Option<String>,
    /// Title of the row; left out, it is the group's.
    pub(crate) title: Option<String>,
    /// The runs of this row.
    pub group: Option<String>,
    /// Instead: `a - b` of two rows above, by their names.
    pub difference: Option<[String; 2]>,
    /// Whether the rows of a difference share more than their seeds, such as their first epochs: its interval is then that of the
    /// differences at each seed, and there is none where all are the same.
    #[serde(default)]
    pub paired: bool,
    /// Another metric than each task's own, such as `js-divergence`.
    pub metric: Option<String>,
    /// Split that was scored, such as `train` for a distance between texts that nothing was trained on.
    pub(crate) split: Option<String>,
    /// Digits after the point for such a metric, which is shown as it is and not in hundredths.
    #[serde(default = "three")]
    pub decimals: usize,
    /// Origin of the row.
    #[serde(default)]
    pub origin: Origin,
    /// The paper's cells by task. One that could not be recovered is left out. Cells of a difference are those that the
    /// paper prints; left out, they are computed from its other cells.
    #[serde(default)]
    pub paper: BTreeMap<String, PaperCell>,
}

/// Origin of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The paper has it, whether its cells were recovered or not.
    #[default]
    Paper,
    /// It is added here.
    Ours,
}

fn three() -> usize {
    3
}

impl GridRow {
    /// The name by which others refer to it.
    pub fn name(&self) -> &str {
        let name = self.id.as_deref().or(self.group.as_deref());
        name.unwrap_or_default()
    }

    /// Title on the page.
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

impl Grid {
    /// Checks what the types cannot: tasks, groups and rows that it names; `from` prefixes errors.
    pub fn check(&self, plan: &Plan, from: &str) -> Result<()> {
        for column in &self.columns {
            plan.task(&column.task, from)?;
        }
        let mut names = HashSet::new();
        for (at, row) in self.rows.iter().enumerate() {
            let from = format!("{from}: row {}", at + 1);
            check_id(row.name(), &from, &mut names)?;
            self.check_row(row, at, plan, &from)?;
        }
        Ok(())
    }

    /// The row called `name`; `from` prefixes errors.
    pub fn row(&self, name: &str, from: &str) -> Result<&GridRow> {
        let mut rows = self.rows.iter();
        rows.find(|row| row.name() == name)
            .ok_or_else(|| unknown([from, "row", name], self.rows.iter().map(GridRow::name)))
    }

    fn check_row(&self, row: &GridRow, at: usize, plan: &Plan, from: &str) -> Result<()> {
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

/// The paper's content of a cell. A cell that is left out was not recovered.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum PaperCell {
    /// A number that the authors computed themselves.
    Run(f64),
    /// A number that they took from elsewhere.
    Copied(Copied),
    /// No number: the paper has a dash.
    Empty(Dash),
}

/// A number from elsewhere.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Copied {
    pub value: f64,
    /// From whom, such as `Devlin et al. 2018`.
    pub(crate) from: String,
}

/// `"-"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Dash {
    #[serde(rename = "-")]
    Dash,
}

impl PaperCell {
    /// Its number, if it has one.
    pub(crate) fn value(&self) -> Option<f64> {
        match self {
            Self::Run(value) => Some(*value),
            Self::Copied(copied) => Some(copied.value),
            Self::Empty(_) => None,
        }
    }

    /// Origin in machine-readable form: `run`, `copied from …`, `none`.
    pub(crate) fn origin(&self) -> String {
        match self {
            Self::Run(_) => "run".to_owned(),
            Self::Copied(copied) => format!("copied from {}", copied.from),
            Self::Empty(_) => "none".to_owned(),
        }
    }
}
