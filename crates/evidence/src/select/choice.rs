//! Choices between groups by the dev scores of their runs; see [`ChoicePlan`].

use anyhow::Result;
use totune_stats::mean;

use crate::plan::{ChoicePlan, DEV, Group, Measure, Plan, Task};
use crate::select::runs::{Run, Runs};

impl Runs {
    /// Replaces the groups of each choice of `plan` by those that these runs choose; `shown` names the file.
    ///
    /// # Errors
    /// Where a condition of a candidate has a path that no run has.
    pub fn choose(&self, plan: &mut Plan, shown: &str) -> Result<()> {
        for at in 0..plan.choices.len() {
            let from = format!("{shown}: choice {}", at + 1);
            let better = plan.choices[at].better(plan, self, &from)?;
            plan.take(at, better, &from)?;
        }
        Ok(())
    }
}

impl ChoicePlan {
    /// The place of the better one; the first where none can be said to be better.
    fn better(&self, plan: &Plan, runs: &Runs, from: &str) -> Result<usize> {
        let mut of_tasks = Vec::new();
        for task in plan.tasks.values() {
            let scores = self.by.iter().map(|name| {
                let group = plan.group(name, from)?;
                dev_score(group, task, runs, from)
            });
            of_tasks.push(scores.collect::<Result<Vec<_>>>()?);
        }
        let has_runs = |at: usize| of_tasks.iter().any(|scores| scores[at].is_some());
        let shared = of_tasks
            .iter()
            .filter_map(|scores| scores.iter().copied().collect());
        let shared: Vec<Vec<f64>> = shared.collect();
        if shared.is_empty() {
            return Ok((0..self.by.len()).find(|&at| has_runs(at)).unwrap_or(0));
        }
        let mut best = (0, f64::NEG_INFINITY);
        for at in 0..self.by.len() {
            let score = mean(&shared.iter().map(|scores| scores[at]).collect::<Vec<_>>());
            if score > best.1 {
                best = (at, score);
            }
        }
        Ok(best.0)
    }
}

/// The mean final dev score of a group's runs on a task, where it has any. A run without a score counts as zero: one that
/// diverged, or whose predictions are all alike and have no correlation.
fn dev_score(group: &Group, task: &Task, runs: &Runs, from: &str) -> Result<Option<f64>> {
    let found = runs.find(&group.narrowed([&task.conditions()]), from)?.runs;
    let measure = Measure::score(&task.metric, DEV);
    let score = |run: &&Run| run.number(&measure).filter(|score| score.is_finite());
    let scores: Vec<f64> = found.iter().map(|run| score(run).unwrap_or(0.0)).collect();
    Ok((!scores.is_empty()).then(|| mean(&scores)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::plan;
    use totune_record::{EvalRow, Tables};

    const PLAN: &str = "
        [groups.slow]
        title = 'Slow'
        where = { experiment = 'slow' }
        [groups.fast]
        title = 'Fast'
        where = { experiment = 'fast' }
        [tasks.task]
        title = 'Task'
        datasets = ['fixture-tweets']
        metric = 'accuracy'
        unit = 'accuracy'
        [[choice]]
        by = ['slow', 'fast']
        groups = { better = ['slow', 'fast'] }
    ";

    /// A run of each experiment, with its dev accuracy if it has one.
    fn runs(scores: [(&str, Option<f64>); 2]) -> Runs {
        let model = totune_synthetic::tables();
        let mut tables = Tables::default();
        for (experiment, score) in scores {
            let mut row = model.runs[0].clone();
            row.run_id = experiment.to_owned();
            row.experiment = experiment.to_owned();
            row.dataset = "fixture-tweets".to_owned();
            row.status = if score.is_some() { "ok" } else { "diverged" }.to_owned();
            row.spec = format!("{{\"experiment\": \"{experiment}\"}}");
            tables.runs.push(row);
            tables.evals.extend(score.map(|value| EvalRow {
                run_id: experiment.to_owned(),
                split: DEV.to_owned(),
                metric: "accuracy".to_owned(),
                value,
                is_final: true,
                ..model.evals[0].clone()
            }));
        }
        Runs::new(tables).unwrap()
    }

    fn chosen(scores: [(&str, Option<f64>); 2]) -> String {
        let mut plan = plan(PLAN).unwrap();
        plan.add_choices("report.toml").unwrap();
        runs(scores).choose(&mut plan, "report.toml").unwrap();
        plan.groups["better"].title.clone()
    }

    #[test]
    fn the_group_with_the_better_dev_scores_is_meant() {
        assert_eq!(chosen([("slow", Some(0.5)), ("fast", Some(0.6))]), "Fast");
        assert_eq!(chosen([("slow", Some(0.6)), ("fast", Some(0.5))]), "Slow");
    }

    #[test]
    fn a_diverged_run_counts_and_a_missing_one_does_not() {
        assert_eq!(chosen([("slow", None), ("fast", Some(0.1))]), "Fast");
        assert_eq!(chosen([("other", Some(0.9)), ("fast", Some(0.1))]), "Fast");
    }
}
