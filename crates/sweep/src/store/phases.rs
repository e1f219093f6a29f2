//! Phases of the wall time of runs: `phases.json` in the folder of each run that one process did from its beginning.
//!
//! The file is for people who look for lost time and no part of a run's results: no table has it, and a run without it
//! is as good as one with it.

use std::cell::Cell;
use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use totune_record::RunRow;

use crate::provenance;

/// File of a run folder with the [`Phases`] of the run.
const FILE: &str = "phases.json";

/// Wall seconds of a run by what they went into.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Phases {
    /// Reading, checking and tokenising the inputs of all runs of a process; counted to its first run.
    pub loading: f64,
    /// Preparing the examples: computing activations of the frozen layers, or reading cached ones.
    pub preparing: f64,
    /// Training steps; for runs without an encoder, fitting.
    pub training: f64,
    /// Scoring dev and test.
    pub scoring: f64,
    /// Checkpoints, the best weights so far, logs and everything else between the steps.
    pub between: f64,
    /// Writing and publishing the results.
    pub publishing: f64,
}

impl Phases {
    /// Names and seconds of all phases, in the order of a run.
    pub fn all(&self) -> [(&'static str, f64); 6] {
        [
            ("loading", self.loading),
            ("preparing", self.preparing),
            ("training", self.training),
            ("scoring", self.scoring),
            ("between", self.between),
            ("publishing", self.publishing),
        ]
    }

    /// Seconds of all phases together.
    pub fn total(&self) -> f64 {
        self.all().iter().map(|(_, seconds)| seconds).sum()
    }

    /// Adds the seconds of another run.
    pub fn add(&mut self, other: &Self) {
        self.loading += other.loading;
        self.preparing += other.preparing;
        self.training += other.training;
        self.scoring += other.scoring;
        self.between += other.between;
        self.publishing += other.publishing;
    }

    /// Reads those of a run folder; `None` where there are none.
    pub(crate) fn read(folder: &Path) -> Option<Self> {
        let bytes = std::fs::read(folder.join(FILE)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }
}

/// Clock of the phases of one run.
#[derive(Debug)]
pub(crate) struct PhaseClock {
    began: Instant,
    /// The same on the wall clock, as in rows.
    started: u64,
    loading: f64,
    preparing: Cell<f64>,
}

impl PhaseClock {
    /// Starts with a run; `loading` are the seconds before it that count to this run.
    pub fn start(loading: f64) -> Self {
        Self {
            began: Instant::now(),
            started: provenance::now(),
            loading,
            preparing: Cell::default(),
        }
    }

    /// Counts the seconds that `prepare` takes as preparing.
    pub fn preparing<T>(&self, prepare: impl FnOnce() -> T) -> T {
        let began = self.seconds();
        let prepared = prepare();
        let took = self.seconds() - began;
        self.preparing.set(self.preparing.get() + took);
        prepared
    }

    /// Seconds since the beginning.
    pub fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Writes the phases of a run with this row, whose work had ended after `worked` seconds, into its folder; none for a
    /// run that was resumed, whose row has the seconds of an earlier process too.
    pub fn write(&self, folder: &Path, row: &RunRow, worked: f64) {
        if row.started < self.started {
            return;
        }
        // `cache_seconds` are those that making the activations took, whoever made them.
        let training = row.train_seconds - row.cache_seconds;
        let preparing = self.preparing.get();
        let known = preparing + training + row.eval_seconds;
        let phases = Phases {
            loading: self.loading,
            preparing,
            training,
            scoring: row.eval_seconds,
            between: (worked - known).max(0.0),
            publishing: self.seconds() - worked,
        };
        // Without the file the run is as good, so it is neither synchronised nor a reason to fail.
        if let Ok(json) = serde_json::to_vec_pretty(&phases) {
            let _ = std::fs::write(folder.join(FILE), json);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn phases_add_up_to_the_time_of_a_run() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let row = RunRow {
            train_seconds: 0.012,
            cache_seconds: 0.002,
            eval_seconds: 0.005,
            started: u64::MAX,
            ..RunRow::default()
        };
        let clock = PhaseClock::start(0.5);
        clock.preparing(|| std::thread::sleep(Duration::from_millis(3)));
        std::thread::sleep(Duration::from_millis(20));
        let worked = clock.seconds();
        clock.write(folder.path(), &row, worked);
        let phases = Phases::read(folder.path()).expect("a file");
        assert!(phases.preparing >= 0.003, "{phases:?}");
        assert_eq!((phases.loading, phases.scoring), (0.5, 0.005));
        assert!((phases.training - 0.010).abs() < 1e-12, "{phases:?}");
        assert!((phases.total() - 0.5 - worked - phases.publishing).abs() < 1e-9);
        let mut twice = phases.clone();
        twice.add(&phases);
        assert!((twice.total() - 2.0 * phases.total()).abs() < 1e-9);
    }

    #[test]
    fn a_run_that_was_resumed_has_none() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let row = RunRow {
            started: 1,
            ..RunRow::default()
        };
        let clock = PhaseClock::start(0.0);
        clock.write(folder.path(), &row, clock.seconds());
        assert_eq!(Phases::read(folder.path()), None);
    }
}
