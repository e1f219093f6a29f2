//! How far from nothing a number is at any layer, for every side and metric.

use super::layers::means;
use super::prelude::*;

/// The largest absolute value over layers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LayerSize {
    /// All of them.
    metrics: Vec<String>,
}

impl Quantity for LayerSize {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::of_tasks(&["at-most"]).sides(at_least(1))
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
        Ok(format!("at most {} at every layer", terms.relation.limit()))
    }

    fn measure(&self, terms: &Terms, runs: &Runs) -> Result<Finding> {
        let (mut largest, mut reasons): (f64, Vec<String>) = (0.0, Vec::new());
        let (mut near, mut all) = (0, 0);
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
            "up to {}; {near} of {all} within {}",
            fixed(largest, 4),
            terms.relation.limit()
        );
        let verdict = verdict::of_limits(near == all);
        Ok(Finding::settled(ours, verdict, reasons))
    }
}
