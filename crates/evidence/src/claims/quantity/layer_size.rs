//! The largest distance from 0 at any layer, for every side and metric.

use super::layers::means;
use super::prelude::*;

/// The largest absolute value over layers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LayerSize {
    /// Metrics whose values are taken.
    metrics: Vec<String>,
}

impl Quantity for LayerSize {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::of_tasks(&["at-most", "at-least"]).sides(at_least(1))
    }

    fn check(&self, terms: &Terms) -> Result<()> {
        ensure!(
            !self.metrics.is_empty(),
            "{}: found no metrics, expected at least one",
            terms.from
        );
        Ok(())
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        let limit = terms.relation.limit();
        Ok(match terms.relation {
            Relation::AtLeast(_) => format!("at least {limit} at some layer of each task"),
            _ => format!("at most {limit} at every layer"),
        })
    }

    fn measure(&self, terms: &Terms, runs: &Runs) -> Result<Finding> {
        let (mut largest, mut reasons): (f64, Vec<String>) = (0.0, Vec::new());
        let (mut near, mut all, mut kept) = (0, 0, true);
        for side in terms.sides {
            let title = terms.title(side)?;
            for metric in &self.metrics {
                let found = match means(side, Some(metric), terms, runs)? {
                    Ok(found) => found,
                    Err(why) => return Ok(Finding::Untestable(why)),
                };
                for on in &found {
                    let sizes = || on.means.iter().map(|(_, value)| value.abs());
                    let most = sizes().fold(0.0, f64::max);
                    largest = largest.max(most);
                    // The largest of a task decides on either limit.
                    kept &= terms.relation.keeps(most);
                    near += sizes().filter(|&size| terms.relation.keeps(size)).count();
                    all += on.means.len();
                    reasons.push(format!(
                        "{title}, {metric} on {}: up to {}",
                        on.task.title,
                        fixed(most, 4)
                    ));
                }
            }
        }
        let ours = format!(
            "up to {}; {near} of {all} {} {}",
            fixed(largest, 4),
            match terms.relation {
                Relation::AtLeast(_) => "at least",
                _ => "within",
            },
            terms.relation.limit()
        );
        let verdict = verdict::of_limits(kept);
        Ok(Finding::settled(ours, verdict, reasons))
    }
}
