//! Two sides layer by layer: one above the other, or both alike, at every layer of every task.

use super::layers::means;
use super::prelude::*;

/// The scores of both sides; every layer of every task is a comparison of its own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LayerScore {
    /// The metric; left out, each task's own.
    metric: Option<String>,
}

impl Quantity for LayerScore {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::of_tasks(&["greater", "equivalent"])
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        Ok(match terms.relation {
            Relation::Equivalent => format!("at most {} apart at every layer", terms.margin),
            _ => format!("{} at every layer", terms.first_above_second()?),
        })
    }

    fn measure(&self, terms: &Terms, runs: &Runs) -> Result<Finding> {
        let layers = match means(&terms.sides[0], self.metric.as_ref(), terms, runs)? {
            Ok(found) => found.into_iter().flat_map(|on| on.means),
            Err(why) => return Ok(Finding::Untestable(why)),
        };
        let layers: BTreeSet<u32> = layers.map(|(layer, _)| layer).collect();
        let paired = terms.paired(&terms.tasks()?, runs)?;
        Ok(self.compared(&paired, &layers).into())
    }
}

impl LayerScore {
    fn compared(
        &self,
        paired: &PairedComparison,
        layers: &BTreeSet<u32>,
    ) -> Result<Finding, String> {
        let mut evidence = Evidence::new(Scale::Plain(DIGITS));
        for layer in layers {
            let score = |task: &Task, run: &Run| {
                let metric = self.metric.as_ref().unwrap_or(&task.metric);
                run.layers(metric, TEST).get(layer).copied()
            };
            let numbers = paired.numbers(|task, pair| {
                let of = |runs| average(runs, |run| score(task, run));
                Some((of(&pair.a)?, of(&pair.b)?))
            })?;
            for on in &numbers.tasks {
                let label = format!("{}, layer {layer}", on.task.title);
                let comparison = unpaired(&[(1.0, &on.a, &on.b)]);
                let comparison = comparison.map_err(|why| format!("{label}: {why}"))?;
                evidence.comparisons.push((label, comparison));
            }
        }
        let above = |(_, found): &&(String, Comparison)| found.difference > 0.0;
        let n = evidence.comparisons.iter().filter(above).count();
        let all = evidence.comparisons.len();
        let (a, b) = (&paired.title_a, &paired.title_b);
        evidence.ours = format!("{a} above {b} at {n} of {all} layers");
        Ok(Finding::Compared(evidence))
    }
}
