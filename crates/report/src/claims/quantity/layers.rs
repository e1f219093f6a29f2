//! Scores by layer, metrics named `<metric>@layer-<i>`; layer 0 is the embeddings.
//!
//! Everything is read off means over runs, since a probe of pretrained states has no seed.

use anyhow::{Result, ensure};

use crate::claims::terms::Terms;
use crate::figures::layers::ByLayer;
use crate::plan::{Side, Task};
use crate::select::runs::Runs;
use crate::text::fixed;

/// Means by layer of one task.
pub(super) struct OnTask<'a> {
    pub(super) task: &'a Task,
    /// From the lowest layer to the highest; at least one.
    pub(super) means: Vec<(u32, f64)>,
}

/// Which scores, of which layers.
pub(super) struct Probe<'a> {
    /// `None` is each task's own.
    pub(super) metric: Option<&'a String>,
    pub(super) split: &'a str,
    /// The lowest layer that counts.
    pub(super) first: u32,
}

impl Probe<'_> {
    /// The means of a side on each task; `Err` says what has not been run.
    pub(super) fn of<'a>(
        &self,
        side: &Side,
        terms: &Terms<'a>,
        runs: &Runs,
    ) -> Result<Result<Vec<OnTask<'a>>, String>> {
        let mut found = Vec::new();
        for task in terms.tasks()? {
            let runners = terms.runners(side, task, runs)?;
            let metric = self.metric.unwrap_or(&task.metric);
            let scores = ByLayer::of(&runners, metric, self.split);
            let means = scores.means().into_iter();
            let means: Vec<(u32, f64)> = means.filter(|(layer, _)| *layer >= self.first).collect();
            if means.is_empty() {
                let title = terms.title(side)?;
                let why = scores.note.unwrap_or_else(|| "no run".to_owned());
                return Ok(Err(format!("{title} on {}: {why}", task.title)));
            }
            found.push(OnTask { task, means });
        }
        Ok(Ok(found))
    }
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

/// Layers start here unless a claim says otherwise: the embeddings are below the first.
pub(super) fn one() -> u32 {
    1
}

pub(super) fn check_share_of_depth(after: f64, from: &str) -> Result<()> {
    ensure!(
        (0.0..1.0).contains(&after),
        "{from}: found after = {after}, expected a share of the depth, from 0 to less than 1"
    );
    Ok(())
}
