//! Objectives of pre-training: the interface between a loss over text and the [`Trainer`](crate::Trainer).

use anyhow::Result;
use burn::module::{Module, ModuleDisplay};
use burn::tensor::{Device, Tensor};
use totune_model::Weights;

/// A loss over text, and the model it trains.
pub trait Objective {
    /// Encoder with the head that pre-training needs.
    type Model: Module + ModuleDisplay;

    /// Loads the model with `weights` onto `device`, with the run's dropout and precision.
    ///
    /// # Errors
    /// When a tensor is missing or has another shape.
    fn load(&self, weights: &mut dyn Weights, device: &Device) -> Result<Self::Model>;

    /// Returns initial weights.
    fn initial(&self) -> Box<dyn Weights>;

    /// The published name of the parameter at `path` of the model.
    fn published(&self, path: &str) -> String;

    /// Number of steps of the whole run.
    fn steps(&self) -> usize;

    /// Number of tokens (wordpieces or words) that are read in steps `0..step`.
    fn tokens_before(&self, step: usize) -> u64;

    /// Mean loss of step `step` in nats, `[1]`.
    fn loss(&self, model: &Self::Model, step: usize, device: &Device) -> Tensor<1>;

    /// Names of the held-out texts.
    fn held_out(&self) -> Vec<String>;

    /// Negative log-likelihood of held-out text `text`, with fixed masks.
    fn likelihood(&self, model: &Self::Model, text: &str, device: &Device) -> Likelihood;
}

/// Negative log-likelihoods, summed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Likelihood {
    /// Negative log-likelihood of the model, in nats.
    pub nats: f64,
    /// Negative log-likelihood of a unigram model, from the frequencies in the training text, in nats.
    pub unigram_nats: f64,
    /// Number of predictions.
    pub n: u64,
}

impl Likelihood {
    /// Perplexity: `exp(nats / n)`.
    pub fn perplexity(&self) -> f64 {
        (self.nats / self.n as f64).exp()
    }
}
