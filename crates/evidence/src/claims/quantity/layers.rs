//! Scores by layer, metrics named `<metric>@layer-<i>`; layer 0 is the embeddings.
//!
//! Everything is computed from means over runs, since a probe of pretrained states has no seed.

use super::prelude::*;
use crate::select::by_layer::ByLayer;

/// Means by layer of one task.
pub(super) struct OnTask<'a> {
    pub(super) task: &'a Task,
    /// From the lowest layer to the highest; at least one.
    pub(super) means: Vec<(u32, f64)>,
}

/// The means of a side on each task, by `metric` or by each task's own, from layer 1 on: the embeddings below it are the
/// same however a layer is trained. `Err` says what has not been run.
pub(super) fn means<'a>(
    side: &Side,
    metric: Option<&String>,
    terms: &Terms<'a>,
    runs: &Runs,
) -> Result<Result<Vec<OnTask<'a>>, String>> {
    let mut found = Vec::new();
    for task in terms.tasks()? {
        let task_runs = terms.task_runs(side, task, runs)?;
        let scores = ByLayer::of(&task_runs, metric.unwrap_or(&task.metric), TEST);
        let means: Vec<(u32, f64)> = scores
            .means()
            .into_iter()
            .filter(|(layer, _)| *layer >= 1)
            .collect();
        if means.is_empty() {
            let title = terms.title(side)?;
            let why = scores.note.unwrap_or_else(|| "no run".to_owned());
            return Ok(Err(format!("{title} on {}: {why}", task.title)));
        }
        found.push(OnTask { task, means });
    }
    Ok(Ok(found))
}

/// The finding over tasks whose relation is a limit; `each` gives a number, its text and a reason.
pub(super) fn settled(
    found: &[OnTask],
    relation: &Relation,
    each: impl Fn(&OnTask) -> (f64, String, String),
) -> Finding {
    let (mut kept, mut ours, mut reasons) = (true, Vec::new(), Vec::new());
    for on in found {
        let (number, shown, why) = each(on);
        kept &= relation.keeps(number);
        ours.push(format!("{} {shown}", on.task.title));
        reasons.push(format!("{why}; {}", on.shown()));
    }
    Finding::settled(ours.join(", "), verdict::of_limits(kept), reasons)
}

impl OnTask<'_> {
    /// The first layer that lies at a share of the depth or above: the fourth of twelve, the second of six.
    pub(super) fn layer_at(&self, share: f64) -> u32 {
        let deepest = self.means.last().map_or(0, |(layer, _)| *layer);
        (share * f64::from(deepest)).round() as u32
    }

    /// `Letters from layer 1: 0.512, 0.634, …`.
    pub(super) fn shown(&self) -> String {
        let scores: Vec<String> = self
            .means
            .iter()
            .map(|(_, score)| fixed(*score, 3))
            .collect();
        let first = self.means.first().map_or(0, |(layer, _)| *layer);
        format!(
            "{} from layer {first}: {}",
            self.task.title,
            scores.join(", ")
        )
    }
}

pub(super) fn check_share_of_depth(after: f64, from: &str) -> Result<()> {
    ensure!(
        (0.0..1.0).contains(&after),
        "{from}: found after = {after}, expected a share of the depth, from 0 to less than 1"
    );
    Ok(())
}
