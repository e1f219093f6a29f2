//! The share of a side's runs that learned nothing.

use super::prelude::*;

/// Over all tasks: runs that diverged, and those that give every test example the same answer or are at most a point above
/// guessing.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FailedShare {}

impl Quantity for FailedShare {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::of_tasks(&["at-least", "at-most"]).sides(1..=1)
    }

    fn margin(&self) -> f64 {
        0.0
    }

    fn compares_runs(&self) -> bool {
        false
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        let bound = match terms.relation {
            Relation::AtLeast(_) => "at least",
            _ => "at most",
        };
        let share = Scale::Percent.amount(terms.relation.limit());
        Ok(format!("{bound} {share} of the runs fail to learn"))
    }

    fn measure(&self, terms: &Terms, runs: &Runs) -> Result<Finding> {
        let (mut failed, mut all, mut reasons) = (0, 0, Vec::new());
        for task in terms.tasks()? {
            let on = terms.task_runs(&terms.sides[0], task, runs)?;
            let diverged = on.lost.get("diverged").copied().unwrap_or_default();
            let unlearned = on.all().filter(|run| !run.has_learned()).count();
            let (of_task, n) = (diverged + unlearned, diverged + on.all().count());
            reasons.push(format!("{}: {of_task} of {n}", task.title));
            failed += of_task;
            all += n;
        }
        if all < LEAST {
            let n = counted(all, "run");
            return Ok(Finding::Untestable(format!(
                "{n}; at least {LEAST} are needed"
            )));
        }
        let share = failed as f64 / all as f64;
        let ours = format!(
            "{failed} of {} ({})",
            counted(all, "run"),
            Scale::Percent.amount(share)
        );
        let [at_least, at_most] =
            binomial_tails(failed as u64, all as u64, terms.relation.limit().min(1.0));
        let tails = match terms.relation {
            Relation::AtLeast(_) => [at_least, at_most],
            _ => [at_most, at_least],
        };
        Ok(Finding::settled(ours, verdict::of_tails(tails), reasons))
    }
}
