//! Figures of scores by epoch over several phases of training: one line per run, a mark where its next phase begins, and
//! a table of how the first phase ended.

use std::collections::{BTreeMap, HashSet};

use anyhow::{Result, ensure};
use serde::Deserialize;
use totune_evidence::plan::{Plan, Task, Where};
use totune_evidence::select::label::labelled;
use totune_evidence::select::runs::Run;
use totune_evidence::select::scope::Scope;
use totune_evidence::text::counted;
use totune_plot::Panel;
use totune_plot::series::{Level, Series, SeriesPanel, Stroke, Upright};
use totune_stats::curve::Spread;

use super::{FigureKind, RenderedFigure, once, spread_cell};
use crate::item::Heading;
use crate::tables::rendered::{Cell, Column, Csv, Part, RenderedTable};

/// How far the score on train lies above the one on dev, where a phase ends by it.
const GAP: (&str, &str) = ("gap", "train");
/// Where specs say how large it may be; the second in those of schema 3 and before.
const LIMITS: [&str; 2] = [
    "work.training.adaptation.head-stop.max-gap",
    "work.training.adaptation.head-stop.gap",
];
/// The split that is shown where none is named, and the one whose scores the table has.
const DEV: &str = "dev";
/// `kind = "phases"`: scores after each epoch, over all phases.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Phases {
    /// Groups, one colour each.
    groups: Vec<String>,
    #[serde(rename = "panel")]
    panels: Vec<PhasePanelPlan>,
    /// Further conditions on every line.
    #[serde(default, rename = "where")]
    conditions: Where,
}

/// One panel: a score of a task by epoch.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct PhasePanelPlan {
    pub(crate) task: String,
    #[serde(default)]
    pub(crate) shows: Shows,
    /// Groups of the figure that it leaves out, as one that has no such score does.
    #[serde(default)]
    pub(crate) without: Vec<String>,
}

/// Which scores a panel shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Shows {
    /// The task's own metric on dev.
    #[default]
    Dev,
    /// How far train lies above dev, with the declared limit as a line.
    Gap,
}

/// The runs of one group.
struct Line<'a> {
    name: &'a str,
    title: String,
    /// Place among the groups of the figure.
    colour: usize,
    runs: Vec<&'a Run>,
    note: Option<String>,
}

impl FigureKind for Phases {
    fn table_suffix(&self) -> Option<&'static str> {
        Some("-ends")
    }

    fn check(&self, plan: &Plan, from: &str) -> Result<()> {
        ensure!(
            !self.panels.is_empty(),
            "{from}: found no panel, expected at least one"
        );
        plan.check_groups(&self.groups, from)?;
        for panel in &self.panels {
            plan.task(&panel.task, from)?;
            for name in &panel.without {
                ensure!(
                    self.groups.contains(name),
                    "{from}: panel of `{}`: found `{name}` in `without`, expected one of: {}",
                    panel.task,
                    self.groups.join(", ")
                );
            }
        }
        Ok(())
    }

    fn draw(&self, heading: &Heading, scope: &Scope) -> Result<RenderedFigure> {
        let Scope { plan, runs, from } = scope;
        let titles = [
            "Runs",
            "Epochs of phase 1",
            "Train \u{2212} dev at its end",
            "Above the limit",
            "Dev at its end",
            "Dev at the end",
        ];
        let mut table = RenderedTable {
            heading: heading.of_part("-ends", "how phase 1 ended"),
            columns: [Column::stub("Strategy")]
                .into_iter()
                .chain(titles.map(Column::of))
                .collect(),
            notes: vec![
                "means over runs, with the lowest and the highest where they differ".to_owned(),
            ],
            csv: Csv::new("figure,task,group,run,seed,epoch,phase,split,metric,seconds,score"),
            ..RenderedTable::default()
        };
        let (mut drawing, mut told, mut written) =
            (RenderedFigure::default(), HashSet::new(), HashSet::new());
        for panel in &self.panels {
            let task = plan.task(&panel.task, from)?;
            let lines = self.lines(&panel.without, task, scope)?;
            let (metric, split) = panel.measure(task);
            if lines.iter().any(|line| !line.runs.is_empty()) {
                runs.check_scored(metric, split, from)?;
            }
            for line in &lines {
                drawing.notes.extend(line.missing(task, (metric, split)));
                // Several panels may show the same scores.
                if written.insert((&panel.task, metric, split, line.name)) {
                    line.csv([&heading.id, &panel.task], (metric, split), &mut table.csv);
                }
            }
            drawing
                .panels
                .push(Panel::Series(panel.drawn(task, &lines)));
            if told.insert(&panel.task) {
                let all = self.lines(&[], task, scope)?;
                table.parts.push(Part {
                    title: format!("{} ({})", task.title, task.unit),
                    rows: all.iter().filter_map(|line| line.cells(task)).collect(),
                });
            }
        }
        once(&mut drawing.notes);
        drawing.table = Some(table);
        Ok(drawing)
    }
}

