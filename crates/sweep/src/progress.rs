//! What a sweep says while it runs. Listeners hear of everything and influence nothing, but for stopping.

use std::time::Duration;

use totune_adapt::{EpochScores, StepEvent};

use crate::PlannedRun;

/// Where a run stands among those of this sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Counted from 1.
    pub number: usize,
    /// How many will run.
    pub of: usize,
}

/// Hears what happens during a sweep; every method may be called from several threads.
pub trait Progress: Sync {
    /// The sweep begins: so many to run, so many of the plan left alone (done, failed before, or running elsewhere).
    fn begin(&self, _to_run: usize, _left: usize) {}

    /// A longer step before the first run, such as loading an encoder.
    fn preparing(&self, _what: &str) {}

    /// A run begins.
    fn started(&self, _position: Position, _run: &PlannedRun) {}

    /// An optimiser step of a run that is alone on the machine.
    fn step(&self, _event: &StepEvent) {}

    /// The scores after an epoch of a run that is alone on the machine.
    fn epoch(&self, _scores: &EpochScores) {}

    /// A run ended with a status of the run table; see [`Ended`].
    fn finished(&self, _position: Position, _run: &PlannedRun, _ended: &Ended) {}

    /// The sweep is over.
    fn end(&self) {}
}

/// How one run ended.
#[derive(Debug, Clone)]
pub struct Ended {
    /// `ok`, `diverged`, `oom` or `failed`.
    pub status: String,
    /// What went wrong, in one line; empty when `ok`.
    pub error: String,
    /// A score the run stands for, and its metric: accuracy on the test part, or the first there is.
    pub score: Option<(String, f64)>,
    /// How long it took.
    pub took: Duration,
}

/// Says nothing.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {}
