//! Figures of scores by epoch over several phases of training: one line per run, a mark where its next phase begins, and
//! a table of how the first phase ended.

use std::collections::{BTreeMap, HashSet};

use anyhow::{Result, ensure};
use serde::Deserialize;
use totune_evidence::plan::{Plan, Task, Where};
use totune_evidence::select::label::labelled;
use totune_evidence::select::scope::Scope;
use totune_plot::Panel;
use totune_plot::levels::Level;
use totune_plot::series::{Scale, SeriesPanel, Upright};

use super::{FigureKind, RenderedFigure, once};
use crate::item::Heading;
use crate::tables::rendered::{Column, Csv, RenderedTable, RowGroup};

mod line;

use line::{DEV, GAP, Line, limit};

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
    /// Its title after that of the task, where another panel shows the same scores of other groups.
    #[serde(default)]
    pub(crate) title: String,
    /// Groups of the figure that it leaves out, as one that has no such score does.
    #[serde(default)]
    pub(crate) without: Vec<String>,
}

/// Scores that a panel can show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Shows {
    /// The task's own metric on dev.
    #[default]
    Dev,
    /// The generalisation gap (train minus dev), with the declared limit as a line.
    Gap,
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
            "Gap at its end",
            "Above the limit",
            "Dev at its end",
            "Dev after phase 2",
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
                table.parts.push(RowGroup {
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
            Shows::Dev => (
                match self.title.as_str() {
                    "" => task.title.clone(),
                    title => format!("{}, {title}", task.title),
                },
                format!("{} (dev)", task.unit),
                vec![],
            ),
            Shows::Gap => (
                format!("{}: generalisation gap", task.title),
                format!("{}, train \u{2212} dev", task.unit),
                levels(lines),
            ),
        };
        let uprights = match self.shows {
            Shows::Dev => uprights(lines),
            Shows::Gap => vec![],
        };
        let words = [
            Some("thin: single runs; thick: mean over the epochs that all runs have"),
            (!uprights.is_empty()).then_some("dashed: start of phase 2, and in how many runs"),
        ];
        SeriesPanel {
            title,
            measure: text,
            across: "Epochs, over both phases".to_owned(),
            scale: Scale::Even,
            lines: lines.iter().map(|line| line.series(measure)).collect(),
            uprights,
            levels,
            words: words.into_iter().flatten().map(str::to_owned).collect(),
        }
    }
}

/// Epochs at which runs enter their next phase, with the number of runs out of those that have several phases.
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
