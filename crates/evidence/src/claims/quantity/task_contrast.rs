//! The mean difference of two sides over some tasks minus that over others.

use super::prelude::*;

/// `a - b` on the tasks of the claim compared with `a - b` on others.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct TaskContrast {
    /// Tasks where the paper finds the smaller difference.
    than: Vec<String>,
}

impl Quantity for TaskContrast {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::of_tasks(&["greater"])
    }

    fn selections(&self, terms: &Terms) -> Result<Vec<Where>> {
        let (first, second) = self.tasks(terms)?;
        let tasks = first.into_iter().chain(second);
        Ok(tasks.map(Task::conditions).collect())
    }

    fn check(&self, terms: &Terms) -> Result<()> {
        ensure!(
            !self.than.is_empty(),
            "{}: found nothing in `than`, expected tasks",
            terms.from
        );
        Ok(())
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        let (a, b) = terms.titles()?;
        let (first, second) = self.tasks(terms)?;
        let titles = |tasks: Vec<&Task>| {
            let titles: Vec<&str> = tasks.iter().map(|task| task.title.as_str()).collect();
            joined(&titles)
        };
        Ok(format!(
            "{a} \u{2212} {b} is larger on {} than on {}",
            titles(first),
            titles(second)
        ))
    }

    fn measure(&self, terms: &Terms, runs: &Runs) -> Result<Finding> {
        let (first, second) = self.tasks(terms)?;
        let of = |tasks: &[&Task], sign: f64| vec![sign / tasks.len() as f64; tasks.len()];
        let weights = [of(&first, 1.0), of(&second, -1.0)].concat();
        let tasks = [first, second].concat();
        let paired = terms.paired(&tasks, runs)?;
        let numbers = paired.numbers(scores_of_both);
        Ok(numbers
            .and_then(|numbers| compared(numbers, &weights))
            .into())
    }
}

impl TaskContrast {
    fn tasks<'a>(&self, terms: &Terms<'a>) -> Result<(Vec<&'a Task>, Vec<&'a Task>)> {
        let second = terms.plan.tasks_named(&self.than, &terms.from)?;
        Ok((terms.tasks()?, second))
    }
}

fn compared(numbers: Numbers, weights: &[f64]) -> Result<Finding, String> {
    let differences = numbers.differences();
    let comparison = unpaired(&numbers.weighted(weights))?;
    let scale = Scale::Points;
    let label = format!("difference of differences ({})", numbers.of());
    let mut evidence = Evidence::of(label, comparison, scale);
    evidence.notes.extend(numbers.by_task(&differences, scale));
    evidence.notes.extend(numbers.notes);
    Ok(Finding::Compared(evidence))
}
