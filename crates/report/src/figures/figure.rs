//! Figures of a page: the plan's groups and panels with the numbers of the runs.

use anyhow::Result;

use crate::figures::curves::{CurvesPlan, Drawn, draw};
use crate::plan::{BoxPlan, FigurePlan, Measure};
use crate::select::label::labelled;
use crate::select::scope::Scope;
use crate::tables::grid::Grid;
use totune_plot::boxes::{BoxPanel, BoxSeries};
use totune_plot::{Figure, Panel};

/// A figure with the words around it.
#[derive(Debug)]
pub(crate) struct Drawing {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) source: String,
    pub(crate) text: String,
    /// What is missing from the picture.
    pub(crate) notes: Vec<String>,
    pub(crate) figure: Figure,
    /// The table beside it, if it has one.
    pub(crate) table: Option<Grid>,
    /// Every number of the picture, if it tells them.
    pub(crate) csv: Option<String>,
}

impl Drawing {
    /// Fills the panels of `plan`.
    pub(crate) fn build(figure: &FigurePlan, scope: &Scope, stamp: Option<String>) -> Result<Self> {
        let at = |id: &str| scope.at(format_args!("figure `{id}`"));
        match figure {
            FigurePlan::Box(figure) => Self::boxes(figure, &at(&figure.id), stamp),
            FigurePlan::Curves(figure) => Self::curves(figure, &at(&figure.id), stamp),
            FigurePlan::Phases(figure) => figure.draw(&at(&figure.id), stamp),
            FigurePlan::Search(figure) => figure.draw(&at(&figure.id), stamp),
            FigurePlan::Layers(figure) => figure.draw(&at(&figure.id), stamp),
        }
    }

    fn curves(figure: &CurvesPlan, scope: &Scope, stamp: Option<String>) -> Result<Self> {
        let Drawn {
            panels,
            notes,
            table,
            csv,
        } = draw(figure, scope)?;
        Ok(Self {
            id: figure.id.clone(),
            title: figure.title.clone(),
            source: figure.source.clone(),
            text: figure.text.clone(),
            notes,
            figure: Figure { panels, stamp },
            table: Some(table),
            csv: Some(csv),
        })
    }

    fn boxes(figure: &BoxPlan, scope: &Scope, stamp: Option<String>) -> Result<Self> {
        let Scope { plan, runs, from } = scope;
        let mut notes = Vec::new();
        let mut panels = Vec::new();
        for panel in &figure.panels {
            let measure = Measure::score(&panel.metric, &panel.split);
            let mut boxes = Vec::new();
            for name in &figure.groups {
                let group = plan.group(name, from)?;
                let mut conditions = group.conditions.clone();
                conditions.extend(figure.conditions.clone());
                let sample = runs.sample(&conditions, &measure, from)?;
                notes.extend(
                    sample
                        .note
                        .as_ref()
                        .map(|note| format!("{}: no box, since {note}", group.title)),
                );
                if !sample.lost.is_empty() {
                    notes.push(format!(
                        "{}: not drawn: {}",
                        group.title,
                        sample.lost_text()
                    ));
                }
                let paper = plan.paper_value(name, &measure);
                boxes.push(BoxSeries {
                    title: labelled(&group.title, &sample.labels),
                    values: sample.values,
                    paper,
                });
            }
            panels.push(Panel::Boxes(BoxPanel {
                measure: panel.title.clone(),
                boxes,
            }));
        }
        let mut seen = std::collections::HashSet::new();
        notes.retain(|note| seen.insert(note.clone()));
        Ok(Self {
            id: figure.id.clone(),
            title: figure.title.clone(),
            source: figure.source.clone(),
            text: figure.text.clone(),
            notes,
            figure: Figure { panels, stamp },
            table: None,
            csv: None,
        })
    }
}
