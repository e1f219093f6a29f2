//! Mean curves of several runs of one kind.

use crate::curve::Curve;
use crate::summary::mean;

/// A mean over runs with the lowest and the highest of them.
///
/// Extremes and no interval: over the two or three repeats that such curves have, Student's interval of one or
/// two degrees of freedom is wider than the axis, and a standard deviation of two numbers is their difference
/// under another name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Mean over the runs.
    pub mean: f64,
    /// The lowest run.
    pub low: f64,
    /// The highest run.
    pub high: f64,
}

impl Spread {
    /// Summarises at least one value; `None` for none.
    pub fn of(values: &[f64]) -> Option<Self> {
        (!values.is_empty()).then(|| Self {
            mean: mean(values),
            low: values.iter().copied().fold(f64::INFINITY, f64::min),
            high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }
}

/// [`Curve::best_within`] of each run at `seconds`, as a mean with its extremes.
///
/// `None` unless every run has finished an epoch by then: a mean over those that have would jump where the next
/// one comes in.
pub fn best_within(runs: &[Curve], seconds: f64) -> Option<Spread> {
    let values = runs.iter().map(|run| run.best_within(seconds));
    Spread::of(&values.collect::<Option<Vec<_>>>()?)
}

/// The runs of one kind after the same number of epochs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epoch {
    /// Seconds of training.
    pub seconds: Spread,
    /// Scores.
    pub score: Spread,
    /// Runs that finished this epoch.
    pub reached: usize,
}

/// Treatment of a stopped run in the means of the epochs after its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Left out: means are over the runs that finished the epoch, as in a table of epochs.
    Leaves,
    /// Kept with its last score and time: means are over all runs, and give the cost and the score of training for at
    /// most so many epochs. The curve through them does not bend where a run that was better or worse than the others
    /// leaves, and its seconds always ascend.
    Stays,
}

/// Means over the runs after one epoch, two epochs, and so on, up to the longest run.
pub fn epochs(runs: &[Curve], stopped: Stopped) -> Vec<Epoch> {
    let longest = runs.iter().map(|run| run.points().len()).max().unwrap_or(0);
    let after = |at: usize| {
        let reached: Vec<(f64, f64)> = runs
            .iter()
            .filter_map(|run| run.points().get(at).copied())
            .collect();
        let points = match stopped {
            Stopped::Leaves => reached.clone(),
            Stopped::Stays => runs
                .iter()
                .map(|run| run.points()[at.min(run.points().len() - 1)])
                .collect(),
        };
        let (seconds, scores): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
        Some(Epoch {
            seconds: Spread::of(&seconds)?,
            score: Spread::of(&scores)?,
            reached: reached.len(),
        })
    };
    (0..longest).filter_map(after).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs() -> Vec<Curve> {
        [
            vec![(10.0, 0.5), (20.0, 0.6)],
            vec![(12.0, 0.7), (24.0, 0.4), (36.0, 0.8)],
        ]
        .into_iter()
        .map(|points| Curve::new(points).expect("a curve"))
        .collect()
    }

    #[test]
    fn a_run_that_stopped_leaves_the_means_or_stays_with_its_last_score() {
        for (stopped, seconds, scores) in [
            (Stopped::Leaves, [11.0, 22.0, 36.0], [0.6, 0.5, 0.8]),
            (Stopped::Stays, [11.0, 22.0, 28.0], [0.6, 0.5, 0.7]),
        ] {
            let found = epochs(&runs(), stopped);
            let reached: Vec<usize> = found.iter().map(|epoch| epoch.reached).collect();
            assert_eq!(reached, [2, 2, 1]);
            for ((found, seconds), score) in found.iter().zip(seconds).zip(scores) {
                assert!((found.seconds.mean - seconds).abs() < 1e-12, "{found:?}");
                assert!((found.score.mean - score).abs() < 1e-12, "{found:?}");
            }
        }
    }

    #[test]
    fn the_mean_within_a_time_waits_for_the_last_run() {
        assert_eq!(best_within(&runs(), 11.0), None);
        let found = best_within(&runs(), 20.0).expect("both have finished one");
        assert!((found.mean - 0.65).abs() < 1e-12, "{found:?}");
        assert_eq!((found.low, found.high), (0.6, 0.7));
        assert_eq!(best_within(&[], 20.0), None);
    }

    #[test]
    fn no_run_has_no_epoch() {
        assert_eq!(epochs(&[], Stopped::Leaves), []);
    }
}
