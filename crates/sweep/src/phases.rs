//! Phases of the wall time of runs: `phases.json` in the folder of each run that one process did from its beginning.
//!
//! The file is for people who look for lost time and no part of a run's results: no table has it, and a run without it
//! is as good as one with it.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use totune_record::RunRow;

/// File of a run folder with the [`Phases`] of the run.
const FILE: &str = "phases.json";

/// Wall seconds of a run by what they went into.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Phases {
    /// Reading, checking and tokenising the inputs of all runs of a process; counted to its first run.
    pub loading: f64,
    /// Preparing the examples: reading cached activations of the frozen layers, or computing them.
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

/// The phases of one run while it is done.
#[derive(Debug)]
pub(crate) struct Watch {
    began: Instant,
    loading: f64,
    preparing: Mutex<Option<f64>>,
}

impl Watch {
    /// Starts with the beginning of a run; `loading` are the seconds before it that count to this run.
    pub fn start(loading: f64) -> Self {
        Self {
            began: Instant::now(),
            loading,
            preparing: Mutex::default(),
        }
    }

    /// Counts the seconds that `prepare` takes as preparing.
    pub fn preparing<T>(&self, prepare: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let prepared = prepare();
        let mut seconds = self
            .preparing
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *seconds = Some(seconds.unwrap_or(0.0) + began.elapsed().as_secs_f64());
        prepared
    }

    /// Seconds since the beginning.
    pub fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// The phases of a run with this row, whose work had ended after `worked` seconds; written into its folder, unless
    /// the row has seconds of another process.
    pub fn write(&self, folder: &Path, row: &RunRow, worked: f64) {
        let preparing = self
            .preparing
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // `cache_seconds` are those that making the activations took, whoever made them.
        let training = row.train_seconds - row.cache_seconds;
        let known = preparing.unwrap_or(0.0) + training + row.eval_seconds;
        if known > worked {
            return;
        }
        let phases = Phases {
            loading: self.loading,
            preparing: preparing.unwrap_or(0.0),
            training,
            scoring: row.eval_seconds,
            between: worked - known,
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
            ..RunRow::default()
        };
        let watch = Watch::start(0.5);
        watch.preparing(|| std::thread::sleep(Duration::from_millis(3)));
        std::thread::sleep(Duration::from_millis(20));
        let worked = watch.seconds();
        watch.write(folder.path(), &row, worked);
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
    fn a_run_with_seconds_of_another_process_has_none() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let row = RunRow {
            train_seconds: 1e6,
            ..RunRow::default()
        };
        let watch = Watch::start(0.0);
        watch.write(folder.path(), &row, watch.seconds());
        assert_eq!(Phases::read(folder.path()), None);
    }
}
