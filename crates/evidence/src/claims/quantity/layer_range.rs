//! How far the scores of a side range over the upper layers.

use super::layers::{OnTask, check_share_of_depth, means};
use super::prelude::*;

/// The highest score less the lowest, from some layer on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LayerRange {
    /// Left out, it is each task's own.
    metric: Option<String>,
    /// Where the upper layers begin, as a share of the depth: the fourth of twelve layers is a third.
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
        Ok(found
            .map(|found| self.settled(&found, terms.relation))
            .into())
    }
}

impl LayerRange {
    fn settled(&self, found: &[OnTask], relation: &Relation) -> Finding {
        let (mut kept, mut ours, mut reasons) = (true, Vec::new(), Vec::new());
        for on in found {
            let start = on.layer_at(self.after);
            let scores = || {
                let late = on.means.iter().filter(|(layer, _)| *layer >= start);
                late.map(|(_, score)| *score)
            };
            let range = scores().fold(f64::MIN, f64::max) - scores().fold(f64::MAX, f64::min);
            kept &= relation.keeps(range);
            ours.push(format!("{} {}", on.task.title, fixed(range, 3)));
            reasons.push(format!(
                "{}: from layer {start} on the scores span {}; {}",
                on.task.title,
                fixed(range, 3),
                on.shown()
            ));
        }
        Finding::settled(ours.join(", "), verdict::of_limits(kept), reasons)
    }
}
