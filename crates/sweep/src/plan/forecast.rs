//! Remaining time of a plan, from the runs that have ended.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::{Plan, RunSpec, State};

/// Remaining time of a plan, by kind of run: runs that differ only in the seed, the fold and the values that a search
/// chose take equally long. A kind takes the median of its runs, since some share the machine with other work or were
/// resumed. Runs that wait for a search count, those that run side by side do not.
#[derive(Debug, Default)]
pub struct Forecast {
    kinds: BTreeMap<Kind, Times>,
    /// Kind of the current run.
    current: Option<Kind>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    /// Dataset, encoder and adaptation.
    near: Vec<String>,
    /// Everything.
    exact: String,
}

#[derive(Debug, Default)]
struct Times {
    /// Of each run that has ended.
    seconds: Vec<f64>,
    open: usize,
    /// Expected seconds of the current run, from its steps so far.
    expected: Option<f64>,
}

impl Times {
    /// Seconds of the runs that an estimate can build on.
    fn known(&self) -> &[f64] {
        match self.seconds.as_slice() {
            [] => self.expected.as_slice(),
            ended => ended,
        }
    }
}

impl Kind {
    fn of(spec: &RunSpec) -> Self {
        let mut plain = spec.clone();
        plain.fold = 0;
        Self {
            near: spec.affinity(),
            exact: plain.cell(),
        }
    }
}

impl Forecast {
    /// Forecast of a plan before its runs begin: the runs to do, and the seconds of the runs done before.
    pub fn of(plan: &Plan) -> Self {
        let mut forecast = Self::default();
        for run in plan.runs.iter().filter(|run| !run.spec.runs_in_parallel()) {
            let times = forecast.kinds.entry(Kind::of(&run.spec)).or_default();
            times.open += usize::from(run.will_run || run.state == State::Waiting);
            if let Some(seconds) = run.seconds {
                times.seconds.push(seconds);
            }
        }
        forecast
    }

    /// Notes that a run begins, which no longer counts as open.
    pub fn started(&mut self, spec: &RunSpec) {
        let kind = Kind::of(spec);
        self.close(&kind);
        self.current = Some(kind);
    }

    /// Notes that another process does a run, which no longer counts as open.
    pub fn skipped(&mut self, spec: &RunSpec) {
        self.close(&Kind::of(spec));
    }

    fn close(&mut self, kind: &Kind) {
        if let Some(times) = self.kinds.get_mut(kind) {
            times.open = times.open.saturating_sub(1);
        }
    }

    /// Sets the expected duration of the current run.
    pub fn expect(&mut self, whole: Duration) {
        let times = self
            .current
            .as_ref()
            .and_then(|kind| self.kinds.get_mut(kind));
        if let Some(times) = times {
            times.expected = Some(whole.as_secs_f64());
        }
    }

    /// Notes that a run has ended.
    pub fn ended(&mut self, spec: &RunSpec, took: Duration) {
        if !spec.runs_in_parallel() {
            let times = self.kinds.entry(Kind::of(spec)).or_default();
            times.seconds.push(took.as_secs_f64());
        }
    }

    /// Remaining time of the runs that have not begun; `None` without any run to estimate from. A kind without a
    /// finished run is taken to be like those that share most of dataset, encoder and adaptation with it.
    pub fn left(&self) -> Option<Duration> {
        let open = self.kinds.iter().filter(|(_, times)| times.open > 0);
        let seconds = open.map(|(kind, times)| Some(self.typical(kind)? * times.open as f64));
        seconds.sum::<Option<f64>>().map(Duration::from_secs_f64)
    }

    /// The median seconds of the runs that are most like those of `kind`.
    fn typical(&self, kind: &Kind) -> Option<f64> {
        let likeness = |other: &Kind| {
            let same = kind.near.iter().zip(&other.near);
            let same = same.filter(|(a, b)| a == b).count();
            (other == kind, same)
        };
        let kinds = self.kinds.iter();
        let known = kinds.map(|(other, times)| (likeness(other), times.known()));
        let known: Vec<_> = known.filter(|(_, runs)| !runs.is_empty()).collect();
        let most = known.iter().map(|(likeness, _)| *likeness).max()?;
        let like = known.iter().filter(|(likeness, _)| *likeness == most);
        let runs: Vec<f64> = like.flat_map(|(_, runs)| *runs).copied().collect();
        Some(totune_stats::quartiles(&runs)[2])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forecast(kinds: &[([&str; 3], &[f64], usize)]) -> Forecast {
        let of = |(near, seconds, open): &([&str; 3], &[f64], usize)| {
            let kind = Kind {
                near: near.map(str::to_string).to_vec(),
                exact: near.join(" "),
            };
            let times = Times {
                seconds: seconds.to_vec(),
                open: *open,
                expected: None,
            };
            (kind, times)
        };
        Forecast {
            kinds: kinds.iter().map(of).collect(),
            current: None,
        }
    }

    fn seconds(forecast: &Forecast) -> Option<f64> {
        forecast.left().map(|left| left.as_secs_f64())
    }

    #[test]
    fn every_kind_counts_by_its_own_runs_and_a_new_one_by_those_most_like_it() {
        let (frozen, full) = (["sst-2", "bert", "frozen"], ["sst-2", "bert", "full"]);
        let elmo = ["sst-2", "elmo", "full"];
        // Two of 10 s each and one of 100 s are left.
        let known = forecast(&[(frozen, &[10.0, 10.0, 10.0], 2), (full, &[100.0], 1)]);
        assert_eq!(seconds(&known), Some(120.0));
        // ELMo shares the dataset with both, and the adaptation with one.
        let new = forecast(&[(frozen, &[10.0], 0), (full, &[100.0], 0), (elmo, &[], 2)]);
        assert_eq!(seconds(&new), Some(200.0));
        assert_eq!(seconds(&forecast(&[(full, &[], 2)])), None);
    }

    #[test]
    fn a_run_that_begins_or_that_another_process_does_is_not_open() {
        let mut left = forecast(&[(["sst-2", "bert", "full"], &[10.0], 2)]);
        let kind = left.kinds.keys().next().cloned().expect("one");
        for expected in [20.0, 10.0, 0.0, 0.0] {
            assert_eq!(seconds(&left), Some(expected));
            left.close(&kind);
        }
    }

    #[test]
    fn a_run_that_shared_the_machine_with_other_work_does_not_count_for_all() {
        let full = ["sst-2", "bert", "full"];
        let left = forecast(&[(full, &[10.0, 900.0, 12.0], 2)]);
        assert_eq!(seconds(&left), Some(24.0));
    }

    #[test]
    fn the_run_at_hand_says_how_long_others_of_its_kind_will_take() {
        let full = ["sst-2", "bert", "full"];
        let mut forecast = forecast(&[(["sst-2", "bert", "frozen"], &[10.0], 0), (full, &[], 3)]);
        assert_eq!(seconds(&forecast), Some(30.0));
        forecast.current = forecast
            .kinds
            .keys()
            .find(|kind| kind.near == full)
            .cloned();
        forecast.expect(Duration::from_secs(100));
        assert_eq!(seconds(&forecast), Some(300.0));
    }
}
