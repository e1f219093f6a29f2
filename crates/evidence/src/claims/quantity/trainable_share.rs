//! The share of parameters that are trained: from the smallest among the sides to the largest.

use super::prelude::*;

/// Trained parameters by all parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrainableShare {}

impl Quantity for TrainableShare {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::of_tasks(&["near"]).sides(at_least(1))
    }

    fn check(&self, terms: &Terms) -> Result<()> {
        let papers = terms.relation.papers();
        ensure!(
            matches!(papers, [low, high] if 0.0 < *low && low <= high && *high <= 1.0),
            "{}: found paper = {papers:?}, expected two shares above 0, the smaller one first",
            terms.from
        );
        ensure!(
            terms.relation.tolerance().is_some(),
            "{}: found no tolerance of the printed shares, expected one",
            terms.from
        );
        Ok(())
    }

    fn compares_runs(&self) -> bool {
        false
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        let printed = terms.relation.papers().iter();
        let shown = printed.map(|&share| {
            format!(
                "{} %",
                fixed(share * 100.0, decimals(share).saturating_sub(2))
            )
        });
        Ok(shown.collect::<Vec<_>>().join(" to "))
    }

    fn measure(&self, terms: &Terms, runs: &Runs) -> Result<Finding> {
        let (mut shares, mut reasons) = (Vec::new(), Vec::new());
        for side in terms.sides {
            let mut of_side = Vec::new();
            for task in terms.tasks()? {
                let task_runs = terms.task_runs(side, task, runs)?;
                of_side.extend(task_runs.all().filter_map(trained_share));
            }
            let title = terms.title(side)?;
            if of_side.is_empty() {
                return Ok(Finding::Untestable(format!("{title}: no run")));
            }
            reasons.push(format!("{title}: {}", range_text(&of_side)));
            shares.extend(of_side);
        }
        let [least, _, _, _, most] = quartiles(&shares);
        let tolerance = terms.relation.tolerance().unwrap_or_default();
        let mut each = [least, most].into_iter().zip(terms.relation.papers());
        let verdict = verdict::of_limits(each.all(|(ours, paper)| within(ours - paper, tolerance)));
        Ok(Finding::settled(range_text(&shares), verdict, reasons))
    }
}

/// `7.0 %`, `7.0 % to 26.4 %`.
fn range_text(shares: &[f64]) -> String {
    let [low, _, _, _, high] = quartiles(shares).map(|share| Scale::Percent.number(share));
    if low == high {
        format!("{low} %")
    } else {
        format!("{low} % to {high} %")
    }
}
