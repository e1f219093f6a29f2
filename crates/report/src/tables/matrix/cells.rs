//! From the plan and the runs to the numbers of the cells.

use anyhow::Result;
use totune_stats::Interval;

use super::{Matrix, MatrixColumn, MatrixRow};
use crate::compare::compare;
use crate::plan::TEST;
use crate::plan::Unit;
use crate::plan::{Measure, Side, Task, Where};
use crate::select::label::labelled;
use crate::select::panel::TaskRuns;
use crate::select::sample::Sample;
use crate::select::scope::Scope;

/// A row with its numbers.
pub(super) struct Row<'a> {
    pub(super) plan: &'a MatrixRow,
    pub(super) title: String,
    pub(super) cells: Vec<Entry>,
}

/// What a row has in one column.
#[derive(Debug, Default)]
pub(super) struct Entry {
    /// The paper's number, and where it is from; `None` where nothing was recovered.
    pub(super) paper: Option<(Option<f64>, String)>,
    /// Ours.
    pub(super) mean: Option<f64>,
    pub(super) interval: Option<Interval>,
    pub(super) sd: Option<f64>,
    pub(super) n: usize,
    /// Runs behind it.
    pub(super) sample: Sample,
    /// Parts of the data that the runs were scored on.
    pub(super) scored: Vec<String>,
    /// Why there is no number of ours.
    pub(super) note: Option<String>,
}

/// A task with its column.
pub(super) struct Place<'a> {
    pub(super) column: &'a MatrixColumn,
    pub(super) task: &'a Task,
}

impl Matrix {
    /// Every row with its numbers, in order.
    pub(super) fn filled(&self, places: &[Place], scope: &Scope) -> Result<Vec<Row<'_>>> {
        let mut rows: Vec<Row> = Vec::new();
        for row in &self.rows {
            let filled = self.fill(row, &rows, places, scope)?;
            rows.push(filled);
        }
        Ok(rows)
    }

    pub(super) fn places<'a>(&'a self, scope: &Scope<'a>) -> Result<Vec<Place<'a>>> {
        let places = self.columns.iter().map(|column| {
            let task = scope.plan.task(&column.task, &scope.from)?;
            Ok(Place { column, task })
        });
        places.collect()
    }

    fn fill<'a>(
        &self,
        row: &'a MatrixRow,
        above: &[Row],
        places: &[Place],
        scope: &Scope,
    ) -> Result<Row<'a>> {
        let cells = places.iter().enumerate().map(|(at, place)| {
            let mut cell = match (&row.group, &row.difference) {
                (Some(group), _) => ours(row, group, place, scope)?,
                (None, Some([a, b])) => {
                    let side = |name: &String| {
                        let row = above.iter().find(|row| row.plan.name() == name);
                        &row.expect("differences name rows above").cells[at]
                    };
                    Entry::difference(side(a), side(b))
                }
                (None, None) => Entry::default(),
            };
            if let Some(paper) = row.paper.get(&place.column.task) {
                cell.paper = Some((paper.value(), paper.origin()));
            }
            Ok(cell)
        });
        let cells = cells.collect::<Result<Vec<Entry>>>()?;
        let group = row
            .group
            .as_ref()
            .map(|name| scope.plan.group(name, &scope.from));
        let title = match (&row.title, group.transpose()?) {
            (Some(title), _) => title.clone(),
            (None, Some(group)) => group.title.clone(),
            (None, None) => String::new(),
        };
        let labels: std::collections::BTreeSet<&String> =
            cells.iter().flat_map(|cell| &cell.sample.labels).collect();
        Ok(Row {
            plan: row,
            title: labelled(&title, labels),
            cells,
        })
    }
}

fn ours(row: &MatrixRow, group: &str, place: &Place, scope: &Scope) -> Result<Entry> {
    let side = Side::One(group.to_owned());
    let task_runs = TaskRuns::of(&side, place.task, &Where::new(), scope)?;
    let metric = row.metric.as_ref().unwrap_or(&place.task.metric);
    let split = row.split.as_deref().unwrap_or(TEST);
    let measure = Measure::score(metric, split);
    let mut sample = task_runs.sample(|run| run.number(&measure));
    sample.unlearned = (task_runs.all())
        .filter(|run| run.learned(&measure) == Some(false))
        .count();
    let mut scored: Vec<String> = task_runs.all().map(|run| run.scored_on()).collect();
    scored.sort();
    scored.dedup();
    let note = match (&sample.note, sample.n()) {
        (Some(note), _) => Some(note.clone()),
        (None, 0) => Some("no run ended well".to_owned()),
        _ => None,
    };
    Ok(Entry {
        paper: None,
        mean: sample.mean(),
        interval: sample.interval(),
        sd: sample.sd(),
        n: sample.n(),
        scored,
        note,
        sample,
    })
}

impl Entry {
    /// `a - b`: Welch's test on our runs, and the paper's numbers where both sides have one.
    fn difference(a: &Self, b: &Self) -> Self {
        let value = |cell: &Self| cell.paper.as_ref().and_then(|(value, _)| *value);
        let paper = value(a)
            .zip(value(b))
            // Printed digits differ by printed digits: what is left over is rounding in binary.
            .map(|(a, b)| (Some(((a - b) * 1e9).round() / 1e9), "computed".to_owned()));
        let mut sample = Sample::default();
        sample.labels = a.sample.labels.union(&b.sample.labels).cloned().collect();
        sample.unlearned = a.sample.unlearned + b.sample.unlearned;
        let unit = match a.sample.is_folds() {
            true => Unit::Fold,
            false => Unit::Seed,
        };
        let compared = compare(&a.sample, &b.sample, unit).ok();
        Self {
            paper,
            mean: a.mean.zip(b.mean).map(|(a, b)| a - b),
            interval: compared.map(|compared| compared.interval),
            sd: None,
            n: a.n.min(b.n),
            sample,
            scored: vec![],
            note: None,
        }
    }
}
