//! One adaptation of one pretrained encoder, with the device to itself.

use anyhow::{Result, anyhow};
use totune_adapt::{Interrupted, Prediction, Score, Stop, Training, release_graphs};
use totune_data::{Dataset, Target, label_sets};
use totune_model::{AnyEncoder, Encoder};
use totune_record::{EvalRow, PredictionRow, RunRow};

use super::checkpoint::RunCheckpoints;
use super::failure::{catch, status_of};
use super::prepared::Prepared;
use super::{Outcome, Resources};
use crate::{CheckpointEvent, RunSpec, TuneWork, Watched};

pub(super) fn perform(
    spec: &RunSpec,
    work: &TuneWork,
    mut run: RunRow,
    resources: Resources,
) -> Result<Outcome> {
    let training = &work.training;
    let dataset = resources.inputs.dataset(&spec.dataset, "train")?;
    let outcome = train(spec, work, &mut run, resources)?;

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

/// A target as rows have it: the label's name, the names of several between bars, or the number.
fn shown(target: &Target, labels: &[String]) -> String {
    match target {
        Target::Class(class) => labels[*class].clone(),
        Target::Labels(several) => label_sets::joined(several, labels),
        Target::Value(value) => value.to_string(),
        Target::Unknown => String::new(),
        other => unreachable!("a classifier neither learns nor gives {other:?}"),
    }
}

/// Trains with the settings of `spec` and `work`, from the checkpoint of the run if there is one; returns
/// [`Interrupted`] if stopped from outside. `run` gets what it has from the part before.
///
/// Where the device runs out of memory, training goes on with half as many examples at once, which is recorded as a
/// score; the second time is an error.
pub(super) fn train(
    spec: &RunSpec,
    work: &TuneWork,
    run: &mut RunRow,
    resources: Resources,
) -> Result<totune_adapt::Outcome<AnyEncoder>> {
    let mut halved = None;
    loop {
        let attempt = || attempt(spec, work, run, resources, &mut halved);
        let error = match catch(attempt) {
            Ok(Ok(outcome)) => return Ok(outcome),
            Ok(Err(error)) => error,
            Err(panic) => anyhow!(panic),
        };
        let is_first = halved.is_none() && status_of(&format!("{error:#}")) == "oom";
        let dataset = resources.inputs.dataset(&spec.dataset, "train")?;
        match half(&work.training, dataset).filter(|_| is_first) {
            None => return Err(error),
            Some(size) => {
                halved = Some(size);
                let event = CheckpointEvent::Halved {
                    micro_batch_size: size,
                };
                resources.progress.checkpoint(&event);
                release_graphs(&resources.machine.device);
            }
        }
    }
}

/// One attempt of [`train`], with `halved` examples at once; that of a process before it is put there.
fn attempt(
    spec: &RunSpec,
    work: &TuneWork,
    run: &mut RunRow,
    resources: Resources,
    halved: &mut Option<usize>,
) -> Result<totune_adapt::Outcome<AnyEncoder>> {
    let Resources {
        inputs,
        machine,
        progress,
        checkpoints,
        phases,
    } = resources;
    let mut watch = Watched::new(spec, machine, progress);
    let mut prepared = phases.preparing(|| Prepared::new(spec, work, inputs, progress))?;
    let open = |place| RunCheckpoints::open(place, run, progress);
    let mut checkpoints = checkpoints.map(open).transpose()?;
    if let Some(checkpoints) = &mut checkpoints {
        checkpoints.add_to(run);
        *halved = checkpoints.micro_batch_size(*halved);
    }
    if let Some(size) = *halved {
        let training = &mut prepared.training;
        training.micro_batch_size = size;
        training.evaluation_batch_size = training.evaluation_batch_size.div_ceil(2);
    }
    let n_train = prepared.task.train.len();
    let mut outcome = match &mut checkpoints {
        None => prepared.fit(&mut watch)?,
        Some(checkpoints) => prepared.fit_resumable(&mut watch, checkpoints)?,
    };
    match outcome.stop {
        Stop::Interrupted => return Err(Interrupted.into()),
        Stop::Epochs | Stop::EarlyStopping | Stop::GeneralisationGap | Stop::Diverged(_) => {}
    }
    let last = outcome.scores.iter().rfind(|score| score.is_final);
    if let Some((size, last)) = halved.zip(last) {
        let recorded = Score {
            split: "train",
            metric: "micro-batch-size".to_string(),
            value: size as f64,
            n: n_train,
            ..last.clone()
        };
        outcome.scores.push(recorded);
    }
    Ok(outcome)
}

/// Half of the examples that pass through the model at once; `None` where the gradient of a batch is not the mean of
/// those of its parts.
fn half(training: &Training, dataset: &Dataset) -> Option<usize> {
    let is_mean = training.indivisible(dataset.task).is_none();
    let size = match training.micro_batch_size {
        0 => training.batch_size,
        size => size.min(training.batch_size),
    };
    (is_mean && size > 1).then(|| size.div_ceil(2))
}
