//! Tables of epochs: score and seconds after each, for each group of runs of a task.

use anyhow::Result;
use serde::Deserialize;
use totune_evidence::claims::Judged;
use totune_evidence::plan::{Plan, TEST, Where};
use totune_evidence::select::scope::Scope;
use totune_evidence::text::{counted, counts, fixed, seconds};
use totune_stats::Curve;
use totune_stats::curve::{Epoch, Stopped, epochs};

use super::rendered::spread_fields;
use super::{Cell, Csv, RenderedTable, TableKind};
use crate::figures::curves::{Chosen, Line, Lines, missing};
use crate::item::Heading;

/// `kind = "epochs"`: one row per group.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Epochs {
    /// Heading over the names of the rows.
    stub: String,
    task: String,
    /// Groups, from top to bottom.
    groups: Vec<String>,
    /// Further conditions on every row.
    #[serde(default, rename = "where")]
    conditions: Where,
}

/// Digits of a score.
const DIGITS: usize = 3;

impl TableKind for Epochs {
    fn check(&self, plan: &Plan, from: &str) -> Result<()> {
        plan.task(&self.task, from)?;
        plan.check_groups(&self.groups, from)
    }

    fn render(&self, heading: &Heading, scope: &Scope, _: &[Judged]) -> Result<RenderedTable> {
        let Scope { plan, from, .. } = scope;
        let task = plan.task(&self.task, from)?;
        let groups = Chosen::of_plan(plan, &self.groups, &self.conditions, from)?;
        let measure = (task.metric.as_str(), TEST);
        let lines = Lines::gather(scope, &groups, &task.conditions(), measure)?;
        let rows: Vec<Row> = lines.iter().map(Row::of).collect();
        let longest = rows.iter().map(|row| row.epochs.len()).max().unwrap_or(0);
        let epochs = (1..=longest).map(|epoch| format!("Epoch {epoch}"));
        let titles = epochs.chain(["Stopped by".to_owned()]);
        let cells = format!(
            "{} ({TEST}) / seconds of training: means over the runs that finished the epoch",
            task.unit
        );
        Ok(RenderedTable {
            columns: RenderedTable::columns_of(&self.stub, titles),
            parts: RenderedTable::single_part(rows.iter().map(|row| row.cells(longest)).collect()),
            notes: [cells]
                .into_iter()
                .chain(missing(&lines, "empty"))
                .collect(),
            csv: csv(&heading.id, &rows),
            ..RenderedTable::default()
        })
    }
}

/// The runs of one group epoch by epoch.
struct Row<'a> {
    line: &'a Line,
    /// Means over the runs that finished each.
    epochs: Vec<Epoch>,
}

impl<'a> Row<'a> {
    fn of(line: &'a Line) -> Self {
        let scored: Vec<Curve> = line.runs.iter().map(|run| run.scored.clone()).collect();
        Self {
            line,
            epochs: epochs(&scored, Stopped::Leaves),
        }
    }

    fn cells(&self, longest: usize) -> Vec<Cell> {
        let runs = self.line.runs.len();
        let epochs = (0..longest).map(|at| {
            let Some(epoch) = self.epochs.get(at) else {
                return Cell::default();
            };
            let whole = epoch.reached == runs;
            let some = format!(" ({} of {})", epoch.reached, counted(runs, "run"));
            let seconds = seconds(epoch.seconds.mean) + if whole { "" } else { &some };
            Cell::of(fixed(epoch.score.mean, DIGITS)).detail(seconds)
        });
        [Cell::of(&self.line.title)]
            .into_iter()
            .chain(epochs)
            .chain([Cell::of(ended(self.line))])
            .collect()
    }
}

/// `2 × plateau, 1 × epoch limit`.
fn ended(line: &Line) -> String {
    let stops = line.stops.iter().map(|(why, n)| {
        // `epochs` alone would read as a number of them.
        let why = if why == "epochs" { "epoch limit" } else { why };
        format!("{n} × {why}")
    });
    let lost = line.lost.iter().map(|(why, n)| format!("{n} × {why}"));
    let each: Vec<String> = stops.chain(lost).collect();
    if each.is_empty() {
        "no run".to_owned()
    } else {
        each.join(", ")
    }
}

fn csv(id: &str, rows: &[Row]) -> Csv {
    let mut csv = Csv::new(
        "table,row,epoch,score,score_low,score_high,score_sd,seconds,seconds_low,seconds_high,seconds_sd,reached,runs,stops,lost",
    );
    for Row { line, epochs } in rows {
        for (at, epoch) in epochs.iter().enumerate() {
            let runs = line.runs.iter();
            let points = runs.filter_map(|run| run.scored.points().get(at).copied());
            let (times, scores): (Vec<f64>, Vec<f64>) = points.unzip();
            let names = [id.to_owned(), line.title.clone(), (at + 1).to_string()];
            let (score, seconds) = (
                spread_fields(&epoch.score, &scores),
                spread_fields(&epoch.seconds, &times),
            );
            let runs = [epoch.reached, line.runs.len()].map(|n| n.to_string());
            let ends = [counts(&line.stops), counts(&line.lost)];
            let fields = names.into_iter().chain(score).chain(seconds);
            csv.line(fields.chain(runs).chain(ends));
        }
    }
    csv
}

#[cfg(test)]
mod tests {
    use crate::fixture;

    #[test]
    fn a_table_of_epochs() {
        let table = fixture::table("epochs-letters");
        insta::assert_snapshot!(table.in_every_format());
    }

    #[test]
    fn an_epoch_that_few_runs_finished_says_so_and_none_is_called_the_best() {
        let table = fixture::table("epochs-letters");
        let rows = &table.parts[0].rows;
        let row = rows.iter().find(|row| row[0].main == "Last layer").unwrap();
        assert!(row[5].detail.ends_with(" (1 of 3 runs)"), "{row:?}");
        assert!(rows.iter().flatten().all(|cell| !cell.best));
    }
}
