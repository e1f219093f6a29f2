//! Box plots with the runs as dots, one panel per measure.

use anyhow::{Result, ensure};
use serde::Deserialize;
use totune_evidence::plan::{Measure, Plan, Where};
use totune_evidence::select::label::labelled;
use totune_evidence::select::scope::Scope;
use totune_plot::Panel;
use totune_plot::boxes::{BoxPanel, BoxSeries};

use super::{FigureKind, RenderedFigure, once};
use crate::item::Heading;

/// `kind = "box"`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Box {
    /// Groups, from left to right.
    groups: Vec<String>,
    #[serde(rename = "panel")]
    panels: Vec<PanelPlan>,
    #[serde(default, rename = "where")]
    conditions: Where,
}

/// One panel.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct PanelPlan {
    /// Title of the axis, with its unit.
    title: String,
    metric: String,
    split: String,
}

impl FigureKind for Box {
    fn table_suffix(&self) -> Option<&'static str> {
        None
    }

    fn check(&self, plan: &Plan, from: &str) -> Result<()> {
        ensure!(
            !self.panels.is_empty(),
            "{from}: found no panel, expected at least one"
        );
        plan.check_groups(&self.groups, from)
    }

    fn draw(&self, _heading: &Heading, scope: &Scope) -> Result<RenderedFigure> {
        let Scope { plan, runs, from } = scope;
        let mut drawing = RenderedFigure::default();
        for panel in &self.panels {
            let measure = Measure::score(&panel.metric, &panel.split);
            let mut boxes = Vec::new();
            for name in &self.groups {
                let group = plan.group(name, from)?;
                let conditions = group.narrowed([&self.conditions]);
                let sample = runs.sample(&conditions, &measure, from)?;
                let title = &group.title;
                let note = sample
                    .note
                    .iter()
                    .map(|note| format!("{title}: no box, because {note}"));
                drawing.notes.extend(note);
                if !sample.lost.is_empty() {
                    let lost = sample.lost_text();
                    drawing.notes.push(format!("{title}: not drawn: {lost}"));
                }
                boxes.push(BoxSeries {
                    title: labelled(title, &sample.labels),
                    values: sample.values,
                    paper: plan.paper_value(name, &measure),
                });
            }
            drawing.panels.push(Panel::Boxes(BoxPanel {
                measure: panel.title.clone(),
                boxes,
            }));
        }
        once(&mut drawing.notes);
        Ok(drawing)
    }
}
