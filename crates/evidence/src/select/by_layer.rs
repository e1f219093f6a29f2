//! Scores by layer of the runs of a side on a task.

use std::collections::BTreeMap;

use crate::select::panel::TaskRuns;
use crate::text::counted;

/// The scores of some runs by layer.
#[derive(Debug, Default)]
pub struct ByLayer {
    /// Scores of the runs that have the layer, in their order.
    pub layers: BTreeMap<u32, Vec<f64>>,
    /// Runs that were scored by layer.
    pub runs: usize,
    /// Note on the other runs, or the reason why there are none.
    pub note: Option<String>,
}

impl ByLayer {
    /// The scores of `task_runs` by `metric` on `split`.
    pub fn of(task_runs: &TaskRuns, metric: &str, split: &str) -> Self {
        let mut found = Self::default();
        let (mut unscored, mut all) = (0, 0);
        for run in task_runs.all() {
            all += 1;
            let scores = run.layers(metric, split);
            if scores.is_empty() {
                unscored += 1;
                continue;
            }
            found.runs += 1;
            for (layer, score) in scores {
                found.layers.entry(layer).or_default().push(score);
            }
        }
        let lost = (!task_runs.lost.is_empty()).then(|| task_runs.lost_text());
        let unscored = (unscored > 0).then(|| {
            let of = if unscored == all { "" } else { " of them" };
            format!(
                "{}{of} without `{metric}` by layer",
                counted(unscored, "run")
            )
        });
        let parts: Vec<String> = lost.into_iter().chain(unscored).collect();
        found.note = match (&task_runs.note, parts.is_empty()) {
            (Some(note), _) => Some(note.clone()),
            (None, false) => Some(parts.join(", ")),
            (None, true) => None,
        };
        found
    }

    /// Means over the runs, from the lowest layer to the highest.
    pub fn means(&self) -> Vec<(u32, f64)> {
        let mean = |(layer, scores): (&u32, &Vec<f64>)| (*layer, totune_stats::mean(scores));
        self.layers.iter().map(mean).collect()
    }
}
