//! Tables of epochs: score and seconds after each, for each group of runs of a task.

use std::collections::HashSet;

use anyhow::Result;
use serde::Deserialize;
use totune_stats::curve::{Epoch, Spread, Stopped, epochs};
use totune_stats::sd;

use crate::figures::curves::{Chosen, Line, Lines, counts, missing};
use crate::plan::{Plan, Where, check_id};
use crate::select::panel::test;
use crate::select::scope::Scope;
use crate::tables::grid::{Grid, GridCell, GridPart};
use crate::text::{counted, csv_field, fixed, seconds};

/// Score and seconds after each epoch of a task, one row per group.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct EpochsPlan {
    /// Name of its files and of its place on the page.
    pub(crate) id: String,
    pub(crate) title: String,
    /// Where the paper has this table.
    #[serde(default)]
    pub(crate) source: String,
    /// A paragraph above the table.
    #[serde(default)]
    pub(crate) text: String,
    /// Heading over the names of the rows.
    pub(crate) stub: String,
    pub(crate) task: String,
    /// Groups, from top to bottom.
    pub(crate) groups: Vec<String>,
    /// Which scores.
    #[serde(default = "test")]
    pub(crate) split: String,
    /// Further conditions on every row.
    #[serde(default, rename = "where")]
    pub(crate) conditions: Where,
}

/// Digits of a score.
const DIGITS: usize = 3;

impl EpochsPlan {
    /// Checks what the types cannot.
    pub(crate) fn check(&self, plan: &Plan, from: &str, ids: &mut HashSet<String>) -> Result<()> {
        check_id(&self.id, from, ids)?;
        plan.task(&self.task, from)?;
        for group in &self.groups {
            plan.group(group, from)?;
        }
        Ok(())
    }

    /// Fills the table.
    pub(crate) fn build(&self, scope: &Scope) -> Result<Grid> {
        let Scope { plan, runs, from } = &scope.at(format_args!("epochs `{}`", self.id));
        let task = plan.task(&self.task, from)?;
        let groups = Chosen::of_plan(plan, &self.groups, &self.conditions, from)?;
        let measure = (task.metric.as_str(), self.split.as_str());
        let lines = Lines::gather(runs, &groups, &task.conditions(), measure, from)?;
        let rows: Vec<Row> = lines.iter().map(Row::of).collect();
        let longest = rows.iter().map(|row| row.epochs.len()).max().unwrap_or(0);
        let head = [self.stub.clone()]
            .into_iter()
            .chain((1..=longest).map(|epoch| format!("Epoch {epoch}")))
            .chain(["Stopped by".to_owned()]);
        Ok(Grid {
            id: self.id.clone(),
            title: self.title.clone(),
            source: self.source.clone(),
            text: self.text.clone(),
            head: head.collect(),
            parts: vec![GridPart {
                title: String::new(),
                rows: rows.iter().map(|row| row.cells(longest)).collect(),
            }],
            notes: notes(&lines, &format!("{} ({})", task.unit, self.split)),
            csv: csv(&self.id, &rows),
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
        Self {
            line,
            epochs: epochs(&line.curves(), Stopped::Leaves),
        }
    }

    /// The best mean score of the epochs that every run finished; a mean over fewer may be higher for who is left.
    fn best(&self) -> Option<f64> {
        let all = self
            .epochs
            .iter()
            .filter(|epoch| epoch.reached == self.line.runs.len());
        all.map(|epoch| epoch.score.mean).max_by(f64::total_cmp)
    }

    fn cells(&self, longest: usize) -> Vec<GridCell> {
        let best = self.best();
        let runs = self.line.runs.len();
        let epochs = (0..longest).map(|at| match self.epochs.get(at) {
            None => GridCell::default(),
            Some(epoch) => {
                let whole = epoch.reached == runs;
                let some = format!(" ({} of {})", epoch.reached, counted(runs, "run"));
                GridCell {
                    main: fixed(epoch.score.mean, DIGITS),
                    beside: format!(
                        "{}{}",
                        seconds(epoch.seconds.mean),
                        if whole { "" } else { &some }
                    ),
                    best: whole && Some(epoch.score.mean) == best,
                    ..GridCell::default()
                }
            }
        });
        [GridCell::of(&self.line.title)]
            .into_iter()
            .chain(epochs)
            .chain([GridCell::of(ended(self.line))])
            .collect()
    }
}

/// How the cells are to be read, and what is missing from them.
fn notes(lines: &[Line], measure: &str) -> Vec<String> {
    let cells = format!(
        "{measure} / seconds of training: means over the runs that finished the epoch; bold: the best epoch of a row among \
         those that all its runs finished"
    );
    [cells].into_iter().chain(missing(lines, "empty")).collect()
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

fn csv(id: &str, rows: &[Row]) -> String {
    let mut text = String::from(
        "table,row,epoch,score,score_low,score_high,score_sd,seconds,seconds_low,seconds_high,seconds_sd,reached,runs,stops,lost\n",
    );
    for Row { line, epochs } in rows {
        let curves = line.curves();
        for (at, epoch) in epochs.iter().enumerate() {
            let points: Vec<(f64, f64)> = curves
                .iter()
                .filter_map(|curve| curve.points().get(at).copied())
                .collect();
            let (times, scores): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
            let spread = |spread: &Spread, values: &[f64]| {
                let sd = if values.len() > 1 {
                    sd(values).to_string()
                } else {
                    String::new()
                };
                [
                    spread.mean.to_string(),
                    spread.low.to_string(),
                    spread.high.to_string(),
                    sd,
                ]
            };
            let fields = [csv_field(id), csv_field(&line.title), (at + 1).to_string()]
                .into_iter()
                .chain(spread(&epoch.score, &scores))
                .chain(spread(&epoch.seconds, &times))
                .chain([
                    epoch.reached.to_string(),
                    line.runs.len().to_string(),
                    csv_field(&counts(&line.stops)),
                    csv_field(&counts(&line.lost)),
                ]);
            text.push_str(&fields.collect::<Vec<_>>().join(","));
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::select::runs::Runs;

    #[test]
    fn a_table_of_epochs() {
        let grid = grid("epochs-letters");
        insta::assert_snapshot!(format!(
            "{}\n----\n{}\n----\n{}",
            grid.markdown(),
            grid.latex(),
            grid.csv
        ));
    }

    #[test]
    fn an_epoch_that_few_runs_finished_is_not_the_best_one() {
        let grid = grid("epochs-letters");
        let row = grid.parts[0]
            .rows
            .iter()
            .find(|row| row[0].main == "Last layer")
            .unwrap();
        let best: Vec<usize> = (0..row.len()).filter(|&at| row[at].best).collect();
        assert_eq!(best, [3], "{row:?}");
        assert!(
            row[5].beside.ends_with(" (1 of 3 runs)") && row[5].main > row[3].main,
            "{row:?}"
        );
    }

    fn grid(id: &str) -> Grid {
        let plan = fixture::plan();
        let runs = Runs::new(&fixture::tables()).unwrap();
        let table = plan.epochs.iter().find(|table| table.id == id).unwrap();
        table
            .build(&Scope::new(&plan, &runs, "report.toml"))
            .unwrap()
    }
}
