//! One adaptation of one pretrained encoder, with the device to itself.

use anyhow::Result;
use totune_adapt::{Prediction, Score, Stop, Training};
use totune_data::Target;
use totune_model::{AnyEncoder, Encoder};
use totune_record::{EvalRow, PredictionRow, RunRow};

use super::prepared::Prepared;
use super::{Interrupted, Outcome, Resources};
use crate::{Inputs, Machine, Progress, RunSpec, TuneWork, Watched};

pub(super) fn perform(
    spec: &RunSpec,
    work: &TuneWork,
    mut run: RunRow,
    Resources {
        inputs,
        machine,
        progress,
    }: Resources,
) -> Result<Outcome> {
    let training = &work.training;
    let dataset = inputs.dataset(&spec.dataset, "train")?;
    let outcome = train(spec, work, inputs, machine, progress)?;

    let evals = record(&mut run, training, &outcome);
    let predictions = predictions(&run.run_id, outcome.predictions, &dataset.labels);
    Ok(Outcome {
        run,
        evals,
        predictions,
    })
}

/// Records the cost and the outcome of a training in a run's row; returns its scores as rows.
pub(super) fn record<E: Encoder>(
    run: &mut RunRow,
    training: &Training,
    outcome: &totune_adapt::Outcome<E>,
) -> Vec<EvalRow> {
    run.dtype = training.dtype.label().to_string();
    run.params_total = outcome.params_total as u64;
    run.params_trainable = outcome.params_trainable as u64;
    run.epochs = outcome.epochs as u32;
    run.steps = outcome.steps as u64;
    run.stop_reason = outcome.stop.label().to_string();
    run.train_seconds = outcome.train_seconds;
    run.eval_seconds = outcome.eval_seconds;
    run.cache_seconds = outcome.cache_seconds;
    run.cpu_seconds = outcome.cpu_seconds;
    if let Stop::Diverged(divergence) = &outcome.stop {
        run.status = "diverged".to_string();
        run.error = divergence.to_string();
    }
    let row = |score: &Score| EvalRow {
        run_id: run.run_id.clone(),
        phase: score.phase as u32,
        epoch: score.epoch as u32,
        step: score.step as u64,
        split: score.split.to_string(),
        metric: score.metric.clone(),
        value: score.value,
        n: score.n as u64,
        train_seconds: score.train_seconds,
        is_final: score.is_final,
    };
    outcome.scores.iter().map(row).collect()
}

/// Predictions as rows: one for each example, or for each word of the sentences of test.
fn predictions(run_id: &str, found: Vec<Prediction>, labels: &[String]) -> Vec<PredictionRow> {
    let mut rows: Vec<PredictionRow> = Vec::new();
    for prediction in found {
        let row = |position, gold: String, predicted: String| PredictionRow {
            run_id: run_id.to_string(),
            split: prediction.split.clone(),
            example_id: prediction.example_id.clone(),
            position,
            gold,
            predicted,
            scores: prediction.scores.clone(),
        };
        match (&prediction.gold, &prediction.predicted) {
            // A row per word: those of test are what tables are about.
            (Target::Tags(_), _) if prediction.split != "test" => {}
            (Target::Tags(gold), Target::Tags(predicted)) => {
                // A long sentence is several predictions.
                let before = rows
                    .last()
                    .filter(|row| row.example_id == prediction.example_id);
                let first = before.map_or(0, |row| row.position + 1);
                let words = (first..).zip(gold.iter().zip(predicted));
                let named = |tag: &usize| labels[*tag].clone();
                rows.extend(words.map(|(word, (gold, tag))| row(word, named(gold), named(tag))));
            }
            (gold, predicted) => rows.push(row(0, shown(gold, labels), shown(predicted, labels))),
        }
    }
    rows
}

/// A target as rows have it: the label's name, or the number.
fn shown(target: &Target, labels: &[String]) -> String {
    match target {
        Target::Class(class) => labels[*class].clone(),
        Target::Value(value) => value.to_string(),
        Target::Unknown => String::new(),
        other => unreachable!("a classifier neither learns nor gives {other:?}"),
    }
}

/// Trains with the settings of `spec` and `work`; returns [`Interrupted`] if stopped from outside.
pub(super) fn train(
    spec: &RunSpec,
    work: &TuneWork,
    inputs: &Inputs,
    machine: &Machine,
    progress: &dyn Progress,
) -> Result<totune_adapt::Outcome<AnyEncoder>> {
    let mut watch = Watched::new(spec, machine, progress);
    let outcome = Prepared::new(spec, work, inputs)?.fit(&mut watch)?;
    match outcome.stop {
        Stop::Interrupted => Err(Interrupted.into()),
        Stop::Epochs | Stop::EarlyStopping | Stop::GeneralisationGap | Stop::Diverged(_) => {
            Ok(outcome)
        }
    }
}
