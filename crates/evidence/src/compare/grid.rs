//! Fills a grid of the plan with the numbers of the runs.

use std::collections::BTreeSet;

use anyhow::Result;
use totune_stats::{Correlation, Interval};

use crate::compare::compare;
use crate::compare::strata::paired;
use crate::plan::{Grid, GridColumn, GridRow, Measure, Side, TEST, Task, Unit, Where};
use crate::select::label::labelled;
use crate::select::panel::TaskRuns;
use crate::select::sample::Sample;
use crate::select::scope::Scope;
use crate::text::{Scale, fixed, p_equals};

/// A row with its numbers.
pub struct FilledRow<'a> {
    /// The row of the grid.
    pub plan: &'a GridRow,
    /// Its title with the labels of its runs.
    pub title: String,
    /// One for each task.
    pub cells: Vec<Entry>,
}

/// One cell: the numbers of a row in one column.
#[derive(Debug, Default)]
pub struct Entry {
    /// The paper's number, and where it is from; `None` where nothing was recovered.
    pub paper: Option<(Option<f64>, String)>,
    /// The mean of our runs.
    pub mean: Option<f64>,
    /// 95 % interval of that mean.
    pub interval: Option<Interval>,
    /// Standard deviation over the runs.
    pub sd: Option<f64>,
    /// Number of runs that gave a number.
    pub n: usize,
    /// Runs behind it.
    pub sample: Sample,
    /// Parts of the data that the runs were scored on.
    pub scored: Vec<String>,
    /// The reason why there is no number of ours.
    pub note: Option<String>,
}

/// A task with its column.
pub struct Place<'a> {
    /// The column.
    pub column: &'a GridColumn,
    /// Its task.
    pub task: &'a Task,
}

/// A grid with the numbers of our runs.
pub struct Filled<'a> {
    /// The tasks, in order.
    pub places: Vec<Place<'a>>,
    /// In the order of the grid.
    pub rows: Vec<FilledRow<'a>>,
}

impl Grid {
    /// Every row with its numbers.
    ///
    /// # Errors
    /// Where a task, a group or a path of its conditions is unknown.
    pub fn fill<'a>(&'a self, scope: &Scope<'a>) -> Result<Filled<'a>> {
        let places = self.columns.iter().map(|column| {
            let task = scope.plan.task(&column.task, &scope.from)?;
            Ok(Place { column, task })
        });
        let places = places.collect::<Result<Vec<Place>>>()?;
        let mut rows: Vec<FilledRow> = Vec::new();
        for row in &self.rows {
            let filled = fill_row(row, &rows, &places, scope)?;
            rows.push(filled);
        }
        Ok(Filled { places, rows })
    }
}

fn fill_row<'a>(
    row: &'a GridRow,
    above: &[FilledRow],
    places: &[Place],
    scope: &Scope,
) -> Result<FilledRow<'a>> {
    let cells = places.iter().enumerate().map(|(at, place)| {
        let mut cell = match (&row.group, &row.difference) {
            (Some(group), _) => ours(row, group, place, scope)?,
            (None, Some([a, b])) => {
                let side = |name: &String| {
                    let row = above.iter().find(|row| row.plan.name() == name);
                    &row.expect("differences name rows above").cells[at]
                };
                Entry::difference(side(a), side(b), row.paired)
            }
            (None, None) => Entry::default(),
        };
        if let Some(paper) = row.paper.get(&place.column.task) {
            cell.paper = Some((paper.value(), paper.origin()));
        }
        Ok(cell)
    });
    let cells = cells.collect::<Result<Vec<Entry>>>()?;
    let labels: BTreeSet<&String> = cells.iter().flat_map(|cell| &cell.sample.labels).collect();
    Ok(FilledRow {
        plan: row,
        title: labelled(&row.shown(scope.plan), labels),
        cells,
    })
}

