//! Summary of the lines of a task in numbers.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::figures::curves::{Line, Lines};

/// Shares of the best gain over the floor whose times are reported.
const SHARES: [f64; 3] = [0.90, 0.95, 0.99];

/// The lines of one task in numbers; everything but the counts is computed from the mean lines.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CurvesSummary {
    /// Task or dataset.
    pub task: String,
    /// Its name for readers.
    pub title: String,
    /// Metric of the scores.
    pub metric: String,
    /// Split the scores are of.
    pub split: String,
    /// Seconds that the group which took longest took on average: areas are over the time from 0 until then.
    pub budget_seconds: Option<f64>,
    /// The best mean final score of any group.
    pub best_score: Option<f64>,
    /// The score without training: of the first floor of the figure, or of guessing; none where neither is known.
    pub floor: Option<f64>,
    /// One entry per line, in the order requested.
    pub groups: Vec<GroupSummary>,
    /// Groups that are best within a time, from the first moment at which any has a score; empty where there are fewer
    /// than two lines.
    pub frontier: Vec<LeadSummary>,
}

/// One line in numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupSummary {
    /// Name of the group.
    pub group: String,
    /// Its name for readers.
    pub title: String,
    /// Runs the line is the mean of.
    pub runs: usize,
    /// Number of these runs by stop reason.
    pub stops: BTreeMap<String, usize>,
    /// Number of runs that are not in the line, by status.
    pub lost: BTreeMap<String, usize>,
    /// Mean of the runs' own final scores: of the last epoch, or of the one with the best score on dev.
    pub score: Option<f64>,
    /// Mean seconds of an epoch; caching activations of frozen layers counts in the first.
    pub seconds_per_epoch: Option<f64>,
    /// Mean seconds until the runs stopped.
    pub seconds_to_end: Option<f64>,
    /// Mean score in hand over the time from 0 to the budget, the floor until the first epoch is finished
    /// (`totune_stats::Curve::area_until`); none without a floor.
    pub area: Option<f64>,
    /// Times at which shares of the best gain over the floor are reached; empty without a floor, or where nothing is
    /// above it.
    pub time_to: Vec<TimeTo>,
    /// Means after each epoch.
    pub epochs: Vec<EpochSummary>,
}

/// The time at which a score is reached.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimeTo {
    /// Share of the best gain of any group over the floor.
    pub share: f64,
    /// The score at that share.
    pub score: f64,
    /// Seconds at which the line first reaches it, between two epochs by a straight line; none for never.
    pub seconds: Option<f64>,
}

/// Means after an epoch over all runs, each scored by the checkpoint it would hand out then, where one that stopped before
/// stays with its final score and time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EpochSummary {
    /// Epochs finished.
    pub epoch: usize,
    /// Mean seconds of training.
    pub seconds: f64,
    /// Mean score.
    pub score: f64,
    /// Lowest score of a run.
    pub low: f64,
    /// Highest score of a run.
    pub high: f64,
    /// Runs that finished this epoch.
    pub reached: usize,
}

/// A stretch of time over which one group is best.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeadSummary {
    /// Name of the group.
    pub group: String,
    /// Its name for readers.
    pub title: String,
    /// Start of the stretch.
    pub from_seconds: f64,
    /// End of the stretch: the start of another, or the end of the longest line.
    pub until_seconds: f64,
    /// Its best score by then.
    pub until_score: f64,
}

impl CurvesSummary {
    pub(crate) fn of(lines: &Lines) -> Self {
        let (budget, best, floor) = (lines.budget(), lines.best(), lines.floor());
        let lead = |reign: &totune_stats::curve::Reign| {
            let line = &lines.lines[reign.curve];
            LeadSummary {
                group: line.name.clone(),
                title: line.title.clone(),
                from_seconds: reign.from(),
                until_seconds: reign.until(),
                until_score: reign.points[reign.points.len() - 1].1,
            }
        };
        Self {
            task: lines.task.clone(),
            title: lines.title.clone(),
            metric: lines.metric.clone(),
            split: lines.split.clone(),
            budget_seconds: budget,
            best_score: best,
            floor,
            groups: lines
                .lines
                .iter()
                .map(|line| GroupSummary::of(line, budget, (floor, best)))
                .collect(),
            frontier: lines.frontier().iter().map(lead).collect(),
        }
    }
}

impl GroupSummary {
    fn of(line: &Line, budget: Option<f64>, (floor, best): (Option<f64>, Option<f64>)) -> Self {
        let mean = line.mean.as_ref();
        let ends = floor.zip(best).filter(|(floor, best)| best > floor);
        let time_to = mean.zip(ends).map(|(mean, (floor, best))| {
            SHARES.map(|share| {
                let score = floor + share * (best - floor);
                TimeTo {
                    share,
                    score,
                    seconds: mean.time_to(score),
                }
            })
        });
        let epochs = line
            .epochs
            .iter()
            .enumerate()
            .map(|(at, epoch)| EpochSummary {
                epoch: at + 1,
                seconds: epoch.seconds.mean,
                score: epoch.score.mean,
                low: epoch.score.low,
                high: epoch.score.high,
                reached: epoch.reached,
            });
        Self {
            group: line.name.clone(),
            title: line.title.clone(),
            runs: line.runs.len(),
            stops: line.stops.clone(),
            lost: line.lost.clone(),
            score: mean.map(|mean| mean.best()),
            seconds_per_epoch: line.seconds_per_epoch(),
            seconds_to_end: mean.map(|mean| mean.end()),
            area: mean
                .zip(budget.zip(floor))
                .map(|(mean, (budget, floor))| mean.area_until(budget, floor)),
            time_to: time_to.into_iter().flatten().collect(),
            epochs: epochs.collect(),
        }
    }
}
