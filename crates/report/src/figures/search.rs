//! The search for settings: the number of trials of each cell of a comparison, their dev scores, and how soon the best
//! of them was found.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};
use serde::Deserialize;
use serde_json::Value;
use totune_evidence::plan::{Measure, Plan, Task};
use totune_evidence::select::label::labelled;
use totune_evidence::select::panel::average;
use totune_evidence::select::runs::Run;
use totune_evidence::select::scope::Scope;
use totune_evidence::text::{counted, fixed};
use totune_plot::Panel;
use totune_plot::series::{Series, SeriesPanel, Stroke};
use totune_stats::curve::Spread;

use super::{DIGITS, FigureKind, RenderedFigure};
use crate::item::Heading;
use crate::tables::rendered::{Cell, Csv, RenderedTable, RowGroup, number, setting_number};

/// `kind = "search"`: trials of one comparison; every group on every task should have had as many.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Search {
    /// Experiment of the trials, such as `table-2-search`; it replaces the one that the groups name.
    experiment: String,
    /// Groups that were compared after the search.
    groups: Vec<String>,
    /// Tasks, one panel each; all unless named.
    #[serde(default)]
    tasks: Vec<String>,
}

/// The split that the settings were chosen on.
const SPLIT: &str = "dev";
/// Path of a run's experiment.
const EXPERIMENT: &str = "experiment";
/// Prefix of the paths of a setting; other parts of a spec name the data it is tried on.
const SETTING: &str = "work.";

/// The trials of one group on one task, in the order they began.
struct Trials<'a> {
    group: &'a str,
    title: String,
    trials: Vec<Trial<'a>>,
    /// The runs that the group is compared by.
    compared: Vec<&'a Run>,
}

/// One setting that was tried.
struct Trial<'a> {
    /// One for each seed; at least one.
    runs: Vec<&'a Run>,
    /// The mean of their scores; `None` where one of them did not end well, which counts as worst.
    score: Option<f64>,
}

impl FigureKind for Search {
    fn table_suffix(&self) -> Option<&'static str> {
        Some("-trials")
    }

    fn check(&self, plan: &Plan, from: &str) -> Result<()> {
        ensure!(
            !self.groups.is_empty(),
            "{from}: found no groups, expected those that were compared after the search"
        );
        plan.check_groups(&self.groups, from)?;
        plan.tasks_named(&self.tasks, from).map(|_| ())
    }

    fn draw(&self, heading: &Heading, scope: &Scope) -> Result<RenderedFigure> {
        let tasks = scope.plan.tasks_named(&self.tasks, &scope.from)?;
        let found = tasks.iter().map(|task| {
            let cells = self.groups.iter();
            let cells = cells.map(|group| self.cell(group, task, scope));
            Ok((*task, cells.collect::<Result<Vec<Trials>>>()?))
        });
        let found = found.collect::<Result<Vec<(&Task, Vec<Trials>)>>>()?;
        let mut csv = Csv::new("figure,task,group,trial,runs,statuses,score,best_so_far,setting");
        let panels = found.iter().map(|(task, cells)| {
            for cell in cells {
                cell.csv(&heading.id, &task.title, &mut csv);
            }
            let lines = cells.iter().enumerate().map(|(colour, cell)| Series {
                title: cell.title.clone(),
                points: cell.best_so_far(),
                colour,
                stroke: Stroke::Solid,
                ..Series::default()
            });
            Panel::Series(SeriesPanel {
                title: task.title.clone(),
                measure: format!("{} ({SPLIT}), best so far", task.unit),
                across: "Trials".to_owned(),
                lines: lines.collect(),
                ..SeriesPanel::default()
            })
        });
        Ok(RenderedFigure {
            panels: panels.collect(),
            table: Some(RenderedTable {
                heading: heading.of_part("-trials", "trials and the best of them"),
                csv,
                ..self.table(&found)
            }),
            ..RenderedFigure::default()
        })
    }
}

