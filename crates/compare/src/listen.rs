//! What a comparison says while it runs.

use totune_adapt::{StepEvent, Strategy};

use crate::clock::Clock;
use crate::desk::Size;

/// Something that has begun.
#[derive(Debug, Clone)]
pub struct Moment {
    /// What it is, in a few words: `full, learning rate 1e-4, seed 2, 1,300 x 3`.
    pub what: String,
    /// Seconds since the start.
    pub spent: f64,
    /// Seconds of the budget.
    pub budget: f64,
}

impl Moment {
    /// Something that is neither measuring nor training.
    pub fn of(what: &str, clock: Clock) -> Self {
        Self {
            what: what.to_string(),
            spent: clock.spent(),
            budget: clock.budget(),
        }
    }

    pub(crate) fn measuring(strategy: Strategy, clock: Clock) -> Self {
        Self::of(&format!("measuring {strategy}"), clock)
    }

    pub(crate) fn training(
        strategy: Strategy,
        (lr, seed): (f64, u64),
        size: Size,
        clock: Clock,
    ) -> Self {
        let Size { examples, epochs } = size;
        Self::of(
            &format!("{strategy}, learning rate {lr:e}, seed {seed}, {examples} x {epochs}"),
            clock,
        )
    }
}

/// Hears of everything and influences nothing.
pub trait Listener {
    /// Something begins.
    fn hear(&self, _moment: &Moment) {}

    /// A step of training.
    fn step(&self, _moment: &Moment, _step: &StepEvent) {}

    /// A training ended, with its score on dev and its seconds.
    fn ended(&self, _moment: &Moment, _dev: Option<f64>, _seconds: f64) {}
}

/// Nobody listens.
impl Listener for () {}
