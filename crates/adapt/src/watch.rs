//! Watching a run go by. A watcher is told what happened; it can end the run and influence nothing else.

use std::ops::ControlFlow;

use crate::outcome::Score;

/// Hears of every step and epoch, and says whether the run goes on: one that is broken off ends as
/// [`Stop::Interrupted`](crate::Stop::Interrupted).
pub trait Watch {
    /// After an optimiser step.
    fn step(&mut self, event: &StepEvent) -> ControlFlow<()> {
        let _ = event;
        ControlFlow::Continue(())
    }

    /// After the evaluation that ends an epoch.
    fn epoch(&mut self, event: &EpochScores) -> ControlFlow<()> {
        let _ = event;
        ControlFlow::Continue(())
    }
}

/// Nobody watches.
impl Watch for () {}

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
    /// The scores taken after this epoch.
    pub scores: &'a [Score],
}
