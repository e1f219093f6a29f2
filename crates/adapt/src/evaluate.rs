//! Scoring a model on examples it does not learn from.

use std::ops::ControlFlow;

use anyhow::{Context, Result};
use totune_data::{BatchPlan, Target};
use totune_model::{Classifier, Encoder, Output, Pass};

use crate::batch::Batches;
use crate::cache::EntryLayer;
use crate::examples::{Examples, Row};
use crate::objective::Objective;
use crate::parameters::device_of;

/// Evaluation of a model on a list of examples, in their order.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// Mean loss: cross-entropy or squared error.
    pub loss: f64,
    /// The prediction of each example: the most probable label, the first of them in a tie, the score, or a tag per
    /// word.
    pub predicted: Vec<Target>,
    /// Probabilities of all labels for each example, or only its score; empty for tags of words.
    pub scores: Vec<Vec<f32>>,
}

/// Scores `examples` in batches of `batch_size`, without dropout, from the activations cached for `start` if there are
/// any.
///
/// If an encoder carries its state from batch to batch, the first batch starts from a zero state.
///
/// `model` is a validation snapshot ([`burn::module::Module::valid`]), so that no graph is built. Batches hold examples
/// of similar length, which saves padding; the result is in the order of the examples.
///
/// # Errors
/// When the device fails.
pub fn evaluate<E: Encoder>(
    model: &Classifier<E>,
    objective: &Objective,
    examples: &Examples,
    batch_size: usize,
    start: Option<EntryLayer>,
) -> Result<Evaluation> {
    let batches = (batch_size, start);
    let found = evaluate_until(model, objective, examples, batches, &mut || {
        ControlFlow::Continue(())
    });
    Ok(found?.expect("nothing breaks it"))
}

/// Executes [`evaluate`] until `go_on`, which is called before each batch, returns a break; then the result is `None`.
///
/// # Errors
/// As for [`evaluate`].
pub fn evaluate_until<E: Encoder>(
    model: &Classifier<E>,
    objective: &Objective,
    examples: &Examples,
    (batch_size, start): (usize, Option<EntryLayer>),
    go_on: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Option<Evaluation>> {
    let plan = BatchPlan {
        size: batch_size,
        bucketing: true,
    };
    model.encoder.reset_state();
    let device = device_of(&model.encoder)?;
    let batches = Batches::new(examples, start, &device);
    let mut loss = vec![0.0; examples.len()];
    let mut predicted = vec![Target::Unknown; examples.len()];
    let mut scores = vec![Vec::new(); examples.len()];
    for indices in plan.sequential(&examples.lengths()) {
        if go_on().is_break() {
            return Ok(None);
        }
        let output = batches.outputs(model, &indices, &Pass::evaluation());
        let found = objective.predictions(output, &examples.targets(&indices))?;
        for (&i, found) in indices.iter().zip(found) {
            (loss[i], predicted[i], scores[i]) = (found.loss, found.predicted, found.scores);
        }
    }
    Ok(Some(Evaluation {
        // Summed in the order of the examples, so that batching does not show.
        loss: loss.iter().sum::<f64>() / examples.len() as f64,
        predicted,
        scores,
    }))
}

/// Outputs of `model` for each of `examples` before any softmax, as one batch and without dropout: the outputs for an
/// example, or those for its tags word by word, without the CRF.
///
/// `model` is a validation snapshot, as for [`evaluate`].
///
/// # Errors
/// When the device fails.
pub fn logits<E: Encoder>(model: &Classifier<E>, examples: &Examples) -> Result<Vec<Vec<f32>>> {
    model.encoder.reset_state();
    if examples.is_empty() {
        return Ok(Vec::new());
    }
    let device = device_of(&model.encoder)?;
    let all: Vec<usize> = (0..examples.len()).collect();
    let output = Batches::new(examples, None, &device).outputs(model, &all, &Pass::evaluation());
    let (data, width) = match output {
        Output::Labels(outputs) => {
            let [_, width] = outputs.dims();
            (outputs.into_data(), width)
        }
        Output::Tags(tags) => {
            let [_, words, n_tags] = tags.emissions.dims();
            (tags.emissions.into_data(), words * n_tags)
        }
    };
    let values: Vec<f32> = data
        .try_to_vec()
        .ok()
        .context("outputs are not 32-bit floats")?;
    let rows = examples.rows.iter().zip(values.chunks(width.max(1)));
    // Behind the words of a shorter sentence there is nothing to compare.
    let longest = |row: &Row| row.words.as_ref().map(|words| words.starts.len());
    let most = examples.rows.iter().filter_map(longest).max().unwrap_or(1);
    let row = |(row, values): (&Row, &[f32])| {
        let own = longest(row).map_or(width, |words| width / most.max(1) * words);
        values[..own].to_vec()
    };
    Ok(rows.map(row).collect())
}
