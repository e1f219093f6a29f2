//! The share of the rise from the lowest layer to the highest that comes after some layer.

use super::layers::{OnTask, check_share_of_depth, means, settled};
use super::prelude::*;

/// The share has a lower limit ("sharply in the last layers") or an upper one ("gradually").
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LateRise {
    /// The metric; left out, each task's own.
    metric: Option<String>,
    /// Start of the last layers, as a share of the depth.
    after: f64,
}

impl Quantity for LateRise {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::of_tasks(&["at-least", "at-most"]).sides(1..=1)
    }

    fn check(&self, terms: &Terms) -> Result<()> {
        check_share_of_depth(self.after, &terms.from)
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        let words = match terms.relation {
            Relation::AtLeast(_) => "at least",
            _ => "at most",
        };
        let share = percent(terms.relation.limit());
        Ok(format!("{words} {share} of the rise comes late"))
    }

    fn measure(&self, terms: &Terms, runs: &Runs) -> Result<Finding> {
        let found = means(&terms.sides[0], self.metric.as_ref(), terms, runs)?;
        let settled = |found: Vec<OnTask>| settled(&found, terms.relation, |on| self.late(on));
        Ok(found.map(settled).into())
    }
}

impl LateRise {
    /// The share that comes late; without a rise no share keeps any limit.
    fn late(&self, on: &OnTask) -> (f64, String, String) {
        let ((lowest, first), (highest, last)) = (on.means[0], on.means[on.means.len() - 1]);
        let start = on.layer_at(self.after);
        let at = on.means.iter().find(|(layer, _)| *layer >= start);
        let begin = at.map_or(last, |(_, score)| *score);
        let rise = last - first;
        if rise <= 0.0 {
            return (f64::NAN, "no rise".to_owned(), "no rise".to_owned());
        }
        let late = (last - begin) / rise;
        let shown = percent(late);
        let why = format!(
            "{shown} of the rise from layer {lowest} to layer {highest} comes after layer {start}"
        );
        (late, shown, why)
    }
}

fn percent(share: f64) -> String {
    format!("{} %", Scale::Percent.number(share))
}
