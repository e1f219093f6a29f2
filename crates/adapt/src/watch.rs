//! Observers of a run. A watcher is notified of every event; it can end the run and influence nothing else.

use std::io::{Write, stderr};
use std::ops::ControlFlow;

use crate::outcome::Score;

/// Observer of every step and epoch that decides if the run continues: an interrupted run ends as
/// [`Stop::Interrupted`](crate::Stop::Interrupted).
pub trait Watch {
    /// Called after an optimiser step.
    fn step(&mut self, event: &StepEvent) -> ControlFlow<()> {
        let _ = event;
        ControlFlow::Continue(())
    }

    /// Called before each batch of the evaluation that ends an epoch.
    fn scoring(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Called after the evaluation that ends an epoch.
    fn epoch(&mut self, event: &EpochScores) -> ControlFlow<()> {
        let _ = event;
        ControlFlow::Continue(())
    }
}

/// Observes nothing.
impl Watch for () {}

/// Writes a note to standard error. A reader that has gone away is no error: a panic would be taken for one of the run.
pub(crate) fn note(text: &str) {
    let _ = writeln!(stderr().lock(), "note: {text}");
}

/// Error of a computation that was stopped from outside: no failure.
#[derive(Debug)]
pub struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "interrupted")
    }
}

impl std::error::Error for Interrupted {}

/// One optimiser step, as it has just been taken.
#[derive(Debug, Clone, PartialEq)]
pub struct StepEvent {
    /// Phase of training, from 0.
    pub phase: usize,
    /// Epoch this step belongs to, from 1, over all phases.
    pub epoch: usize,
    /// Epochs of all phases, at most.
    pub epochs: usize,
    /// Steps taken, over all phases.
    pub step: usize,
    /// Steps of all phases, at most.
    pub steps: usize,
    /// Examples in this step.
    pub examples: usize,
    /// Mean loss over them.
    pub loss: f64,
    /// Length of the gradient before clipping.
    pub gradient_norm: f64,
    /// Learning rate of this step, of the first group of its phase (the head).
    pub lr: f64,
    /// Seconds of training so far.
    pub train_seconds: f64,
}

/// The end of an epoch.
#[derive(Debug, Clone, PartialEq)]
pub struct EpochScores<'a> {
    /// Phase of training, from 0.
    pub phase: usize,
    /// Epochs finished, over all phases.
    pub epoch: usize,
    /// Epochs of all phases, at most.
    pub epochs: usize,
    /// Main metric of the dataset.
    pub metric: Option<&'a str>,
    /// The scores taken after this epoch.
    pub scores: &'a [Score],
}