impl Phases {
    fn lines<'a>(
        &'a self,
        without: &[String],
        task: &Task,
        scope: &Scope<'a>,
    ) -> Result<Vec<Line<'a>>> {
        let Scope { plan, runs, from } = scope;
        let groups = self.groups.iter().enumerate();
        let shown = groups.filter(|(_, name)| !without.contains(name));
        let lines = shown.map(|(colour, name)| {
            let group = plan.group(name, from)?;
            let all = group.narrowed([&self.conditions, &task.conditions()]);
            let selection = runs.select(&all, &format!("{from}: group `{name}`"))?;
            Ok(Line {
                name,
                title: labelled(&group.title, selection.labels()),
                colour,
                runs: selection.runs,
                note: selection.note,
            })
        });
        lines.collect()
    }
}

impl PhasePanelPlan {
    /// Metric and split.
    fn measure<'a>(&self, task: &'a Task) -> (&'a str, &'a str) {
        match self.shows {
            Shows::Dev => (&task.metric, DEV),
            Shows::Gap => GAP,
        }
    }

    fn drawn(&self, task: &Task, lines: &[Line]) -> SeriesPanel {
        let measure = self.measure(task);
        let (title, text, levels) = match self.shows {
            Shows::Dev => (task.title.clone(), format!("{} (dev)", task.unit), vec![]),
            Shows::Gap => (
                format!("{}: the gap", task.title),
                format!("{}, train \u{2212} dev", task.unit),
                levels(lines),
            ),
        };
        let uprights = match self.shows {
            Shows::Dev => uprights(lines),
            Shows::Gap => vec![],
        };
        let words = [
            Some("thin: each run, thick: mean as far as all runs go"),
            (!uprights.is_empty()).then_some("dashed: phase 2 begins, in so many runs"),
        ];
        SeriesPanel {
            title,
            measure: text,
            across: "Epochs, over both phases".to_owned(),
            lines: lines.iter().map(|line| line.series(measure)).collect(),
            uprights,
            levels,
            words: words.into_iter().flatten().map(str::to_owned).collect(),
        }
    }
}

/// Where runs go on to their next phase, with how many of those that have several do.
fn uprights(lines: &[Line]) -> Vec<Upright> {
    let mut at: BTreeMap<u32, usize> = BTreeMap::new();
    let mut all = 0;
    for run in lines.iter().flat_map(Line::ended_well) {
        let switches = run.switches();
        all += usize::from(!switches.is_empty());
        for (epoch, _) in switches {
            *at.entry(epoch).or_default() += 1;
        }
    }
    let upright = |(epoch, n): (u32, usize)| Upright {
        at: f64::from(epoch) + 0.5,
        text: format!("{n} of {all}"),
    };
    at.into_iter().map(upright).collect()
}

/// The limits that the runs declare, each once.
fn levels(lines: &[Line]) -> Vec<Level> {
    let limits = lines
        .iter()
        .flat_map(|line| &line.runs)
        .filter_map(|run| limit(run));
    let mut limits: Vec<f64> = limits.collect();
    limits.sort_by(f64::total_cmp);
    limits.dedup();
    let level = |at: f64| Level {
        at,
        text: "phase 1 ends above".to_owned(),
    };
    limits.into_iter().map(level).collect()
}

fn limit(run: &Run) -> Option<f64> {
    let limits = LIMITS.iter();
    limits.filter_map(|path| run.fact(path)?.as_f64()).next()
}

