//! Progress reports of a running comparison.

use totune_adapt::StepEvent;

use crate::clock::Clock;
use crate::trial::Size;

/// A stage of a comparison, such as one trial.
#[derive(Debug, Clone)]
pub struct Stage {
    /// Description in a few words: `full, learning rate 1e-4, seed 2, 1300 x 3`.
    pub what: String,
    /// Seconds since the start.
    pub spent: f64,
    /// Seconds of the budget.
    pub budget: f64,
}

impl Stage {
    /// A stage that is neither measuring nor training.
    pub fn of(what: &str, clock: Clock) -> Self {
        Self {
            what: what.to_string(),
            spent: clock.spent(),
            budget: clock.budget(),
        }
    }

    pub(crate) fn measuring(name: &str, clock: Clock) -> Self {
        Self::of(&format!("measuring {name}"), clock)
    }

    pub(crate) fn training(name: &str, (lr, seed): (f64, u64), size: Size, clock: Clock) -> Self {
        let Size { examples, epochs } = size;
        let settings = format!("learning rate {lr:e}, seed {seed}, {examples} x {epochs}");
        Self::of(&format!("{name}, {settings}"), clock)
    }
}

/// Receives progress reports of a comparison, without influence on it.
pub trait Progress {
    /// A stage begins.
    fn stage(&self, _stage: &Stage) {}

    /// A training step of a stage.
    fn step(&self, _stage: &Stage, _step: &StepEvent) {}

    /// A training ended, with its dev score and its seconds.
    fn trained(&self, _stage: &Stage, _dev: Option<f64>, _seconds: f64) {}
}

/// No progress is shown.
impl Progress for () {}