impl Search {
    fn cell<'a>(&'a self, group: &'a str, task: &Task, scope: &Scope<'a>) -> Result<Trials<'a>> {
        let Scope { plan, runs, from } = scope;
        let own = plan.group(group, from)?.narrowed([&task.conditions()]);
        let mut conditions = own.clone();
        conditions.insert(EXPERIMENT.to_owned(), self.experiment.as_str().into());
        let from = format!("{from}: group `{group}` on {}", task.title);
        let selection = runs.select(&conditions, &from)?;
        let title = labelled(&plan.group(group, &from)?.title, selection.labels());
        let mut selected = selection.runs;
        selected.sort_by(|a, b| {
            let key = |run: &Run| (run.row.started, run.row.run_id.clone());
            key(a).cmp(&key(b))
        });
        let measure = Measure::score(&task.metric, SPLIT);
        // Runs of one setting are seeds of one trial.
        let mut found: Vec<(BTreeMap<&str, &Value>, Vec<&Run>)> = Vec::new();
        for run in selected {
            let setting = run.setting().collect();
            match found.iter_mut().find(|(other, _)| *other == setting) {
                Some((_, runs)) => runs.push(run),
                None => found.push((setting, vec![run])),
            }
        }
        let score = |run: &Run| {
            let ended = run.row.status == "ok";
            let score = ended.then(|| run.number(&measure)).flatten();
            score.filter(|score| score.is_finite())
        };
        let trials = found.into_iter().map(|(_, runs)| Trial {
            score: average(&runs, score),
            runs,
        });
        Ok(Trials {
            group,
            title,
            trials: trials.collect(),
            compared: runs.select(&own, &from)?.runs,
        })
    }

    fn table(&self, found: &[(&Task, Vec<Trials>)]) -> RenderedTable {
        let rows = |cell: &dyn Fn(&Trials) -> Cell| -> Vec<Vec<Cell>> {
            let row = |at: usize| {
                let title = found.first().map_or("", |(_, cells)| &cells[at].title);
                let cells = found.iter().map(|(_, cells)| cell(&cells[at]));
                [Cell::of(title)].into_iter().chain(cells).collect()
            };
            (0..self.groups.len()).map(row).collect()
        };
        let mut trials = rows(&|cell: &Trials| {
            let n = match cell.trials.len() {
                0 => "none".to_owned(),
                n => counted(n, "trial"),
            };
            Cell::of(n).detail(cell.best().map_or(String::new(), |(at, score)| {
                format!("best {}, trial {}", fixed(score, DIGITS), at + 1)
            }))
        });
        let equal = found.iter().map(|(_, cells)| {
            let counts: Vec<usize> = cells.iter().map(|cell| cell.trials.len()).collect();
            Cell::of(equally_hard(&counts))
        });
        let equal = [Cell::of("Same number of trials?")]
            .into_iter()
            .chain(equal);
        trials.push(equal.collect());
        let settings = rows(&|cell: &Trials| Cell::of(cell.best_setting()).class("words"));
        let taken = rows(&|cell: &Trials| Cell::of(cell.taken()));
        let parts = [
            ("", trials),
            ("Settings of the best trial", settings),
            ("Do the compared runs use them?", taken),
        ];
        let parts = parts.map(|(title, rows)| RowGroup {
            title: title.to_owned(),
            rows,
        });
        let titles = found.iter().map(|(task, _)| task.title.clone());
        RenderedTable {
            columns: RenderedTable::columns_of("Compared", titles),
            parts: parts.into(),
            notes: vec![format!(
                "scores on `{SPLIT}`, each task by its own metric; a diverged trial counts as a trial"
            )],
            ..RenderedTable::default()
        }
    }
}

/// `yes, 12 each`, `no: 12, 6`, `no trials`.
fn equally_hard(counts: &[usize]) -> String {
    match counts {
        [first, rest @ ..] if rest.iter().all(|n| n == first) => match first {
            0 => "no trials".to_owned(),
            n => format!("yes, {n} each"),
        },
        counts => {
            let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
            format!("no: {}", counts.join(", "))
        }
    }
}

