//! The figure of a page: one panel per task, the table beside it, and the points as CSV.

use anyhow::Result;

use crate::figures::curves::summary::{CurvesSummary, LeadSummary};
use crate::figures::curves::table::table;
use crate::figures::curves::{CSV_HEAD, Chosen, CurvesPlan, Lines};
use crate::select::scope::Scope;
use crate::tables::grid::Grid;
use crate::text::{fixed, seconds};
use totune_plot::Panel;
use totune_plot::lines::{LinePanel, LineSeries};
use totune_plot::time::Time;

/// What a figure of lines consists of.
pub(crate) struct Drawn {
    pub(crate) panels: Vec<Panel>,
    /// What is missing, and who is best when.
    pub(crate) notes: Vec<String>,
    pub(crate) table: Grid,
    /// One line for each score of each run.
    pub(crate) csv: String,
}

/// Fills the panels of `figure`.
pub(crate) fn draw(figure: &CurvesPlan, scope: &Scope) -> Result<Drawn> {
    let Scope { plan, runs, from } = scope;
    let groups = Chosen::of_plan(plan, &figure.groups, &figure.conditions, from)?;
    let tasks = figure.panels.iter().map(|panel| {
        let task = plan.task(&panel.task, from)?;
        let measure = (task.metric.as_str(), figure.split.as_str());
        Ok(Lines {
            task: panel.task.clone(),
            title: task.title.clone(),
            unit: task.unit.clone(),
            metric: task.metric.clone(),
            split: figure.split.clone(),
            lines: Lines::gather(runs, &groups, &task.conditions(), measure, from)?,
        })
    });
    let tasks = tasks.collect::<Result<Vec<Lines>>>()?;
    let title = format!("{}: scores and seconds", figure.title);
    Ok(drawn(&tasks, figure.time, (figure.table_id(), title)))
}

/// The same of lines that are gathered already; the table gets an id and a title.
pub(crate) fn drawn(tasks: &[Lines], time: Time, (id, title): (String, String)) -> Drawn {
    let summaries: Vec<CurvesSummary> = tasks.iter().map(CurvesSummary::of).collect();
    let missing = tasks.iter().flat_map(Lines::notes);
    let leads = summaries.iter().filter_map(leads);
    Drawn {
        panels: tasks.iter().map(|lines| panel(lines, time)).collect(),
        notes: leads.chain(missing).collect(),
        table: table(id, title, &summaries),
        csv: tasks
            .iter()
            .fold(CSV_HEAD.to_owned(), |text, lines| text + &lines.csv()),
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
    Panel::Lines(LinePanel {
        title: lines.title.clone(),
        measure: format!("{} ({}), mean over runs", lines.unit, lines.split),
        time,
        lines: series.collect(),
        frontier: lines.frontier(),
    })
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
