//! Whether two sides rank tasks alike: Spearman's correlation of their mean scores over tasks.

use super::layer_trend::by_ranks;
use super::prelude::*;

/// Each task by its own metric, which ranks make comparable only if the metrics are of one kind.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RankCorrelation {}

impl Quantity for RankCorrelation {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::of_tasks(&["greater", "equivalent"])
    }

    fn margin(&self) -> f64 {
        0.0
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        let (a, b) = terms.titles()?;
        Ok(match terms.relation {
            Relation::Equivalent => format!("{a} and {b} rank the tasks independently"),
            _ => format!("{a} and {b} rank the tasks alike"),
        })
    }

    fn measure(&self, terms: &Terms, runs: &Runs) -> Result<Finding> {
        let mut means = [vec![], vec![]];
        let tasks = terms.tasks()?;
        for task in &tasks {
            for (means, side) in means.iter_mut().zip(terms.sides) {
                let task_runs = terms.task_runs(side, task, runs)?;
                let scores = task_runs.per_seed(|run| final_score(run, task));
                if scores.is_empty() {
                    let why = task_runs
                        .note
                        .unwrap_or_else(|| "every run diverged or failed".to_owned());
                    let title = terms.title(side)?;
                    return Ok(Finding::Untestable(format!(
                        "{title} on {}: {why}",
                        task.title
                    )));
                }
                means.push(mean(&scores));
            }
        }
        let [a, b] = means;
        let Some(comparison) = by_ranks(&a, &b, "tasks") else {
            let why = format!(
                "{}, or equal scores, cannot be ranked",
                counted(a.len(), "task")
            );
            return Ok(Finding::Untestable(why));
        };
        let (title_a, title_b) = terms.titles()?;
        let label = format!(
            "Spearman's correlation of {title_a} and {title_b} over {}",
            counted(tasks.len(), "task")
        );
        let mut evidence = Evidence::of(label, comparison, Scale::Plain(2));
        let each = tasks.iter().zip(a.iter().zip(&b));
        let each = each.map(|(task, (a, b))| {
            format!(
                "{} {} and {}",
                task.title,
                fixed(*a, DIGITS),
                fixed(*b, DIGITS)
            )
        });
        let each: Vec<String> = each.collect();
        evidence
            .notes
            .push(format!("mean scores: {}", each.join(", ")));
        Ok(Finding::Compared(evidence))
    }
}
