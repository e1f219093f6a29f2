//! What can be read off the lines of a task, as numbers.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::figures::curves::{Line, Lines};

/// Shares of the best gain over the floor whose times are told.
const SHARES: [f64; 3] = [0.90, 0.95, 0.99];

/// The lines of one task in numbers; everything but the counts is read off the mean lines.
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
    /// What no training scores: the first floor of the figure, or guessing; none where neither is known.
    pub floor: Option<f64>,
    /// One entry per line, in the order asked for.
    pub groups: Vec<GroupSummary>,
    /// Which group is best within a time, from the first moment at which any has a score; empty where there
    /// are fewer than two lines.
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
    /// Why these stopped, with how many.
    pub stops: BTreeMap<String, usize>,
    /// Runs that are not in the line, by what became of them.
    pub lost: BTreeMap<String, usize>,
    /// Mean of the runs' own final scores: of the last epoch, or of the one with the best score on dev.
    pub score: Option<f64>,
    /// Mean seconds of an epoch; kept states of frozen layers count where they are computed, in the first.
    pub seconds_per_epoch: Option<f64>,
    /// Mean seconds until the runs stopped.
    pub seconds_to_end: Option<f64>,
    /// Mean score in hand over the time from 0 to the budget, the floor until the first epoch is finished
    /// (`totune_stats::Curve::area_until`); none without a floor.
    pub area: Option<f64>,
    /// When shares of the best gain over the floor are reached; empty without a floor, or where nothing is above it.
    pub time_to: Vec<TimeTo>,
    /// Means after each epoch.
    pub epochs: Vec<EpochSummary>,
}

/// When a score is reached.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimeTo {
    /// Share of what the best score of any group is above the floor.
    pub share: f64,
    /// That score.
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
    /// Where it begins to be best.
    pub from_seconds: f64,
    /// Where another begins, or the longest line ends.
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
