//! The figure of a page: one panel per task, the table next to it, and the points as CSV.

use anyhow::{Result, ensure};
use serde::Deserialize;
use totune_evidence::plan::{Measure, Plan, Where};
use totune_evidence::select::panel::test;
use totune_evidence::select::scope::Scope;
use totune_evidence::text::{fixed, seconds};
use totune_plot::Panel;
use totune_plot::levels::Level;
use totune_plot::lines::{LinePanel, LineSeries};
use totune_plot::time::Time;

use super::summary::{CurvesSummary, LeadSummary};
use super::table::table;
use super::{CSV_HEAD, Chosen, Lines};
use crate::figures::{FigureKind, RenderedFigure};
use crate::item::Heading;
use crate::tables::rendered::{Csv, RenderedTable};

/// `kind = "curves"`: scores over time, one panel per task.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Curves {
    /// Groups, one line each.
    pub(crate) groups: Vec<String>,
    /// Groups of runs that train no encoder: a dashed line each, at their mean final score. Those without runs of a panel's
    /// task are left out there.
    #[serde(default)]
    floors: Vec<String>,
    #[serde(rename = "panel")]
    pub(crate) panels: Vec<CurvePanel>,
    /// The split whose scores are drawn.
    #[serde(default = "test")]
    split: String,
    /// Further conditions on every line.
    #[serde(default, rename = "where")]
    pub(crate) conditions: Where,
}

/// One panel.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct CurvePanel {
    pub(crate) task: String,
}

impl FigureKind for Curves {
    fn table_suffix(&self) -> Option<&'static str> {
        Some("-times")
    }

    fn check(&self, plan: &Plan, from: &str) -> Result<()> {
        ensure!(
            !self.panels.is_empty(),
            "{from}: found no panel, expected at least one"
        );
        for panel in &self.panels {
            plan.task(&panel.task, from)?;
        }
        for name in &self.floors {
            plan.group(name, from)?;
        }
        plan.check_groups(&self.groups, from)
    }

    fn draw(&self, heading: &Heading, scope: &Scope) -> Result<RenderedFigure> {
        let groups = Chosen::of_plan(scope.plan, &self.groups, &self.conditions, &scope.from)?;
        let tasks = self.panels.iter().map(|panel| {
            let task = scope.plan.task(&panel.task, &scope.from)?;
            let measure = (task.metric.as_str(), self.split.as_str());
            let floors = self.floors(scope, &task.conditions(), measure)?;
            Ok(Lines {
                task: panel.task.clone(),
                title: task.title.clone(),
                unit: task.unit.clone(),
                metric: task.metric.clone(),
                split: self.split.clone(),
                lines: Lines::gather(scope, &groups, &task.conditions(), measure)?,
                lowest: floors.first().and_then(|(_, score)| *score),
                floors: floors
                    .into_iter()
                    .filter_map(|(title, score)| Some((title, score?)))
                    .collect(),
            })
        });
        let tasks = tasks.collect::<Result<Vec<Lines>>>()?;
        let heading = heading.of_part("-times", "scores and seconds");
        let mut drawn = drawn(&tasks, Time::default(), heading);
        drawn.notes.extend(scope.runs.retimed().notes());
        Ok(drawn)
    }
}

impl Curves {
    /// The floors of a task with their scores, which those without runs do not have.
    fn floors(
        &self,
        scope: &Scope,
        conditions: &Where,
        (metric, split): (&str, &str),
    ) -> Result<Vec<(String, Option<f64>)>> {
        let floors = self.floors.iter().map(|name| {
            let group = scope.plan.group(name, &scope.from)?;
            let (of_group, measure) = (group.narrowed([conditions]), Measure::score(metric, split));
            let sample = scope.runs.sample(&of_group, &measure, &scope.from)?;
            let score = sample.mean().filter(|mean| mean.is_finite());
            Ok((group.title.clone(), score))
        });
        floors.collect()
    }
}

/// The same for lines that are gathered already; the table gets a heading.
pub(crate) fn drawn(tasks: &[Lines], time: Time, heading: Heading) -> RenderedFigure {
    let summaries: Vec<CurvesSummary> = tasks.iter().map(CurvesSummary::of).collect();
    let missing = tasks.iter().flat_map(Lines::notes);
    let leads = summaries.iter().filter_map(leads);
    let mut csv = Csv::new(CSV_HEAD);
    for lines in tasks {
        lines.csv(&mut csv);
    }
    RenderedFigure {
        panels: tasks.iter().map(|lines| panel(lines, time)).collect(),
        notes: leads.chain(missing).collect(),
        table: Some(RenderedTable {
            heading,
            ..table(&summaries)
        }),
        csv: Some(csv),
        ..RenderedFigure::default()
    }
}

fn panel(lines: &Lines, time: Time) -> Panel {
    let series = lines.lines.iter().map(|line| LineSeries {
        title: line.title.clone(),
        epochs: line.epochs.clone(),
        runs: line.runs.len(),
        switches: line
            .runs
            .iter()
            .flat_map(|run| run.switches.iter().copied())
            .collect(),
    });
    let mut runs = lines.lines.iter().flat_map(|line| &line.runs);
    let selected = if runs.any(|run| run.selects) {
        ", epoch chosen on dev"
    } else {
        ""
    };
    Panel::Lines(LinePanel {
        title: lines.title.clone(),
        measure: format!("{} ({}){selected}, mean over runs", lines.unit, lines.split),
        time,
        lines: series.collect(),
        frontier: lines.frontier(),
        levels: lines.floors.iter().map(level).collect(),
    })
}

/// `word counts 0.430`
fn level((title, score): &(String, f64)) -> Level {
    let title = title.strip_prefix("Floor: ").unwrap_or(title);
    Level {
        at: *score,
        text: format!("{title} {}", fixed(*score, 3)),
    }
}

/// `MNLI, best within the time: Last layer from 3.10 s, All layers from 80.2 s (0.712 at 120 s)`.
fn leads(task: &CurvesSummary) -> Option<String> {
    let last = task.frontier.last()?;
    let each = |lead: &LeadSummary| format!("{} from {} s", lead.title, seconds(lead.from_seconds));
    let each: Vec<String> = task.frontier.iter().map(each).collect();
    Some(format!(
        "{}, best within the time: {} (mean score {} at {} s)",
        task.title,
        each.join(", "),
        fixed(last.until_score, 3),
        seconds(last.until_seconds)
    ))
}
