//! Figures: which kinds there are, and what the author of one chooses.

use std::collections::HashSet;

use anyhow::{Result, ensure};
use serde::Deserialize;

use crate::figures::curves::CurvesPlan;
use crate::figures::layers::LayersPlan;
use crate::figures::phases::PhasesPlan;
use crate::figures::search::SearchPlan;
use crate::plan::{Plan, Where, check_id};

/// One figure; to add a kind, add a variant here and a panel in `plot`.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum FigurePlan {
    /// Box plots with the runs as dots, one panel per measure.
    Box(BoxPlan),
    /// Scores over time, one panel per task, and a table beside them.
    Curves(CurvesPlan),
    /// Scores by layer, one panel per task, and a table of the same numbers.
    Layers(LayersPlan),
    /// Scores by epoch over the phases of training, and a table of how the first one ended.
    Phases(PhasesPlan),
    /// The search for settings: best score so far against trials, and a table of trials.
    Search(SearchPlan),
}

/// Box plots side by side.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct BoxPlan {
    pub(crate) id: String,
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) source: String,
    #[serde(default)]
    pub(crate) text: String,
    /// Groups, from left to right.
    pub(crate) groups: Vec<String>,
    #[serde(rename = "panel")]
    pub(crate) panels: Vec<PanelPlan>,
    #[serde(default, rename = "where")]
    pub(crate) conditions: Where,
}

/// One panel of a figure.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct PanelPlan {
    /// What the axis measures, with its unit.
    pub(crate) title: String,
    pub(crate) metric: String,
    pub(crate) split: String,
}

impl FigurePlan {
    /// Checks what the types cannot; `shown` names the file.
    pub(super) fn check(&self, plan: &Plan, shown: &str, ids: &mut HashSet<String>) -> Result<()> {
        match self {
            Self::Box(figure) => {
                let from = format!("{shown}: figure `{}`", figure.id);
                figure.check(plan, &from, ids)
            }
            Self::Curves(figure) => {
                let from = format!("{shown}: figure `{}`", figure.id);
                figure.check(plan, &from, ids)
            }
            Self::Phases(figure) => {
                let from = format!("{shown}: figure `{}`", figure.id);
                figure.check(plan, &from, ids)
            }
            Self::Search(figure) => {
                let from = format!("{shown}: figure `{}`", figure.id);
                figure.check(plan, &from, ids)
            }
            Self::Layers(figure) => {
                let from = format!("{shown}: figure `{}`", figure.id);
                figure.check(plan, &from, ids)
            }
        }
    }
}

impl BoxPlan {
    fn check(&self, plan: &Plan, from: &str, ids: &mut HashSet<String>) -> Result<()> {
        check_id(&self.id, from, ids)?;
        ensure!(
            !self.panels.is_empty(),
            "{from}: found no panel, expected at least one"
        );
        for group in &self.groups {
            plan.group(group, from)?;
        }
        Ok(())
    }
}
