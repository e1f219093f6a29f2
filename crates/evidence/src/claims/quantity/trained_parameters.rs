//! The number of trained parameters, on each task.

use super::prelude::*;

/// Trained parameters of a run, including those of a network on top of the encoder.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrainedParameters {}

impl Quantity for TrainedParameters {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::of_tasks(&["greater"])
    }

    fn margin(&self) -> f64 {
        0.0
    }

    fn compares_runs(&self) -> bool {
        false
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        let (a, b) = terms.titles()?;
        Ok(format!("{a} trains more parameters than {b}"))
    }

    fn measure(&self, terms: &Terms, runs: &Runs) -> Result<Finding> {
        let (mut above, mut reasons) = (0, Vec::new());
        let tasks = terms.tasks()?;
        for task in &tasks {
            let range = |side: &Side| -> Result<Option<(u64, u64)>> {
                let task_runs = terms.task_runs(side, task, runs)?;
                let trained = || task_runs.all().map(|run| run.row.params_trainable);
                Ok(trained().min().zip(trained().max()))
            };
            let (Some(a), Some(b)) = (range(&terms.sides[0])?, range(&terms.sides[1])?) else {
                let why = format!("{}: not every side has a run", task.title);
                return Ok(Finding::Untestable(why));
            };
            above += usize::from(a.0 > b.1);
            let (a, b) = (range_text(a), range_text(b));
            reasons.push(format!("{}: {a} against {b}", task.title));
        }
        let ours = format!("more on {above} of {}", counted(tasks.len(), "task"));
        let verdict = verdict::of_limits(above == tasks.len());
        Ok(Finding::settled(ours, verdict, reasons))
    }
}

/// `4,321`, `421 to 821`.
fn range_text((least, most): (u64, u64)) -> String {
    if least == most {
        count(least)
    } else {
        format!("{} to {}", count(least), count(most))
    }
}
