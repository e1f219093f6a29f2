//! How much longer one side trains than the other, on every task by itself.

use super::prelude::*;

/// As a share of the time of the second side; every task is a comparison of its own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LongerTime {}

impl Quantity for LongerTime {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::of_tasks(&["greater"])
    }

    fn margin(&self) -> f64 {
        TIME
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        let (a, b) = terms.titles()?;
        Ok(format!("{a} takes longer than {b}"))
    }

    fn measure(&self, terms: &Terms, runs: &Runs) -> Result<Finding> {
        let tasks = terms.tasks()?;
        let paired = terms.paired(&tasks, runs)?;
        let numbers = paired.numbers(seconds_of_both(TimePer::Run));
        Ok(numbers
            .and_then(|numbers| compared(&paired, numbers))
            .into())
    }
}

fn compared(paired: &PairedComparison, numbers: Numbers) -> Result<Finding, String> {
    let scale = Scale::Percent;
    let mut evidence = Evidence::new(scale);
    let mut ours = Vec::new();
    for on in &numbers.tasks {
        let title = &on.task.title;
        let longer = relative(&[Ratio::of(&on.a, &on.b)]);
        let comparison = longer.map_err(|why| format!("{title}: {why}"))?;
        ours.push(format!("{title} {}", scale.text(comparison.difference)));
        let label = format!(
            "time of {} beyond that of {}, as a share of it ({title}, {})",
            paired.title_a,
            paired.title_b,
            pairs_text(on.a.len())
        );
        evidence.comparisons.push((label, comparison));
    }
    evidence.ours = ours.join(", ");
    evidence.notes = numbers.notes;
    Ok(Finding::Compared(evidence))
}
