//! What is learned from text: the interface between objectives and the [`Trainer`](crate::Trainer).

use anyhow::Result;
use burn::module::{Module, ModuleDisplay};
use burn::tensor::{Device, Tensor};
use totune_model::Weights;

/// A loss over text, and the model it trains.
pub trait Objective {
    /// The encoder with the head that pre-training needs.
    type Model: Module + ModuleDisplay;

    /// The model with `weights`, on `device`, with the run's dropout and precision.
    ///
    /// # Errors
    /// When a tensor is missing or has another shape.
    fn load(&self, weights: &mut dyn Weights, device: &Device) -> Result<Self::Model>;

    /// Fresh weights.
    fn initial(&self) -> Box<dyn Weights>;

    /// The published name of the parameter at `path` of the model.
    fn published(&self, path: &str) -> String;

    /// Steps of the whole run.
    fn steps(&self) -> usize;

    /// Units (wordpieces or words) that are read in steps `0..step`.
    fn tokens_before(&self, step: usize) -> u64;

    /// The mean loss of step `step` in nats, `[1]`.
    fn loss(&self, model: &Self::Model, step: usize, device: &Device) -> Tensor<1>;

    /// The held-out texts, by name.
    fn held_out(&self) -> Vec<String>;

    /// How well held-out text `text` is predicted, with fixed masks.
    fn likelihood(&self, model: &Self::Model, text: &str, device: &Device) -> Likelihood;
}

/// Negative log-likelihoods, summed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Likelihood {
    /// Of the model, in nats.
    pub nats: f64,
    /// Of the frequencies of wordpieces in the training text alone, in nats.
    pub unigram_nats: f64,
    /// Predictions.
    pub n: u64,
}

impl Likelihood {
    /// `exp(nats / n)`.
    pub fn perplexity(&self) -> f64 {
        (self.nats / self.n as f64).exp()
    }

    /// That of the unigram model.
    pub fn unigram_perplexity(&self) -> f64 {
        (self.unigram_nats / self.n as f64).exp()
    }
}