impl<'a> Line<'a> {
    fn ended_well(&self) -> impl Iterator<Item = &'a Run> {
        self.runs
            .iter()
            .copied()
            .filter(|run| run.row.status == "ok")
    }

    /// Each run by a thin line, with a tick where its next phase begins, and the mean over the epochs that all have.
    fn series(&self, (metric, split): (&str, &str)) -> Series {
        let runs: Vec<&Run> = self.ended_well().collect();
        let traces: Vec<Vec<(u32, f64)>> = runs
            .iter()
            .map(|run| {
                let scores = run.epochs(metric, split).iter();
                scores.map(|score| (score.epoch, score.score)).collect()
            })
            .filter(|trace: &Vec<(u32, f64)>| !trace.is_empty())
            .collect();
        let mut by_epoch: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (epoch, score) in traces.iter().flatten() {
            by_epoch.entry(*epoch).or_default().push(*score);
        }
        let mean = |(epoch, scores): (u32, Vec<f64>)| {
            let mean = totune_stats::mean(&scores);
            (scores.len() == traces.len()).then(|| Some((epoch, Spread::of(&[mean])?)))?
        };
        let points = by_epoch.into_iter().filter_map(mean).collect();
        let ticks = runs.iter().flat_map(|run| {
            let tick = |(epoch, _): (u32, f64)| {
                let ends = [epoch, epoch + 1].map(|epoch| run.score_at(metric, split, epoch));
                let [Some(before), Some(after)] = ends else {
                    return None;
                };
                Some((f64::from(epoch) + 0.5, 0.5 * (before + after)))
            };
            run.switches()
                .into_iter()
                .filter_map(tick)
                .collect::<Vec<_>>()
        });
        Series {
            title: self.title.clone(),
            points,
            colour: self.colour,
            stroke: Stroke::Solid,
            ticks: ticks.collect(),
            traces,
        }
    }

    /// Runs that are not drawn.
    fn missing(&self, task: &Task, (metric, split): (&str, &str)) -> Option<String> {
        let place = format!("{}, {}", task.title, self.title);
        if let Some(note) = &self.note {
            return Some(format!("{place}: no line, since {note}"));
        }
        let lost = self.runs.len() - self.ended_well().count();
        let unscored = self
            .ended_well()
            .filter(|run| run.epochs(metric, split).is_empty());
        let parts = [
            (lost, "did not end well"),
            (unscored.count(), "not scored so"),
        ];
        let parts: Vec<String> = parts
            .into_iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, why)| format!("{} {why}", counted(n, "run")))
            .collect();
        (!parts.is_empty()).then(|| format!("{place}: {}", parts.join(", ")))
    }

    /// How phase 1 ended; nothing where no run has a second one.
    fn cells(&self, task: &Task) -> Option<Vec<Cell>> {
        let ends: Vec<(&Run, u32)> = self
            .ended_well()
            .filter_map(|run| Some((run, run.switches().first()?.0)))
            .collect();
        if ends.is_empty() {
            return None;
        }
        let mut lengths: BTreeMap<u32, usize> = BTreeMap::new();
        for (_, epoch) in &ends {
            *lengths.entry(*epoch).or_default() += 1;
        }
        let lengths: Vec<String> = lengths
            .iter()
            .map(|(epochs, n)| match lengths.len() {
                1 => epochs.to_string(),
                _ => format!("{epochs} ({})", counted(*n, "run")),
            })
            .collect();
        let at_end = |metric: &str, split: &str| -> Vec<f64> {
            let at = |(run, epoch): &(&Run, u32)| run.score_at(metric, split, *epoch);
            ends.iter().filter_map(at).collect()
        };
        let gaps = at_end(GAP.0, GAP.1);
        let above = ends.iter().filter(|(run, epoch)| {
            let gap = run.score_at(GAP.0, GAP.1, *epoch);
            gap.zip(limit(run)).is_some_and(|(gap, limit)| gap > limit)
        });
        let last = |(run, _): &(&Run, u32)| Some(run.epochs(&task.metric, DEV).last()?.score);
        Some(vec![
            Cell::of(&self.title),
            Cell::of(ends.len().to_string()),
            Cell::of(lengths.join(", ")),
            spread(&gaps),
            Cell::of(counted(above.count(), "run")),
            spread(&at_end(&task.metric, DEV)),
            spread(&ends.iter().filter_map(last).collect::<Vec<_>>()),
        ])
    }

    fn csv(&self, names: [&str; 2], (metric, split): (&str, &str), csv: &mut Csv) {
        for run in self.ended_well() {
            for score in run.epochs(metric, split) {
                let [seed, epoch, phase] =
                    [run.row.seed, score.epoch.into(), score.phase.into()].map(|n| n.to_string());
                let numbers = [score.seconds, score.score].map(|number| number.to_string());
                let of_run = [
                    self.name,
                    &run.row.run_id,
                    &seed,
                    &epoch,
                    &phase,
                    split,
                    metric,
                ];
                csv.line(
                    names
                        .into_iter()
                        .chain(of_run)
                        .chain(numbers.iter().map(String::as_str)),
                );
            }
        }
    }
}

fn spread(values: &[f64]) -> Cell {
    Spread::of(values)
        .as_ref()
        .map_or_else(Cell::default, spread_cell)
}
