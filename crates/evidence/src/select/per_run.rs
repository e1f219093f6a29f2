//! Numbers of one run, and of both sides of a pair of runs.

use serde::Deserialize;

use crate::plan::TEST;
use crate::plan::{Measure, Task};
use crate::select::panel::{Pair, TaskRuns, average};
use crate::select::runs::Run;

/// A measure of a run's training time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimePer {
    /// All seconds of training, to the stop.
    #[default]
    Run,
    /// Seconds of training by epochs finished.
    Epoch,
}

/// The final score of a run on the test split of a task.
pub fn final_score(run: &Run, task: &Task) -> Option<f64> {
    run.number(&Measure::score(&task.metric, TEST))
}

/// The mean over seeds of the score of a task; `None` without one.
pub fn mean_score(task_runs: &TaskRuns, task: &Task) -> Option<f64> {
    let scores = task_runs.per_seed(|run| final_score(run, task));
    (!scores.is_empty()).then(|| totune_stats::mean(&scores))
}

/// Scores of both sides of a pair.
pub fn scores_of_both(task: &Task, pair: &Pair) -> Option<(f64, f64)> {
    let of = |runs| average(runs, |run| final_score(run, task));
    Some((of(&pair.a)?, of(&pair.b)?))
}

/// Seconds of training, to the stop or by epochs finished.
pub(crate) fn seconds(run: &Run, per: TimePer) -> Option<f64> {
    let all = run.seconds();
    match per {
        TimePer::Run => all,
        TimePer::Epoch if run.row.epochs == 0 => None,
        TimePer::Epoch => all.map(|seconds| seconds / f64::from(run.row.epochs)),
    }
}

/// Seconds of both sides of a pair.
pub fn seconds_of_both(per: TimePer) -> impl Fn(&Task, &Pair) -> Option<(f64, f64)> {
    move |_, pair| {
        let of = |runs| average(runs, |run| seconds(run, per));
        Some((of(&pair.a)?, of(&pair.b)?))
    }
}

/// Memory of both sides of a pair: bytes of tensors at the peak, where a timing pass counted them.
pub fn memory_of_both(_: &Task, pair: &Pair) -> Option<(f64, f64)> {
    let of = |runs| average(runs, Run::tensor_memory);
    Some((of(&pair.a)?, of(&pair.b)?))
}

/// Processor seconds of all threads in the training steps, without filling a cache; `None` where seconds do not count.
pub fn cpu_seconds(run: &Run) -> Option<f64> {
    run.seconds().and(run.row.cpu_seconds)
}

/// Trained parameters by all parameters.
pub fn trained_share(run: &Run) -> Option<f64> {
    let (trained, total) = (run.row.params_trainable, run.row.params_total);
    (total > 0).then(|| trained as f64 / total as f64)
}
