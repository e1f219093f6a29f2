//! What a strategy costs on this machine and this data, measured before anything is decided.

use std::ops::RangeInclusive;
use std::time::Instant;

use anyhow::Result;
use totune_adapt::Strategy;

use crate::desk::{Desk, Order, Size, Trained};
use crate::strategies::epochs;

/// Seconds that a strategy takes for an example.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cost {
    /// In a step of training.
    pub step: f64,
    /// To compute the outputs of frozen layers that are kept of it, once.
    pub cache: f64,
    /// To be answered.
    pub answer: f64,
}

/// What is scored while and after training.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scored {
    /// Examples that are answered after each epoch.
    pub dev: usize,
    /// Examples that are answered at the end; 0 where nothing is reported.
    pub test: usize,
}

impl Cost {
    /// As it came out of a run.
    pub fn of(run: &Trained) -> Self {
        let n = run.size.examples.max(1) as f64;
        let answered = ((run.scored + 1) * run.size.epochs.max(1)) as f64;
        Self {
            step: run.epoch_seconds / n,
            cache: run.cache_seconds / n,
            answer: run.eval_seconds / answered,
        }
    }

    /// Seconds of a run.
    pub fn seconds(&self, size: Size, scored: Scored) -> f64 {
        let (n, epochs) = (size.examples as f64, size.epochs as f64);
        let answered = scored.dev as f64 * epochs + scored.test as f64;
        n * (self.cache + epochs * self.step) + answered * self.answer
    }

    /// The largest size that fits into `seconds`: whole data as often as it fits, at most as often as it is worth; where it
    /// does not fit once, as much of the data as fits with the fewest epochs. `None` where that is less than `least`.
    pub fn fitting(
        &self,
        seconds: f64,
        (epochs, n, least): (&RangeInclusive<usize>, usize, usize),
        scored: Scored,
    ) -> Option<Size> {
        let whole = |epochs| Size {
            examples: n,
            epochs,
        };
        let fits = |size: &Size| self.seconds(*size, scored) <= seconds;
        if let Some(size) = epochs.clone().rev().map(whole).find(fits) {
            return Some(size);
        }
        let epochs = *epochs.start();
        let fixed = self.seconds(
            Size {
                examples: 0,
                epochs,
            },
            scored,
        );
        let examples = (seconds - fixed) / (self.cache + epochs as f64 * self.step);
        (examples >= least as f64).then_some(Size {
            examples: examples as usize,
            epochs,
        })
    }
}

/// Measures a strategy on a little of the data; `None` when it was stopped from outside.
pub(crate) fn measure(
    desk: &Desk,
    strategy: Strategy,
    data: &str,
    until: Instant,
) -> Result<Option<Cost>> {
    let examples = desk
        .part(data, "train")
        .map_or(0, |part| part.examples.len());
    let order = Order {
        strategy,
        lr: strategy.learning_rates(&desk.encoder)[0],
        seed: 1,
        size: Size {
            examples,
            epochs: (*epochs(strategy, desk.n_layers()).start()).max(2),
        },
        data,
        answers_test: false,
        until,
    };
    Ok(desk.train(order, &|_| {})?.as_ref().map(Cost::of))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COST: Cost = Cost {
        step: 0.01,
        cache: 0.002,
        answer: 0.001,
    };
    const SCORED: Scored = Scored {
        dev: 100,
        test: 200,
    };

    fn fitting(seconds: f64) -> Option<(usize, usize)> {
        let size = COST.fitting(seconds, (&(1..=8), 1000, 32), SCORED);
        size.map(|size| (size.examples, size.epochs))
    }

    #[test]
    fn a_run_is_as_long_as_fits() {
        // An epoch takes 10.1 s, what is kept 2 s, and the answers 0.2 s.
        assert_eq!(
            COST.seconds(
                Size {
                    examples: 1000,
                    epochs: 1
                },
                SCORED
            ),
            12.3
        );
        for (seconds, expected) in [
            (12.3, Some((1000, 1))),
            (22.5, Some((1000, 2))),
            (1e9, Some((1000, 8))),
            (6.3, Some((500, 1))),
            (0.6, None),
        ] {
            assert_eq!(fitting(seconds), expected, "{seconds}");
        }
    }
}
