//! The share of the rise from the lowest layer to the highest that comes after some layer.

use super::layers::{OnTask, check_share_of_depth, means};
use super::prelude::*;

/// At least so much ("sharply in the last layers"), or at most ("gradually").
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LateRise {
    /// Left out, it is each task's own.
    metric: Option<String>,
    /// Where the last layers begin, as a share of the depth.
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
        Ok(found
            .map(|found| self.settled(&found, terms.relation))
            .into())
    }
}

impl LateRise {
    fn settled(&self, found: &[OnTask], relation: &Relation) -> Finding {
        let (mut kept, mut ours, mut reasons) = (true, Vec::new(), Vec::new());
        for on in found {
            let (Some((lowest, first)), Some((highest, last))) =
                (on.means.first(), on.means.last())
            else {
                continue;
            };
            let start = on.layer_at(self.after);
            let at = on.means.iter().find(|(layer, _)| *layer >= start);
            let begin = at.map_or(*last, |(_, score)| *score);
            let rise = last - first;
            if rise <= 0.0 {
                kept = false;
                ours.push(format!("{} no rise", on.task.title));
                reasons.push(format!("no rise; {}", on.shown()));
                continue;
            }
            let late = (last - begin) / rise;
            kept &= relation.keeps(late);
            ours.push(format!("{} {}", on.task.title, percent(late)));
            reasons.push(format!(
                "{} of the rise from layer {lowest} to layer {highest} comes after layer {start}; {}",
                percent(late),
                on.shown()
            ));
        }
        Finding::settled(ours.join(", "), verdict::of_limits(kept), reasons)
    }
}

fn percent(share: f64) -> String {
    format!("{} %", Scale::Percent.number(share))
}
