//! The standard deviation over the seeds of a side.

use totune_stats::sd_interval;

use super::prelude::*;

/// The standard deviation over seeds, pooled over sides and tasks.
///
/// The interval takes the scores as normal: (n - 1) s² / σ² is then a χ² of n - 1 degrees of freedom.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Deviation {}

impl Quantity for Deviation {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::of_tasks(&["near"]).sides(at_least(1))
    }

    fn check(&self, terms: &Terms) -> Result<()> {
        with_tolerance(terms)
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        Ok(format!(
            "about {}",
            Scale::Points.amount(terms.relation.papers()[0])
        ))
    }

    fn measure(&self, terms: &Terms, runs: &Runs) -> Result<Finding> {
        let (mut squares, mut freedom, mut reasons) = (0.0, 0.0, Vec::new());
        for task in terms.tasks()? {
            for side in terms.sides {
                let task_runs = terms.task_runs(side, task, runs)?;
                let scores = task_runs.per_seed(|run| final_score(run, task));
                let title = format!("{} on {}", terms.title(side)?, task.title);
                if scores.len() < 2 {
                    let note = task_runs.note.clone();
                    let note = note.unwrap_or_else(|| counted(scores.len(), "seed"));
                    return Ok(Finding::Untestable(format!("{title}: {note}")));
                }
                let (found, n) = (sd(&scores), scores.len() as f64 - 1.0);
                squares += n * found * found;
                freedom += n;
                reasons.push(format!(
                    "{title}: {} over {}",
                    Scale::Points.amount(found),
                    counted(scores.len(), "seed")
                ));
            }
        }
        let found = (squares / freedom).sqrt();
        let intervals = [LEVEL, NARROW].map(|level| sd_interval(found, freedom, level));
        let [Some(wide), Some(narrow)] = intervals else {
            return Ok(Finding::Untestable("the seeds do not vary".to_owned()));
        };
        reasons.push(format!(
            "together {} with a 95 % interval of {}",
            Scale::Points.amount(found),
            Scale::Points.interval(wide)
        ));
        let paper = terms.relation.papers().first().copied().unwrap_or_default();
        let tolerance = terms.relation.tolerance().unwrap_or_default();
        Ok(Finding::settled(
            Scale::Points.amount(found),
            verdict::of_value(paper, tolerance, [wide, narrow]),
            reasons,
        ))
    }
}
