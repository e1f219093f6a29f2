//! Figures of scores by layer: one panel per task, one line per selection of runs, and a table of the same numbers.

use anyhow::{Result, ensure};
use serde::Deserialize;
use totune_evidence::plan::{Plan, Side, Task, Where};
use totune_evidence::select::by_layer::ByLayer;
use totune_evidence::select::label::labelled;
use totune_evidence::select::panel::{TaskRuns, test};
use totune_evidence::select::scope::Scope;
use totune_plot::series::Stroke;

use super::by_number::{Line, Number, TaskLines, draw};
use super::{FigureKind, RenderedFigure};
use crate::item::Heading;

/// `kind = "layers"`: metrics named `<metric>@layer-<i>`, where layer 0 is the embeddings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Layers {
    #[serde(rename = "panel")]
    panels: Vec<LayerPanelPlan>,
    #[serde(rename = "line")]
    lines: Vec<LayerLinePlan>,
    /// The split of the scores.
    #[serde(default = "test")]
    split: String,
    /// Further conditions on every line.
    #[serde(default, rename = "where")]
    conditions: Where,
}

/// One panel: a task, by its own metric unless another is named.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LayerPanelPlan {
    pub(crate) task: String,
    pub(crate) metric: Option<String>,
    /// Name of that metric on the axis.
    pub(crate) unit: Option<String>,
}

/// One line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LayerLinePlan {
    pub(crate) group: String,
    /// Another title than the group's.
    pub(crate) title: Option<String>,
    /// Another metric than the panel's, such as the same with shuffled labels.
    pub(crate) metric: Option<String>,
    #[serde(default)]
    pub(crate) stroke: Stroke,
}

impl FigureKind for Layers {
    fn table_suffix(&self) -> Option<&'static str> {
        Some("-numbers")
    }

    fn check(&self, plan: &Plan, from: &str) -> Result<()> {
        ensure!(
            !self.panels.is_empty(),
            "{from}: found no panel, expected at least one"
        );
        for panel in &self.panels {
            plan.task(&panel.task, from)?;
        }
        plan.check_groups(self.lines.iter().map(|line| &line.group), from)
    }

    fn draw(&self, heading: &Heading, scope: &Scope) -> Result<RenderedFigure> {
        let tasks = self.panels.iter().map(|panel| {
            let task = scope.plan.task(&panel.task, &scope.from)?;
            Ok(TaskLines {
                task: &panel.task,
                title: &task.title,
                unit: panel.unit.as_ref().unwrap_or(&task.unit),
                lines: self.lines(panel, task, scope)?,
            })
        });
        let tasks = tasks.collect::<Result<Vec<TaskLines>>>()?;
        Ok(draw(Number::Layer, (heading, &self.split), &tasks))
    }
}

impl Layers {
    fn lines(&self, panel: &LayerPanelPlan, task: &Task, scope: &Scope) -> Result<Vec<Line>> {
        let lines = self.lines.iter().map(|line| {
            let side = Side::One(line.group.clone());
            let task_runs = TaskRuns::of(&side, task, &self.conditions, scope)?;
            let metric = line.metric.as_ref().or(panel.metric.as_ref());
            let metric = metric.unwrap_or(&task.metric);
            let title = match &line.title {
                Some(title) => title,
                None => &scope.plan.group(&line.group, &scope.from)?.title,
            };
            let first = self
                .lines
                .iter()
                .position(|other| other.group == line.group);
            let found = ByLayer::of(&task_runs, metric, &self.split);
            Ok(Line {
                title: labelled(title, &task_runs.labels),
                metric: metric.clone(),
                colour: first.unwrap_or(0),
                stroke: line.stroke,
                scores: found.layers,
                runs: found.runs,
                labels: task_runs.labels.into_iter().collect(),
                note: found.note,
            })
        });
        lines.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use totune_plot::Panel;
    use totune_synthetic::probes;

    #[test]
    fn the_table_has_every_layer_of_every_line() {
        let drawing = fixture::figure_of_encoders("figure-1");
        let table = drawing.table.expect("a table detail the figure");
        let titles: Vec<&str> = table
            .columns
            .iter()
            .map(|column| column.title.as_str())
            .collect();
        assert_eq!(titles[..3], ["Representation", "Layer 0", "Layer 1"]);
        let letters = &table.parts[0];
        assert_eq!(letters.title, "Letters (accuracy)");
        let [pretrained, tuned] = &letters.rows[..] else {
            panic!("{:?}", letters.rows);
        };
        // 0.74 at the top, from a single run; 0.55 + 0.07 at layer 1, over three seeds.
        let top = &pretrained[7];
        assert_eq!(
            (top.main.as_str(), top.detail.as_str(), top.best),
            ("0.740", "", true)
        );
        let low = &tuned[2];
        assert_eq!(
            (low.main.as_str(), low.detail.as_str()),
            ("0.620", "0.610–0.630")
        );
        assert_eq!(
            (pretrained[8].main.as_str(), tuned[8].main.as_str()),
            ("1", "3")
        );
    }

    #[test]
    fn a_line_may_have_a_metric_of_its_own_and_shares_the_colour_of_its_group() {
        let drawing = fixture::figure_of_encoders("figure-2");
        let Panel::Series(panel) = &drawing.panels[0] else {
            panic!("a panel of series");
        };
        let lines: Vec<(usize, Stroke, f64)> = panel
            .lines
            .iter()
            .map(|line| (line.colour, line.stroke, line.points[6].1.mean))
            .collect();
        let near = |found: f64, expected: f64| (found - expected).abs() < 1e-12;
        assert_eq!((lines[0].0, lines[1].0, lines[2].0), (0, 1, 1));
        assert_eq!((lines[1].1, lines[2].1), (Stroke::Solid, Stroke::Dashed));
        assert!(near(lines[1].2, 0.4) && near(lines[2].2, 0.5), "{lines:?}");
        assert_eq!(panel.measure, "bits");
    }

    #[test]
    fn a_metric_that_no_run_has_by_layer_is_named() {
        let (good, bad) = (
            "task = \"letters\", metric = \"mi\"",
            "task = \"letters\", metric = \"f1\"",
        );
        let drawing = fixture::figure_of_plan(&probes::PLAN.replacen(good, bad, 1), "figure-2");
        let note = "Letters, Fine-tuned: 3 runs without `f1` by layer".to_owned();
        assert!(drawing.notes.contains(&note), "{:?}", drawing.notes);
    }
}
