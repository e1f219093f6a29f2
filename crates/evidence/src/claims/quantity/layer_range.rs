//! The range of the scores of a side over the upper layers.

use super::layers::{OnTask, check_share_of_depth, means, settled};
use super::prelude::*;

/// The highest score minus the lowest, from some layer on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LayerRange {
    /// The metric; left out, each task's own.
    metric: Option<String>,
    /// Start of the upper layers, as a share of the depth: the fourth of twelve layers is a third.
    after: f64,
}

impl Quantity for LayerRange {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::of_tasks(&["at-most"]).sides(1..=1)
    }

    fn check(&self, terms: &Terms) -> Result<()> {
        check_share_of_depth(self.after, &terms.from)
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        Ok(format!(
            "a range of at most {} there",
            terms.relation.limit()
        ))
    }

    fn measure(&self, terms: &Terms, runs: &Runs) -> Result<Finding> {
        let found = means(&terms.sides[0], self.metric.as_ref(), terms, runs)?;
        let settled = |found: Vec<OnTask>| settled(&found, terms.relation, |on| self.range(on));
        Ok(found.map(settled).into())
    }
}

impl LayerRange {
    fn range(&self, on: &OnTask) -> (f64, String, String) {
        let start = on.layer_at(self.after);
        let late = on.means.iter().filter(|(layer, _)| *layer >= start);
        let scores: Vec<f64> = late.map(|(_, score)| *score).collect();
        let [low, _, _, _, high] = quartiles(&scores);
        let shown = fixed(high - low, 3);
        let title = &on.task.title;
        let why = format!("{title}: from layer {start} on the scores span {shown}");
        (high - low, shown, why)
    }
}
