//! How much lower the mean score over tasks of one side is, as a share of the other's.

use super::prelude::*;

/// `1 - a / b`, with both means taken over the tasks.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RelativeScore {}

impl Quantity for RelativeScore {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::of_tasks(&["near"])
    }

    fn check(&self, terms: &Terms) -> Result<()> {
        sized(terms, 1)
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        Ok(share_lower(terms.relation.papers()[0]))
    }

    fn measure(&self, terms: &Terms, runs: &Runs) -> Result<Finding> {
        let paired = terms.paired(&terms.tasks()?, runs)?;
        let numbers = paired.numbers(scores_of_both);
        Ok(numbers
            .and_then(|numbers| compared(&paired, numbers))
            .into())
    }
}

fn compared(paired: &PairedComparison, numbers: Numbers) -> Result<Finding, String> {
    let (title_a, title_b) = (&paired.title_a, &paired.title_b);
    let (a, b) = numbers.means();
    if b <= 0.0 {
        return Err(format!("the mean score of {title_b} is not above 0"));
    }
    // As in `strata::ratio`, with both means taken over the tasks.
    let ratio = a / b;
    let lower = |on: &On| {
        let each = on.a.iter().zip(&on.b);
        each.map(|(a, score)| 1.0 - ratio - (a - ratio * score) / b)
            .collect()
    };
    // A task's own share is of the scores of all, so the means by task are not shown.
    let values: Vec<Vec<f64>> = numbers.tasks.iter().map(lower).collect();
    let comparison = Comparison {
        effect: numbers.effect().map(|effect| -effect),
        ..linear(&values)?
    };
    let label = format!(
        "how much lower {title_a} is than {title_b} ({})",
        numbers.of()
    );
    let ours = share_lower(comparison.difference);
    let mut evidence = Evidence::of(label, comparison, Scale::Percent);
    evidence.ours = ours;
    evidence.notes.push(format!(
        "mean score over tasks: {title_a} {}, {title_b} {}",
        fixed(a, 4),
        fixed(b, 4)
    ));
    evidence.notes.extend(numbers.notes);
    Ok(Finding::Compared(evidence))
}

/// `64.0 % lower`, `3.0 % higher`.
fn share_lower(share: f64) -> String {
    let word = if share >= 0.0 { "lower" } else { "higher" };
    format!("{} % {word}", Scale::Percent.number(share.abs()))
}