impl Trials<'_> {
    /// The best trial, the first of equals: its place and its score.
    fn best(&self) -> Option<(usize, f64)> {
        let scored = self.trials.iter().enumerate();
        let scored = scored.filter_map(|(at, trial)| Some((at, trial.score?)));
        scored.reduce(|best, next| if next.1 > best.1 { next } else { best })
    }

    /// The best score among the first one, two, three … trials, from the first that has one.
    fn best_so_far(&self) -> Vec<(u32, Spread)> {
        let mut best: Option<f64> = None;
        let points = (1..).zip(&self.trials).filter_map(|(n, trial)| {
            best = best.into_iter().chain(trial.score).reduce(f64::max);
            Some((n, Spread::of(&[best?])?))
        });
        points.collect()
    }

    /// The settings that trials of this cell differ in, with what each has.
    fn differing(&self) -> Vec<&str> {
        let mut values: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for (at, trial) in self.trials.iter().enumerate() {
            let asked: BTreeMap<&str, &Value> = trial.runs[0].asked();
            for (path, value) in asked {
                if path.starts_with(SETTING) {
                    let found = values.entry(path).or_default();
                    // A path that an earlier trial lacks is a difference.
                    if at > 0 && found.is_empty() {
                        found.insert(String::new());
                    }
                    found.insert(value.to_string());
                }
            }
        }
        for trial in &self.trials {
            for (path, found) in &mut values {
                if trial.runs[0].fact(path).is_none() {
                    found.insert(String::new());
                }
            }
        }
        let several = values.into_iter().filter(|(_, found)| found.len() > 1);
        several.map(|(path, _)| path).collect()
    }

    /// `lr 5e-5, dropout 0.2`.
    fn setting(&self, trial: &Trial) -> String {
        let parts = self.differing().into_iter().filter_map(|path| {
            let name = path.rsplit('.').next().unwrap_or(path);
            Some(format!("{name} {}", shown(trial.runs[0].fact(path)?)))
        });
        parts.collect::<Vec<_>>().join(", ")
    }

    fn best_setting(&self) -> String {
        let best = self.best().map(|(at, _)| self.setting(&self.trials[at]));
        best.unwrap_or_default()
    }

    /// Whether the compared runs have what the best trial has: `yes`, `no`, or why that is unknown.
    fn taken(&self) -> &'static str {
        let Some((at, _)) = self.best() else {
            return "no trial";
        };
        let best = self.trials[at].runs[0];
        let same = |run: &&Run| {
            let mut paths = self.differing().into_iter();
            paths.all(|path| run.fact(path) == best.fact(path))
        };
        match (self.compared.is_empty(), self.compared.iter().all(same)) {
            (true, _) => "no run",
            (_, true) => "yes",
            (_, false) => "no",
        }
    }

    fn csv(&self, figure: &str, task: &str, csv: &mut Csv) {
        let best: BTreeMap<u32, Spread> = self.best_so_far().into_iter().collect();
        for (n, trial) in (1..).zip(&self.trials) {
            let each = |what: fn(&Run) -> &String| {
                let texts: Vec<&str> = trial.runs.iter().map(|run| what(run).as_str()).collect();
                texts.join(" ")
            };
            csv.line([
                figure,
                task,
                self.group,
                &n.to_string(),
                &each(|run| &run.row.run_id),
                &each(|run| &run.row.status),
                &number(trial.score),
                &number(best.get(&n).map(|best| best.mean)),
                &self.setting(trial),
            ]);
        }
    }
}

/// A value of a setting; rates by powers of ten.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number
            .as_f64()
            .map_or_else(|| number.to_string(), setting_number),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn trials_their_best_and_whether_all_had_as_many() {
        let drawing = fixture::figure_of_encoders("search");
        let table = drawing.table.expect("a table detail the figure");
        let shown = |part: usize, row: usize| -> Vec<String> {
            let cells = table.parts[part].rows[row].iter();
            cells
                .map(|cell| format!("{} {}", cell.main, cell.detail).trim().to_owned())
                .collect()
        };
        assert_eq!(
            shown(0, 0),
            [
                "Large, frozen",
                "4 trials best 0.790, trial 4",
                "4 trials best 0.650, trial 2"
            ]
        );
        assert_eq!(
            shown(0, 1),
            [
                "Large, tuned",
                "4 trials best 0.850, trial 3",
                "2 trials best 0.720, trial 2"
            ]
        );
        assert_eq!(
            shown(0, 2),
            ["Same number of trials?", "yes, 4 each", "no: 4, 2"]
        );
        assert_eq!(shown(1, 1), ["Large, tuned", "lr 1e-3", "lr 3e-4"]);
        // All compared runs have 1e-3, which is the best trial of one cell.
        assert_eq!(shown(2, 0), ["Large, frozen", "no", "no"]);
        assert_eq!(shown(2, 1), ["Large, tuned", "yes", "no"]);
    }

    #[test]
    fn the_line_is_the_best_so_far() {
        let drawing = fixture::figure_of_encoders("search");
        let Panel::Series(panel) = &drawing.panels[0] else {
            panic!("a panel of series");
        };
        let points = panel.lines[1].points.iter();
        let points: Vec<(u32, f64)> = points.map(|(n, spread)| (*n, spread.mean)).collect();
        assert_eq!(points, [(1, 0.8), (2, 0.8), (3, 0.85), (4, 0.85)]);
        let csv = drawing.table.unwrap().csv;
        assert!(csv.text().contains("search,Letters,full,4,"), "{csv:?}");
    }

    #[test]
    fn a_comparison_is_fair_where_all_had_as_many_trials() {
        for (counts, expected) in [
            (&[12, 12][..], "yes, 12 each"),
            (&[12, 6, 12], "no: 12, 6, 12"),
            (&[0, 0], "no trials"),
            (&[3, 0], "no: 3, 0"),
        ] {
            assert_eq!(equally_hard(counts), expected);
        }
    }

    #[test]
    fn rates_are_written_by_powers_of_ten() {
        let values = [2e-5, 0.03, 0.1, 0.0, 32.0].map(|value| shown(&serde_json::json!(value)));
        assert_eq!(values, ["2e-5", "3e-2", "0.1", "0", "32"]);
        assert_eq!(shown(&serde_json::json!(32)), "32");
    }
}
