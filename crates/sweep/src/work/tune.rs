//! One adaptation of one pretrained encoder, alone on the device.

use std::panic::resume_unwind;
use std::sync::atomic::Ordering;

use anyhow::Result;
use totune_adapt::{
    EpochScores, Examples, KeptExamples, Prediction, Question, Score, StepEvent, Stop, TaskData,
    Training, Watch,
};
use totune_data::{Dataset, Target};
use totune_model::Encoder;
use totune_record::{EvalRow, PredictionRow, RunRow};

use super::Outcome;
use crate::execute::Stop as StopFromOutside;
use crate::inputs::Reading;
use crate::prepared::Prepared;
use crate::{Inputs, Machine, Progress, RunSpec, TuneWork};

pub(super) fn perform(
    spec: &RunSpec,
    work: &TuneWork,
    mut run: RunRow,
    inputs: &Inputs,
    machine: &Machine,
    progress: &dyn Progress,
) -> Result<Outcome> {
    let training = &work.training;
    let dataset = inputs.dataset(&spec.dataset, "train")?;
    let mut watch = Listener { machine, progress };
    let outcome = Prepared::new(spec, work, inputs)?.fit(&machine.device, &mut watch)?;

    let evals = record(&mut run, training, &outcome);
    let predictions = predictions(&run.run_id, outcome.predictions, &dataset.labels);
    Ok(Outcome {
        run,
        evals,
        predictions,
    })
}

/// Notes in a run's row what a training cost and how it ended; its scores as rows.
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

/// What rows put before the name of a split that is answered without being judged on: `test` in rows is what a run was
/// judged on, whatever file that was.
pub const HIDDEN: &str = "hidden-";

/// The examples of a run, with what is kept for them.
pub(crate) fn task_data(spec: &RunSpec, work: &TuneWork, inputs: &Inputs) -> Result<TaskData> {
    let train = inputs.dataset(&spec.dataset, "train")?;
    let parts = spec.split.divide(train, spec.fold)?;
    // `part` of what the run `uses` of a split.
    let examples = |split: &str, uses: &[usize], part: &[usize]| -> Result<Examples> {
        let dataset = inputs.dataset(&spec.dataset, split)?;
        let rows = inputs.rows(
            &spec.dataset,
            split,
            &work.encoder,
            &Reading::of(work, dataset),
        )?;
        let (used, part) = (rows.rows_of(uses), rows.rows_of(part));
        let kept = inputs.kept(spec, work, split, &rows, &used)?.into_iter();
        let place = |row| used.binary_search(row).expect("a part of what is used");
        let example = |&row: &usize| &dataset.examples[rows.example(row)];
        let target = |row: &usize| rows.target(*row, &example(row).target);
        Ok(Examples {
            ids: part.iter().map(|row| example(row).id.clone()).collect(),
            rows: part.iter().map(|&row| rows.encoded[row].clone()).collect(),
            targets: part.iter().map(target).collect(),
            places: part.iter().filter_map(|&row| rows.places(row)).collect(),
            kept: kept
                .map(|activations| KeptExamples {
                    activations,
                    places: part.iter().map(place).collect(),
                })
                .collect(),
        })
    };
    let all_of = |split: &str, chosen: &dyn Fn(&Dataset) -> Vec<usize>| {
        let chosen = chosen(inputs.dataset(&spec.dataset, split)?);
        examples(split, &chosen, &chosen)
    };
    let whole = |dataset: &Dataset| (0..dataset.examples.len()).collect();
    let mut uses = [&parts.train[..], &parts.dev, &parts.test].concat();
    uses.sort_unstable();
    let of_train = |part: &[usize]| examples("train", &uses, part);
    let test = match spec.split.test_split() {
        "train" => of_train(&parts.test)?,
        split => all_of(split, &|dataset| spec.split.tested(dataset))?,
    };
    let dev = match spec.split.dev_split() {
        Some(split) => Some(all_of(split, &|dataset| spec.split.decided(dataset))?),
        None if parts.dev.is_empty() => None,
        None => Some(of_train(&parts.dev)?),
    };
    let predicted = spec.split.predicted().iter();
    let predict = predicted.map(|split| Ok((format!("{HIDDEN}{split}"), all_of(split, &whole)?)));
    Ok(TaskData {
        question: question(train),
        metrics: train.metrics.clone(),
        train: of_train(&parts.train)?,
        dev,
        test,
        predict: predict.collect::<Result<_>>()?,
    })
}

/// What is asked about the examples of a dataset.
fn question(dataset: &Dataset) -> Question {
    let labels = dataset.labels.clone();
    if dataset.tagging.is_some() {
        Question::Tags { labels }
    } else if labels.is_empty() {
        Question::Score {}
    } else {
        Question::Class {
            labels,
            positive: dataset.positive,
        }
    }
}

/// Passes events on, and stops the run when asked to.
pub(super) struct Listener<'a> {
    pub machine: &'a Machine,
    pub progress: &'a dyn Progress,
}

impl Watch for Listener<'_> {
    fn step(&mut self, event: &StepEvent) {
        self.progress.step(event);
        if self.machine.stop.load(Ordering::Relaxed) {
            resume_unwind(Box::new(StopFromOutside));
        }
    }

    fn epoch(&mut self, event: &EpochScores) {
        self.progress.epoch(event);
    }
}
