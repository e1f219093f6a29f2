//! The model of the chosen strategy.

use std::path::PathBuf;

use anyhow::{Result, bail};
use totune_adapt::{Examples, Score};
use totune_model::AnyEncoder;
use totune_sweep::{RunSpec, Work};

/// Number of examples on which a saved model is compared with the one in memory.
pub(crate) const SAMPLE: usize = 32;

/// A trained model, with the settings and the data it is from.
#[derive(Debug)]
pub struct Model {
    /// Its run.
    pub run: RunSpec,
    /// The model, with its scores on dev and test, or those of cross-validation.
    pub outcome: totune_adapt::Outcome<AnyEncoder>,
    /// Examples that it was trained, selected and tested on.
    pub sizes: [usize; 3],
    /// A few inputs.
    pub sample: Examples,
    /// The folder with the encoder's tokenizer.
    pub dir: PathBuf,
    /// Identifier of the weights that training started from.
    pub checkpoint: String,
}

impl Model {
    /// The name of its encoder.
    ///
    /// # Errors
    /// When its run trained none.
    pub fn encoder(&self) -> Result<&str> {
        match &self.run.work {
            Work::Tune(work) => Ok(&work.encoder),
            _ => bail!("{}: trains no encoder", self.run.label()),
        }
    }

    /// Replaces the score on test during training, if there is one, by `value`, the score of the final model on `n`
    /// examples of `split`.
    pub(crate) fn scored(&mut self, (split, metric): (&'static str, &str), value: f64, n: usize) {
        let outcome = &mut self.outcome;
        outcome.scores.retain(|score| score.split != "test");
        outcome.scores.push(Score {
            phase: outcome.phases.len().saturating_sub(1),
            epoch: outcome.epochs,
            step: outcome.steps,
            split,
            metric: metric.to_string(),
            value,
            n,
            train_seconds: outcome.train_seconds,
            is_final: true,
        });
    }
}
