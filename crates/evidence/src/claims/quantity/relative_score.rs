//! The relative difference of mean scores over tasks: how much lower the first side's is, as a share of the second's.

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
    let ratios = numbers.tasks.iter().map(|on| Ratio {
        means: (a, b),
        a: &on.a,
        b: &on.b,
    });
    let comparison = Comparison {
        effect: numbers.effect().map(|effect| -effect),
        ..relative(&ratios.collect::<Vec<_>>())?.turned()
    };
    let label = format!(
        "how much lower {title_a} is than {title_b} ({})",
        numbers.of()
    );
    let ours = share_lower(comparison.difference);
    // A task's own part is a share of the scores of all, so parts by task are not shown.
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
