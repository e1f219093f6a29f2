//! The log of one run: what ran, every epoch, and how it ended, in plain lines in its folder.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use totune_adapt::EpochScores;
use totune_record::RunRow;

use crate::provenance::timestamp;
use crate::store::LOG;
use crate::{CheckpointEvent, Ended, PlannedRun, Position, Progress};

/// `run.log` in the folder of a run. A run that was interrupted and is run again adds to it.
pub(crate) struct RunLog(Mutex<File>);

impl RunLog {
    /// The log in the folder of a run.
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.join(LOG);
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = file.with_context(|| format!("{}: cannot write", path.display()))?;
        Ok(Self(Mutex::new(file)))
    }

    /// Adds lines, the first with the time. A failure to write the log does not end a run.
    pub fn line(&self, text: &str) {
        let text = text.trim_end().replace('\n', "\n    ");
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = writeln!(file, "{} {text}", timestamp());
    }

    /// Logs the machine and code of a run, from its row.
    pub fn place(&self, row: &RunRow) {
        let code = match (row.code_commit.as_str(), row.code_dirty) {
            ("", _) => env!("CARGO_PKG_VERSION").to_string(),
            (commit, false) => commit.to_string(),
            (commit, true) => format!("{commit} with changes"),
        };
        let (device, threads) = (&row.device, row.threads);
        self.line(&format!("totune {code} on {device}, threads: {threads}"));
    }
}

impl Progress for RunLog {
    fn started(&self, _: Position, run: &PlannedRun) {
        self.line(&format!("run {}: {}", run.id, run.label));
        self.line(&format!("settings: {}", run.spec.canonical_json()));
    }

    fn epoch(&self, event: &EpochScores) {
        let of_epoch = event.scores.last();
        let step = of_epoch.map_or(0, |score| score.step);
        let seconds = of_epoch.map_or(0.0, |score| score.train_seconds);
        let scores = event.scores.iter();
        let scores =
            scores.map(|score| format!("{} {} {:.4}", score.split, score.metric, score.value));
        self.line(&format!(
            "epoch {}/{}, step {step}, {seconds:.1} s of training: {}",
            event.epoch,
            event.epochs,
            scores.collect::<Vec<_>>().join(", ")
        ));
    }

    fn checkpoint(&self, event: &CheckpointEvent) {
        self.line(&event.to_string());
    }

    fn finished(&self, _: Position, _: &PlannedRun, ended: &Ended) {
        let seconds = ended.took.as_secs_f64();
        let score = match &ended.score {
            Some(score) => format!(", {} {} {:.4}", score.split, score.metric, score.value),
            None => String::new(),
        };
        let error = match ended.error.as_str() {
            "" => String::new(),
            error => format!(": {error}"),
        };
        self.line(&format!(
            "ended after {seconds:.1} s, {}{score}{error}",
            ended.status
        ));
    }

    fn stopped(&self, _: &PlannedRun) {
        self.line("interrupted");
    }
}
