//! The trend of scores over layers: Spearman's correlation of layer and score, one comparison per task.

use totune_stats::spearman_test;

use super::layers::{OnTask, means};
use super::prelude::*;

/// The trend of one side.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LayerTrend {
    /// The metric; left out, each task's own.
    metric: Option<String>,
}

impl Quantity for LayerTrend {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::of_tasks(&["greater"]).sides(1..=1)
    }

    fn margin(&self) -> f64 {
        0.0
    }

    fn stated(&self, _terms: &Terms) -> Result<String> {
        Ok("higher layers score higher".to_owned())
    }

    fn measure(&self, terms: &Terms, runs: &Runs) -> Result<Finding> {
        let found = means(&terms.sides[0], self.metric.as_ref(), terms, runs)?;
        Ok(found.and_then(|found| compared(&found)).into())
    }
}

fn compared(found: &[OnTask]) -> Result<Finding, String> {
    let mut evidence = Evidence::new(Scale::Plain(2));
    let mut ours = Vec::new();
    for on in found {
        let title = &on.task.title;
        let layers: Vec<f64> = on
            .means
            .iter()
            .map(|(layer, _)| f64::from(*layer))
            .collect();
        let scores: Vec<f64> = on.means.iter().map(|(_, score)| *score).collect();
        let comparison = by_ranks(&layers, &scores).ok_or_else(|| {
            let n = layers.len();
            format!("{title}: {n} layers, or the same score at each, cannot be ranked")
        })?;
        ours.push(format!("{title} {}", fixed(comparison.difference, 2)));
        let label = format!(
            "{title}: Spearman's correlation of layer and score over {} layers",
            layers.len()
        );
        evidence.comparisons.push((label, comparison));
        evidence.notes.push(on.shown());
    }
    evidence.ours = ours.join(", ");
    Ok(Finding::Compared(evidence))
}

/// Spearman's correlation as a comparison.
fn by_ranks(layers: &[f64], scores: &[f64]) -> Option<Comparison> {
    let found = spearman_test(layers, scores, LEVEL)?;
    let narrow = spearman_test(layers, scores, NARROW)?;
    let test = if found.exact {
        "all orders of the layers"
    } else {
        "Student's t for ranks"
    };
    let test = test.to_owned();
    Some(Comparison::of_correlation(
        [found, narrow],
        test,
        layers.len(),
    ))
}
