//! One adaptation of one pretrained encoder, alone on the device.

use std::panic::resume_unwind;
use std::sync::atomic::Ordering;

use anyhow::Result;
use totune_adapt::{
    EpochScores, Examples, KeptExamples, Question, StepEvent, Stop, TaskData, Watch,
};
use totune_data::Target;
use totune_record::{EvalRow, PredictionRow, RunRow};

use super::Outcome;
use crate::execute::Stop as StopFromOutside;
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
    let evals = outcome.scores.into_iter().map(|score| EvalRow {
        run_id: run.run_id.clone(),
        phase: score.phase as u32,
        epoch: score.epoch as u32,
        step: score.step as u64,
        split: score.split.to_string(),
        metric: score.metric.to_string(),
        value: score.value,
        n: score.n as u64,
        train_seconds: score.train_seconds,
        is_final: score.is_final,
    });
    let predictions = outcome
        .predictions
        .into_iter()
        .map(|prediction| PredictionRow {
            run_id: run.run_id.clone(),
            split: prediction.split,
            example_id: prediction.example_id,
            position: 0,
            gold: shown(&prediction.gold, &dataset.labels),
            predicted: shown(&prediction.predicted, &dataset.labels),
            scores: prediction.scores,
        });
    Ok(Outcome {
        evals: evals.collect(),
        predictions: predictions.collect(),
        run,
    })
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
        let max_length = work.training.max_length;
        let encoded = inputs.encoded(&spec.dataset, split, &work.encoder, max_length)?;
        let chosen = || part.iter().map(|&index| &dataset.examples[index]);
        let kept = inputs.kept(spec, work, split, uses)?.into_iter();
        let place = |index| uses.binary_search(index).expect("a part of what is used");
        Ok(Examples {
            ids: chosen().map(|example| example.id.clone()).collect(),
            rows: part.iter().map(|&index| encoded[index].clone()).collect(),
            targets: chosen().map(|example| example.target.clone()).collect(),
            kept: kept
                .map(|activations| KeptExamples {
                    activations,
                    places: part.iter().map(place).collect(),
                })
                .collect(),
        })
    };
    let whole = |split: &str| {
        let n = inputs.dataset(&spec.dataset, split)?.examples.len();
        let all: Vec<usize> = (0..n).collect();
        examples(split, &all, &all)
    };
    let mut uses = [&parts.train[..], &parts.dev, &parts.test].concat();
    uses.sort_unstable();
    let of_train = |part: &[usize]| examples("train", &uses, part);
    let test = match spec.split.test_split() {
        "train" => of_train(&parts.test)?,
        split => {
            let tested = spec.split.tested(inputs.dataset(&spec.dataset, split)?);
            examples(split, &tested, &tested)?
        }
    };
    let predicted = spec.split.predicted().iter();
    let predict = predicted.map(|split| Ok((format!("{HIDDEN}{split}"), whole(split)?)));
    let question = if train.labels.is_empty() {
        Question::Score {}
    } else {
        Question::Class {
            labels: train.labels.clone(),
            positive: train.positive,
        }
    };
    let dev = (!parts.dev.is_empty()).then(|| of_train(&parts.dev));
    Ok(TaskData {
        question,
        metrics: train.metrics.clone(),
        train: of_train(&parts.train)?,
        dev: dev.transpose()?,
        test,
        predict: predict.collect::<Result<_>>()?,
    })
}

/// Passes events on, and stops the run when asked to.
struct Listener<'a> {
    machine: &'a Machine,
    progress: &'a dyn Progress,
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
