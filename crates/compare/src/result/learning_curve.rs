//! The learning curve of the choice: would more labels help?

use anyhow::Result;

use super::LearningCurve;
use crate::race::candidate::Candidate;
use crate::race::{CURVE, Race, SLACK};
use crate::trial::Size;

/// Dev scores of a strategy that was trained on a quarter, on half and on all of the data: the benefit of more
/// labels. Empty if there is no time for it.
pub(crate) fn learning_curve(race: &Race, candidate: &Candidate) -> Result<LearningCurve> {
    let Some(full) = candidate.best_trials().first().map(|trial| trial.size) else {
        return Ok(Vec::new());
    };
    let mut points = Vec::new();
    for share in [0.25, 0.5] {
        let size = Size {
            examples: (full.examples as f64 * share) as usize,
            ..full
        };
        let seconds = candidate.cost.seconds(size, race.evaluated(false)) * SLACK;
        let is_small = size.examples < race.runner.encoder(candidate.entrant).facts.batch_size();
        if is_small || seconds > race.clock.left_of(CURVE) {
            continue;
        }
        let trial = race.trial(candidate, (candidate.lr, 2), size, false)?;
        points.extend(trial.and_then(|trial| Some((trial.size.examples, trial.dev?))));
    }
    if let (false, Some(dev)) = (points.is_empty(), candidate.dev()) {
        points.push((full.examples, dev));
    }
    Ok(points)
}
