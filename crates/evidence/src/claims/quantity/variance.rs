//! The variance of a score over the runs of a side.

use super::prelude::*;
use super::score::compared as compared_samples;
use crate::select::panel::test;

/// Compares the distances from each side's median: the test of Brown and Forsythe (1974), with Welch's
/// degrees of freedom since the distances need not vary alike.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Variance {
    metric: String,
    #[serde(default = "test")]
    split: String,
    /// Conditions on the runs of both sides.
    #[serde(default, rename = "where")]
    conditions: Where,
}

impl Quantity for Variance {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::of_runs(&["greater"], self.conditions.clone())
    }

    fn margin(&self) -> f64 {
        0.0
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        let (a, b) = terms.titles()?;
        Ok(format!("{a} varies more than {b}"))
    }

    fn measure(&self, terms: &Terms, runs: &Runs) -> Result<Finding> {
        let measure = Measure::score(&self.metric, &self.split);
        let sample = |at: usize| terms.sample(&terms.sides[at], (&measure, &self.conditions), runs);
        let (a, b) = (sample(0)?, sample(1)?);
        let (title_a, title_b) = terms.titles()?;
        Ok(compared((&title_a, &a), (&title_b, &b), terms.unit).into())
    }
}

fn compared(
    (title_a, a): (&str, &Sample),
    (title_b, b): (&str, &Sample),
    unit: Unit,
) -> Result<Finding, String> {
    let (Some(sd_a), Some(sd_b)) = (a.sd(), b.sd()) else {
        return compared_samples(a, b, unit)
            .map(|_| Finding::Untestable("one run a side".to_owned()));
    };
    let distances = |sample: &Sample| {
        let [_, _, median, _, _] = quartiles(&sample.values);
        sample.map(|value| (value - median).abs())
    };
    let comparison = compared_samples(&distances(a), &distances(b), unit)?;
    let comparison = Comparison {
        test: format!(
            "on distances from the median (Brown and Forsythe), {}",
            comparison.test
        ),
        // Distances from a median that was estimated cannot be exchanged.
        permutation: None,
        ..comparison
    };
    let mut evidence = Evidence::new(Scale::Plain(DIGITS));
    evidence.ours = format!("sd {} against {}", fixed(sd_a, 4), fixed(sd_b, 4));
    if sd_b > 0.0 {
        evidence.notes.push(format!(
            "ratio of variances {}",
            fixed((sd_a / sd_b).powi(2), 2)
        ));
    }
    evidence.add_samples(comparison, (title_a, a), (title_b, b));
    Ok(Finding::Compared(evidence))
}
