//! Scoring a model on examples it does not learn from.

use anyhow::{Context, Result};
use burn::tensor::Device;
use burn::tensor::activation::log_softmax;
use totune_data::BatchPlan;
use totune_model::{Classifier, Encoder, Pass};

use crate::batch::token_batch;
use crate::task::Examples;

/// What a model says about a list of examples, in their order.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// Mean cross-entropy.
    pub loss: f64,
    /// The most probable label of each example; the first of them in a tie.
    pub predicted: Vec<usize>,
    /// Probabilities of all labels for each example.
    pub probabilities: Vec<Vec<f32>>,
}

/// Scores `examples` in batches of `batch_size`, without dropout.
///
/// `model` is a validation snapshot ([`burn::module::Module::valid`]), so that no graph is built. Batches hold examples
/// of similar length, which saves padding; the result is in the order of the examples.
pub fn evaluate<E: Encoder>(
    model: &Classifier<E>,
    examples: &Examples,
    batch_size: usize,
    device: &Device,
) -> Result<Evaluation> {
    let labels = examples.classes();
    let plan = BatchPlan {
        size: batch_size,
        bucketing: true,
    };
    let mut loss = vec![0.0; examples.len()];
    let mut predicted = vec![0; examples.len()];
    let mut probabilities = vec![Vec::new(); examples.len()];
    for indices in plan.sequential(&examples.lengths()) {
        let batch = token_batch(examples, &indices, device);
        let logits = model.forward(&batch, &Pass::evaluation()); // [batch, labels]
        let [_, n_labels] = logits.dims();
        let scores: Vec<f32> = log_softmax(logits, 1)
            .into_data()
            .try_to_vec()
            .ok()
            .context("the scores of a batch are not 32-bit floats")?;
        for (&i, row) in indices.iter().zip(scores.chunks(n_labels)) {
            loss[i] = -f64::from(row[labels[i]]);
            predicted[i] = largest(row);
            probabilities[i] = row.iter().map(|score| score.exp()).collect();
        }
    }
    Ok(Evaluation {
        // Summed in the order of the examples, so that batching does not show.
        loss: loss.iter().sum::<f64>() / examples.len() as f64,
        predicted,
        probabilities,
    })
}

/// Index of the first largest value.
fn largest(values: &[f32]) -> usize {
    let mut best = 0;
    for (i, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = i;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equal_scores_is_predicted() {
        assert_eq!(largest(&[0.1, 0.7, 0.2]), 1);
        assert_eq!(largest(&[0.5, 0.5]), 0);
    }
}
