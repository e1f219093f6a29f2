//! The cost of a strategy on this machine and this data, measured before the race.

use std::ops::RangeInclusive;
use std::time::Instant;

use anyhow::Result;

use crate::runner::Runner;
use crate::strategies::{Entrant, epochs};
use crate::trial::{Size, Trial, TrialResult};

/// Seconds that a strategy takes for an example.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cost {
    /// Seconds in a training step.
    pub step: f64,
    /// Seconds to compute its cached activations, once.
    pub cache: f64,
    /// Seconds to predict it.
    pub predict: f64,
}

/// Numbers of examples predicted during and after training.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Evaluated {
    /// Examples after each epoch.
    pub dev: usize,
    /// Examples at the end; 0 where test is not predicted.
    pub test: usize,
}

impl Cost {
    /// The cost that a trial had.
    pub fn of(trial: &TrialResult) -> Self {
        let n = trial.size.examples.max(1) as f64;
        // One test example is predicted with dev.
        let predicted = ((trial.n_dev + 1) * trial.size.epochs.max(1)) as f64;
        Self {
            step: trial.epoch_seconds / n,
            cache: trial.cache_seconds / n,
            predict: trial.eval_seconds / predicted,
        }
    }

    /// Seconds of a trial.
    pub fn seconds(&self, size: Size, evaluated: Evaluated) -> f64 {
        let (n, epochs) = (size.examples as f64, size.epochs as f64);
        let predicted = evaluated.dev as f64 * epochs + evaluated.test as f64;
        n * (self.cache + epochs * self.step) + predicted * self.predict
    }

    /// The largest size that fits into `seconds`: all `n` examples for the most `epochs` that fit; if the fewest do not
    /// fit, as many examples as do for the fewest epochs. `None` if these are fewer than `least`.
    pub fn fitting(
        &self,
        seconds: f64,
        (epochs, n, least): (&RangeInclusive<usize>, usize, usize),
        evaluated: Evaluated,
    ) -> Option<Size> {
        let of = |examples, epochs| Size { examples, epochs };
        let fits = |size: &Size| self.seconds(*size, evaluated) <= seconds;
        let whole = epochs.clone().rev().map(|epochs| of(n, epochs));
        if let Some(size) = whole.into_iter().find(fits) {
            return Some(size);
        }
        let fewest = *epochs.start();
        let left = seconds - self.seconds(of(0, fewest), evaluated);
        let examples = left / (self.cache + fewest as f64 * self.step);
        (examples >= least as f64).then_some(of(examples as usize, fewest))
    }
}

/// Measures a strategy on an encoder, with a sample of the data; `None` if it was stopped from outside, or did not end
/// in time.
pub(crate) fn measure(
    runner: &Runner,
    entrant: Entrant,
    sample: &str,
    until: Instant,
) -> Result<Option<Cost>> {
    let (strategy, encoder) = (entrant.strategy, runner.encoder(entrant));
    let fewest = *epochs(strategy, encoder.n_layers()).start();
    let trial = Trial {
        entrant,
        lr: strategy.learning_rates(&encoder.card)[0],
        seed: 1,
        size: Size {
            examples: runner.n(sample, "train"),
            epochs: fewest.max(2),
        },
        data: sample,
        training: None,
        predicts_test: false,
        keeps_model: false,
        until,
    };
    Ok(runner.run(trial, &|_| {})?.as_ref().map(Cost::of))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COST: Cost = Cost {
        step: 0.01,
        cache: 0.002,
        predict: 0.001,
    };
    const EVALUATED: Evaluated = Evaluated {
        dev: 100,
        test: 200,
    };

    fn fitting(seconds: f64) -> Option<(usize, usize)> {
        let size = COST.fitting(seconds, (&(1..=8), 1000, 32), EVALUATED);
        size.map(|size| (size.examples, size.epochs))
    }

    #[test]
    fn a_run_is_as_long_as_fits() {
        // An epoch takes 10.1 s, the cache 2 s, and the predictions of test 0.2 s.
        assert_eq!(
            COST.seconds(
                Size {
                    examples: 1000,
                    epochs: 1
                },
                EVALUATED
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
