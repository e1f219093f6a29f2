//! The score of each side after the last epoch that it finishes within a budget of time.

use super::prelude::*;
use super::score_at_time::{compared, epochs_text};
use super::task_score::direction_or_points;

/// The budget is in epochs of the second side at the same seed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct ScoreAtBudget {
    epochs: f64,
}

impl Quantity for ScoreAtBudget {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::of_tasks(&["greater", "near"])
    }

    fn check(&self, terms: &Terms) -> Result<()> {
        ensure!(
            self.epochs > 0.0 && self.epochs.is_finite(),
            "{}: found epochs = {}, expected more than 0",
            terms.from,
            self.epochs
        );
        sized(terms, 1)
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        direction_or_points(terms)
    }

    fn measure(&self, terms: &Terms, runs: &Runs) -> Result<Finding> {
        let paired = terms.paired(&terms.tasks()?, runs)?;
        let found = paired.numbers(|task, pair| {
            let budget = self.epochs * average(&pair.b, |run| seconds(run, TimePer::Epoch))?;
            let finished = |runs: &[&Run]| {
                average(runs, |run| {
                    let curve = run.curve(&task.metric, TEST)?;
                    curve.completed_within(budget)
                })
            };
            Some((finished(&pair.a)?, finished(&pair.b)?))
        });
        let label = format!(
            "with the epochs finished within {} of {}",
            epochs_text(self.epochs),
            paired.title_b
        );
        Ok(compared(&paired, vec![(label, found)], terms.unit).into())
    }
}
