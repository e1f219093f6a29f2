//! An attempt: a model and its plan are made, the phases run, and the chosen model is scored.

use std::ops::ControlFlow;

use anyhow::{Result, ensure};
use burn::module::Module;
use burn::tensor::Device;
use rand::Rng;
use totune_data::stream;
use totune_model::{Classifier, Encoder};

use super::Run;
use super::l2_sp::Pretrained;
use super::probe::probed;
use crate::objective::Objective;
use crate::outcome::Outcome;
use crate::parameters::{device_of, sizes};
use crate::phase::Plan;
use crate::state::{Checkpoints, FailedAttempts, TrainingState};
use crate::task::TaskData;
use crate::training::Training;
use crate::watch::Watch;

/// Beginning of an attempt.
#[derive(Default)]
pub(super) struct Begin {
    /// Attempts that have failed.
    pub failed: FailedAttempts,
    /// State of this attempt, if it resumes.
    pub state: Option<TrainingState>,
}

/// Executes an attempt of [`fit_resumable`](super::fit_resumable) with this plan.
pub(super) fn execute<E: Encoder>(
    encoder: E,
    (task, training, seed): (&TaskData, &Training, u64),
    plan: &Plan,
    (watch, checkpoints): (&mut dyn Watch, &mut dyn Checkpoints),
    begin: Begin,
) -> Result<Outcome<E>> {
    check(&encoder, task, training)?;
    let device = device_of(&encoder)?;
    let pretrained = Pretrained::of(&encoder, training.l2_sp, &device);
    let model = classifier(encoder, plan, (task, training, seed), &device)?;
    let (model, probe_seconds) = match &plan.probe {
        // A state has the head of the probe, or what became of it.
        Some(probe) if begin.state.is_none() => probed(model, (task, training), probe)?,
        _ => (model, 0.0),
    };
    let model = model.train();
    let sizes = sizes(&model);
    let paths: Vec<String> = sizes.keys().cloned().collect();
    let assignments = plan.assign(&paths, model.encoder.n_layers())?;
    let mut run = Run::new((task, training, seed), &device, (watch, checkpoints));
    run.failed = begin.failed;
    run.probe_seconds = probe_seconds;
    run.epochs = plan.phases.iter().map(|phase| phase.epochs).sum();
    let trained = assignments.iter().flat_map(|phase| phase.parameters.keys());
    run.trainable = trained.cloned().collect();
    run.pretrained = pretrained.map(|pretrained| pretrained.among(&run.trainable));
    let (model, resumed) = match begin.state {
        None => (model, None),
        Some(state) => {
            let (model, resumed) = run.resume(model, state)?;
            (model, Some(resumed))
        }
    };
    let (mut model, mut stop) = run.phases(model, plan, &assignments, resumed)?;
    if stop.is_an_end() {
        model = run.select(model);
        let snapshot = model.valid();
        match run.score_final(&snapshot)? {
            ControlFlow::Continue(()) => run.predict(&snapshot)?,
            ControlFlow::Break(diverged) => stop = diverged,
        }
    }
    if !stop.is_an_end() {
        run.predictions.clear();
    }
    Ok(run.outcome(model, stop, &sizes))
}

/// Refuses combinations of encoder, task and settings that do not fit together.
fn check<E: Encoder>(encoder: &E, task: &TaskData, training: &Training) -> Result<()> {
    task.check()?;
    ensure!(
        training.head.is_tagger() == task.objective.is_about_words(),
        "head: found `{}`, which {}",
        training.head.label(),
        if training.head.is_tagger() {
            "tags words; the dataset asks about whole examples"
        } else {
            "answers for whole examples; the dataset asks about words, which `kind = \"tagger\"` is for"
        }
    );
    training.loss.check_for(task.objective.task())?;
    training.check_checkpointing(encoder.recomputes())?;
    training.check_micro_batches(task.objective.task())?;
    ensure!(
        !(training.standardise_scores.is_on()
            && matches!(task.objective, Objective::Score {})
            && !training.head.ends_linear()),
        "standardise-scores: found \"on\" with the head `{}`, whose last layer is not linear, expected `off`",
        training.head.label()
    );
    ensure!(
        training.state.is_reset() || encoder.has_state(),
        "state: found \"carry\", which needs an encoder with recurrent layers, such as ELMo; expected \"reset\" for this one"
    );
    Ok(())
}

/// The encoder as the run trains it, with a new head.
fn classifier<E: Encoder>(
    encoder: E,
    plan: &Plan,
    (task, training, seed): (&TaskData, &Training, u64),
    device: &Device,
) -> Result<Classifier<E>> {
    let encoder = encoder
        .with_dropout(training.dropout)
        .with_precision(training.dtype.precision())
        .with_state(training.state);
    let encoder = plan.prepare(encoder, seed)?;
    let head_seed = stream(seed, "head", 0).next_u64();
    let n_outputs = task.objective.n_outputs();
    let model = Classifier::new(encoder, &training.head, n_outputs, head_seed, device)?;
    Ok(model)
}