fn ours(row: &GridRow, group: &str, place: &Place, scope: &Scope) -> Result<Entry> {
    let side = Side::One(group.to_owned());
    let task_runs = TaskRuns::of(&side, place.task, &Where::new(), scope)?;
    let metric = row.metric.as_ref().unwrap_or(&place.task.metric);
    let split = row.split.as_deref().unwrap_or(TEST);
    let measure = Measure::score(metric, split);
    let mut sample = task_runs.sample(|run| run.number(&measure));
    sample.unlearned = (task_runs.all())
        .filter(|run| run.is_unlearned(&measure))
        .count();
    let mut scored: Vec<String> = task_runs.all().map(|run| run.scored_on()).collect();
    scored.sort();
    scored.dedup();
    let note = match (&sample.note, sample.n()) {
        (Some(note), _) => Some(note.clone()),
        (None, 0) => Some(task_runs.why_unscored()),
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
    /// `a - b`: Welch's test on our runs, or the paired one, and the paper's numbers where both sides have one.
    fn difference(a: &Self, b: &Self, is_paired: bool) -> Self {
        let value = |cell: &Self| cell.paper.as_ref().and_then(|(value, _)| *value);
        let paper = value(a)
            .zip(value(b))
            // Printed digits differ by printed digits: the rest is binary rounding.
            .map(|(a, b)| (Some(((a - b) * 1e9).round() / 1e9), "computed".to_owned()));
        let mut sample = Sample::default();
        sample.labels = a.sample.labels.union(&b.sample.labels).cloned().collect();
        sample.unlearned = a.sample.unlearned + b.sample.unlearned;
        sample.pending = a.sample.pending || b.sample.pending;
        let unit = if a.sample.is_folds() {
            Unit::Fold
        } else {
            Unit::Seed
        };
        let compared = if is_paired {
            let sides = a.sample.matched(&b.sample, unit);
            sides.and_then(|(a, b)| paired(&a, &b))
        } else {
            compare(&a.sample, &b.sample, unit)
        };
        let compared = compared.ok();
        // Of what both sides have; a side without randomness is the same for every seed.
        let n = compared.as_ref().map(|compared| compared.n as usize);
        Self {
            paper,
            // Of the seeds that both have, as the interval is.
            mean: match &compared {
                Some(compared) => Some(compared.difference),
                None => a.mean.zip(b.mean).map(|(a, b)| a - b),
            },
            interval: compared.map(|compared| compared.interval),
            sd: None,
            n: n.unwrap_or(a.n.min(b.n)),
            sample,
            scored: vec![],
            note: None,
        }
    }
}

/// Two rows over the columns.
pub struct Both {
    /// Ours, in the columns that have both.
    pub pairs: Vec<(f64, f64)>,
    /// Columns of the table.
    pub columns: usize,
    /// Labels of the runs.
    pub(crate) labels: BTreeSet<String>,
    /// The reason why there are no pairs, if one row has no run at all.
    pub(crate) note: Option<String>,
}

impl Filled<'_> {
    /// The row called `name`, which was checked to exist.
    pub fn row(&self, name: &str) -> &FilledRow<'_> {
        let row = self.rows.iter().find(|row| row.plan.name() == name);
        row.expect("rows are named after they were checked")
    }

    /// The numbers of two of its rows.
    pub fn both(&self, x: &str, y: &str) -> Both {
        let (x, y) = (self.row(x), self.row(y));
        let cells = || x.cells.iter().zip(&y.cells);
        let mut empty = [x, y]
            .into_iter()
            .filter(|row| row.cells.iter().all(|cell| cell.mean.is_none()));
        let note = empty.next().map(|row| {
            let note = row.cells.iter().find_map(|cell| cell.note.as_deref());
            format!("{}: {}", row.title, note.unwrap_or("no run"))
        });
        Both {
            pairs: cells()
                .filter_map(|(x, y)| Some((x.mean?, y.mean?)))
                .collect(),
            columns: self.places.len(),
            labels: cells()
                .flat_map(|(x, y)| x.sample.labels.union(&y.sample.labels))
                .cloned()
                .collect(),
            note,
        }
    }
}

/// `Pearson -0.31 [-0.93, 0.79], p = 0.612`.
pub fn correlation_text(name: &str, test: &Correlation) -> String {
    let interval = test.interval.map_or(String::new(), |interval| {
        format!(" {}", Scale::Plain(2).interval(interval))
    });
    let how = if test.exact { " by all orders" } else { "" };
    format!(
        "{name} {}{interval}, {}{how}",
        fixed(test.r, 2),
        p_equals(test.p)
    )
}
