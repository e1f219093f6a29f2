//! State of a sweep: the number of each run, the remaining time, and the speed of the current run.

use std::time::{Duration, Instant};

use totune_adapt::{EpochScores, Score, StepEvent};
use totune_sweep::{Forecast, Plan, PlannedRun, Position, State};

use super::PATIENCE;

/// State derived from the events so far, over all rounds of a sweep.
#[derive(Default)]
pub struct Tracker {
    forecast: Forecast,
    /// Runs of earlier rounds.
    before: usize,
    ended: usize,
    of: usize,
    current: Option<Current>,
}

/// The run that has the machine to itself.
struct Current {
    id: String,
    label: String,
    number: usize,
    examples: usize,
    /// Seconds of training before the steps that were seen here, of a run that resumes.
    before: Option<f64>,
    began: Instant,
    said: Instant,
}

impl Current {
    /// Returns true if nothing has been printed about the run for some time; then it counts as printed now.
    fn is_due(&mut self) -> bool {
        let is_due = self.said.elapsed() >= PATIENCE;
        if is_due {
            self.said = Instant::now();
        }
        is_due
    }
}

/// A step, with the values derived from it.
pub struct Moment {
    /// Id of the run.
    pub id: String,
    /// Its label.
    pub label: String,
    /// Its number in the sweep.
    pub number: usize,
    /// Remaining time of its training.
    pub run_left: Duration,
    /// Remaining time of all runs; `None` without any run to estimate from.
    pub all_left: Option<Duration>,
    /// Examples a second.
    pub speed: f64,
    /// True if nothing has been printed about it for some time; then it counts as printed now.
    pub is_due: bool,
}

impl Tracker {
    /// Starts a round.
    pub fn begin(&mut self, plan: &Plan) {
        self.before = self.ended;
        self.of = self.before + plan.to_run().len() + plan.count(State::Waiting);
        self.forecast = Forecast::of(plan);
        self.current = None;
    }

    /// Number of runs of the sweep, including those that wait for a search.
    pub fn of(&self) -> usize {
        self.of
    }

    /// Number of runs of earlier rounds.
    pub fn before(&self) -> usize {
        self.before
    }

    /// The number of a run over all rounds.
    pub fn number(&self, position: Position) -> usize {
        self.before + position.number
    }

    /// Notes the start of a run.
    pub fn started(&mut self, position: Position, run: &PlannedRun) {
        self.of = self.of.max(self.before + position.of);
        self.forecast.started(&run.spec);
        self.current = Some(Current {
            id: run.id.clone(),
            label: run.label.clone(),
            number: self.number(position),
            examples: 0,
            before: None,
            began: Instant::now(),
            said: Instant::now(),
        });
    }

    /// Notes that another process does a run.
    pub fn skipped(&mut self, run: &PlannedRun) {
        self.forecast.skipped(&run.spec);
    }

    /// Notes a step of the current run.
    pub fn step(&mut self, event: &StepEvent) -> Option<Moment> {
        let current = self.current.as_mut()?;
        let seconds = event.train_seconds.max(1e-9);
        // The time of the first step after a resumption is not known; it stands for those before.
        let is_first = current.before.is_none() && event.step > 1;
        let before = *current
            .before
            .get_or_insert(if is_first { seconds } else { 0.0 });
        current.examples += if is_first { 0 } else { event.examples };
        let left = seconds / event.step as f64 * event.steps.saturating_sub(event.step) as f64;
        let run_left = Duration::from_secs_f64(left);
        self.forecast.expect(current.began.elapsed() + run_left);
        let all_left = self.forecast.left();
        Some(Moment {
            is_due: current.is_due(),
            id: current.id.clone(),
            label: current.label.clone(),
            number: current.number,
            run_left,
            all_left: all_left.map(|left| left + run_left),
            speed: current.examples as f64 / (seconds - before).max(1e-9),
        })
    }

    /// Notes the end of a run; returns the remaining time of the others, if there are any and it can be estimated.
    pub fn finished(&mut self, run: &PlannedRun, took: Duration) -> Option<Duration> {
        self.ended += 1;
        self.forecast.ended(&run.spec, took);
        self.forecast.left().filter(|left| !left.is_zero())
    }

    /// Returns true if nothing has been printed about the current run for some time; then it counts as printed now.
    pub fn is_due(&mut self) -> bool {
        self.current.as_mut().is_some_and(Current::is_due)
    }

    /// Number and label of the current run.
    pub fn current(&self) -> Option<(usize, &str)> {
        let current = self.current.as_ref()?;
        Some((current.number, &current.label))
    }

    /// Id of the current run.
    pub fn id(&self) -> Option<&str> {
        self.current.as_ref().map(|current| current.id.as_str())
    }
}

/// The score after an epoch to show: dev before test, by the dataset's main metric, or where that has no value by the
/// one that is listed first.
pub fn main_score<'a>(event: &'a EpochScores) -> Option<&'a Score> {
    let of = |split: &str| {
        let of_split = |score: &&Score| score.split == split && score.metric != "loss";
        let is_main = |score: &&Score| event.metric == Some(&score.metric);
        let scores = || event.scores.iter().filter(of_split);
        scores().find(is_main).or_else(|| scores().next())
    };
    of("dev").or_else(|| of("test"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_score_to_show_is_that_of_the_main_metric_on_dev() {
        let score = |(split, metric): (&'static str, &str)| Score {
            phase: 0,
            epoch: 1,
            step: 10,
            split,
            metric: metric.to_string(),
            value: 0.5,
            n: 8,
            train_seconds: 1.0,
            is_final: false,
        };
        let both = [
            ("train", "loss"),
            ("dev", "loss"),
            ("dev", "accuracy"),
            ("dev", "f1-macro"),
            ("test", "accuracy"),
            ("test", "f1-macro"),
        ];
        let without_dev = [("test", "loss"), ("test", "accuracy"), ("test", "f1-macro")];
        for (listed, metric, expected) in [
            (&both[..], Some("f1-macro"), ("dev", "f1-macro")),
            (&both[..], Some("accuracy"), ("dev", "accuracy")),
            (&both[..], Some("matthews"), ("dev", "accuracy")),
            (&both[..], None, ("dev", "accuracy")),
            (&without_dev[..], Some("f1-macro"), ("test", "f1-macro")),
        ] {
            let scores: Vec<Score> = listed.iter().copied().map(score).collect();
            let event = EpochScores {
                phase: 0,
                epoch: 1,
                epochs: 3,
                metric,
                scores: &scores,
            };
            let found = main_score(&event).expect("a score");
            assert_eq!((found.split, found.metric.as_str()), expected, "{metric:?}");
        }
    }
}
