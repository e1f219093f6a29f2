//! Perplexity on held-out text: of a trained model, of the same model with random weights, and of word frequencies.

use anyhow::Result;
use burn::tensor::Device;
use totune_record::PerplexityRow;

use crate::objective::{Likelihood, Objective};

/// A model and its training step.
#[derive(Debug)]
pub struct EvaluatedLm<'m, M> {
    /// The model.
    pub model: &'m M,
    /// Number of steps taken.
    pub step: usize,
}

/// Computes the perplexity of each held-out text: three rows each, for the trained model, for random weights and for
/// unigrams.
///
/// `watch` is called with the name of each text before it is scored: the full softmax over a vocabulary of words takes
/// minutes.
///
/// # Errors
/// When fresh weights cannot be made.
pub fn perplexity<O: Objective>(
    run: &str,
    objective: &O,
    trained: &EvaluatedLm<O::Model>,
    device: &Device,
    watch: &mut dyn FnMut(&str),
) -> Result<Vec<PerplexityRow>> {
    let random = objective.load(&mut *objective.initial(), device)?;
    let mut rows = Vec::new();
    for text in objective.held_out() {
        watch(&text);
        let of = |model| objective.likelihood(model, &text, device);
        let (trained_with, random_with) = (of(trained.model), of(&random));
        let unigram = Likelihood {
            nats: trained_with.unigram_nats,
            ..trained_with
        };
        let step = trained.step;
        for (model, likelihood, step) in [
            ("trained", trained_with, step),
            ("random-weights", random_with, 0),
            ("unigram", unigram, 0),
        ] {
            rows.push(PerplexityRow {
                run: run.to_string(),
                text: text.clone(),
                model: model.to_string(),
                step: step as u64,
                tokens: objective.tokens_before(step),
                n: likelihood.n,
                nats: likelihood.nats / likelihood.n.max(1) as f64,
                perplexity: likelihood.perplexity(),
            });
        }
    }
    Ok(rows)
}
