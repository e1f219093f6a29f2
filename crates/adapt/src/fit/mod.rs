//! The training loop: one loop for every strategy, which executes the phases of a plan.
//!
//! [`fit`] sets a run up and goes through its phases; a [`Run`] holds its state. The parts of an epoch have files of
//! their own: `train.rs` takes the steps, `score.rs` scores and records, `decide.rs` makes the decisions based on
//! scores on dev, `resume.rs` saves the state and resumes from it.

mod decide;
mod freeze;
mod l2_sp;
mod learned;
mod probe;
mod restart;
mod resume;
mod score;
mod timing;
mod train;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use anyhow::{Result, ensure};
use burn::module::Module;
use burn::tensor::Device;
use rand::Rng;
use totune_data::{BatchPlan, stream};
use totune_model::fused::{AdamW, resume_products};
use totune_model::{Classifier, Encoder};

use crate::best::Best;
use crate::cache::{CachedActivations, EntryLayer};
use crate::clock::Clock;
use crate::examples::Examples;
use crate::objective::{Objective, Weighting};
use crate::outcome::{Divergence, Outcome, PhaseTime, Prediction, Score, Stop};
use crate::parameters::{deep_copy, device_of, require_gradients, sizes};
use crate::phase::{Assignment, OptimizerState, Phase, Plan};
use crate::state::{Checkpoints, FailedAttempts, TrainingState};
use crate::task::TaskData;
use crate::training::Training;
use crate::watch::Watch;

pub use learned::has_learned;
pub use timing::{TimedPart, time_phases};

use freeze::GradientNorms;
use l2_sp::Pretrained;
use probe::probed;
use resume::{EpochStart, Resumed};

/// Puts a new head on `encoder`, trains with the settings `training`, and scores after every epoch.
///
/// A run that diverges, or on dev has learned nothing, begins again if `training` says so.
///
/// Each phase starts from the model of the one before, with its optimizer state or a new one, as it specifies.
///
/// The run takes place on the encoder's device, which is one without autodiff. All randomness comes from `seed`: the
/// head's initialisation and that of what the strategy adds, the order of the examples, dropout. A loss or gradient
/// that is not finite ends an attempt before its step is applied, and a break of `watch` the run; both are outcomes,
/// not errors.
///
/// # Errors
/// When a setting is out of range for this encoder, a split is empty, or the device fails.
pub fn fit<E: Encoder>(
    encoder: E,
    task: &TaskData,
    training: &Training,
    seed: u64,
    watch: &mut dyn Watch,
) -> Result<Outcome<E>> {
    fit_resumable(encoder, task, (training, seed), watch, &mut ())
}

/// Executes [`fit`], saving the state of the run in `checkpoints`, or resuming from the one that it returns.
///
/// A run that is interrupted after any step and resumes takes the steps of one that is not interrupted: with the same
/// encoder, data, settings and seed, on the same device, its scores and predictions are the same, on a CPU bit for bit.
/// Its seconds are those of the steps that count, so that they add up.
///
/// # Errors
/// As for [`fit`], and when the state is not one of these settings.
pub fn fit_resumable<E: Encoder>(
    encoder: E,
    task: &TaskData,
    (training, seed): (&Training, u64),
    watch: &mut dyn Watch,
    checkpoints: &mut dyn Checkpoints,
) -> Result<Outcome<E>> {
    let plan = training.plan(encoder.n_layers())?;
    let mut state = checkpoints.resume();
    let products = state
        .as_ref()
        .map(|state| state.progress.products.as_deref());
    resume_products(products.flatten());
    let failed = state.as_ref().map(|state| state.progress.failed.clone());
    let mut failed = failed.unwrap_or_default();
    loop {
        let begin = Begin {
            failed: failed.clone(),
            state: state.take(),
        };
        let seed = failed.next_seed(seed);
        let is_last = failed.attempts >= training.restarts;
        let own = if is_last {
            encoder.clone()
        } else {
            deep_copy(&encoder) // another attempt may follow, from the same weights
        };
        let mut outcome = execute(
            own,
            (task, training, seed),
            &plan,
            (&mut *watch, &mut *checkpoints),
            begin,
        )?;
        let has_failed = match outcome.stop {
            Stop::Diverged(_) => true,
            Stop::Interrupted => false, // it resumes
            Stop::Epochs | Stop::EarlyStopping | Stop::GeneralisationGap => {
                !has_learned(&outcome.predictions, &task.objective)
            }
        };
        if is_last || !has_failed {
            if training.restarts > 0 {
                failed.add_to(&mut outcome, task.train.len());
            }
            return Ok(outcome);
        }
        failed.add(&outcome);
    }
}

/// Beginning of an attempt.
#[derive(Default)]
struct Begin {
    /// Attempts that have failed.
    failed: FailedAttempts,
    /// State of this attempt, if it resumes.
    state: Option<TrainingState>,
}

/// Executes an attempt of [`fit_resumable`] with this plan.
fn execute<E: Encoder>(
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
    ensure!(
        !matches!(task.objective, Objective::Ordinal { .. }) || training.micro_batch_size == 0,
        "micro-batch-size: found {}, expected 0 for an ordinal dataset: the loss of a batch is divided by the number of steps \
         that its examples reach",
        training.micro_batch_size
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

/// A phase of a plan, and its assignment of this model's parameters.
struct Stage<'p> {
    phase: &'p Phase,
    assigned: Assignment,
}

/// State of a run, and its results so far.
struct Run<'a> {
    task: &'a TaskData,
    training: &'a Training,
    seed: u64,
    device: &'a Device,
    watch: &'a mut dyn Watch,
    checkpoints: &'a mut dyn Checkpoints,
    /// Attempts before this one.
    failed: FailedAttempts,
    batches: BatchPlan,
    lengths: Vec<usize>,
    steps_per_epoch: usize,
    /// Number of epochs of all phases, at most.
    epochs: usize,
    /// Parameters that are trained in any phase.
    trainable: BTreeSet<String>,
    phase: usize,
    /// Entry layer of its passes.
    start: Option<EntryLayer>,
    /// Weights that the encoder's are pulled towards.
    pretrained: Option<Pretrained>,
    /// Norms of the gradients, where they decide what is frozen.
    norms: Option<GradientNorms>,
    /// Weighting of the loss of a classification.
    weighting: Option<Weighting>,
    /// Factor of the learning rate from a schedule that depends on scores.
    scale: f64,
    /// Sample of the training examples, to compare with dev.
    sample: Option<Examples>,
    best: Best,
    /// Number of finished epochs, over all phases.
    epoch: usize,
    /// Number of steps taken, over all phases.
    step: usize,
    scores: Vec<Score>,
    predictions: Vec<Prediction>,
    train_clock: Clock,
    eval_clock: Clock,
    cache_seconds: f64,
    /// Seconds of fitting the head that training starts from.
    probe_seconds: f64,
    times: Vec<PhaseTime>,
}

impl<'a> Run<'a> {
    fn new(
        (task, training, seed): (&'a TaskData, &'a Training, u64),
        device: &'a Device,
        (watch, checkpoints): (&'a mut dyn Watch, &'a mut dyn Checkpoints),
    ) -> Self {
        let batches = BatchPlan {
            size: training.batch_size,
            bucketing: training.bucketing.is_on(),
        };
        let lengths = task.train.lengths();
        Self {
            steps_per_epoch: batches.shuffled(&lengths, seed, 0).len(),
            task,
            training,
            seed,
            device,
            watch,
            checkpoints,
            failed: FailedAttempts::default(),
            batches,
            lengths,
            epochs: 0,
            trainable: BTreeSet::new(),
            phase: 0,
            start: None,
            pretrained: None,
            norms: None,
            weighting: Weighting::of(&training.loss, &task.objective, &task.train),
            scale: 1.0,
            sample: None,
            best: Best::default(),
            epoch: 0,
            step: 0,
            scores: Vec::new(),
            predictions: Vec::new(),
            train_clock: Clock::new(device),
            eval_clock: Clock::new(device),
            cache_seconds: 0.0,
            probe_seconds: 0.0,
            times: Vec::new(),
        }
    }

    /// Runs the phases, or those that are left of them; returns the final model, and the reason why the last one ended.
    fn phases<E: Encoder>(
        &mut self,
        mut model: Classifier<E>,
        plan: &Plan,
        assignments: &[Assignment],
        mut resumed: Option<Resumed>,
    ) -> Result<(Classifier<E>, Stop)> {
        let n_layers = model.encoder.n_layers();
        let config = self.training.optimizer.config();
        let (mut optimizer, mut stop) = (AdamW::new(&config), Stop::Epochs);
        let first = resumed.as_ref().map_or(0, |at| at.phase);
        ensure!(
            first < plan.phases.len(),
            "phase of the checkpoint: found {first}, expected less than {}",
            plan.phases.len()
        );
        let phases = plan.phases.iter().zip(assignments).enumerate().skip(first);
        for (idx, (phase, assigned)) in phases {
            let start = self.training.entry_layer(assigned, n_layers);
            let mut assigned = assigned.clone();
            let mut epoch = EpochStart::default();
            if let Some(at) = resumed.take() {
                optimizer = at.optimizer;
                self.start = start;
                assigned = assigned.frozen_up_to(at.frozen_below);
                epoch = at.epoch;
            } else {
                // Moments are kept by parameter, so that those of a parameter that is trained in both phases go on.
                if phase.optimizer_state == OptimizerState::Reset {
                    optimizer = AdamW::new(&config);
                }
                self.begin(idx, start);
                self.norms = phase.freezing.map(|_| GradientNorms::default());
            }
            model = require_gradients(model, &|path| assigned.parameters.contains_key(path));
            let stage = Stage { phase, assigned };
            (model, stop) = self.epochs_of(model, &mut optimizer, stage, epoch)?;
            if !stop.is_an_end() {
                break;
            }
        }
        Ok((model, stop))
    }

    /// Starts a phase whose passes may enter at `start`. The time to compute cached activations counts towards the
    /// first phase that uses them.
    fn begin(&mut self, phase: usize, start: Option<EntryLayer>) {
        let paid = self.start;
        self.phase = phase;
        self.start = start;
        self.scale = 1.0;
        let kept = self.task.train.cached(start).filter(|_| paid != start);
        let kept = kept.map_or(0.0, CachedActivations::seconds);
        let cache_seconds = kept + std::mem::take(&mut self.probe_seconds);
        self.cache_seconds += cache_seconds;
        self.train_clock.add(cache_seconds);
        self.times.push(PhaseTime {
            cache_seconds,
            ..PhaseTime::default()
        });
    }

    /// The epochs of a phase from `start` on, until they are over or something ends them.
    fn epochs_of<E: Encoder>(
        &mut self,
        mut model: Classifier<E>,
        optimizer: &mut AdamW,
        mut stage: Stage,
        start: EpochStart,
    ) -> Result<(Classifier<E>, Stop)> {
        let others = start.epoch_of_phase + 1..stage.phase.epochs;
        for start in std::iter::once(start).chain(others.map(EpochStart::of)) {
            let trained;
            (model, trained) = self.train(model, optimizer, &stage, start)?;
            let place = match trained {
                ControlFlow::Continue(place) => place,
                ControlFlow::Break(stop) => return Ok((model, stop)),
            };
            let n_scores = self.scores.len();
            let mean_loss = place.total_loss / self.task.train.len() as f64;
            let scored = self.score(&model.valid(), mean_loss, stage.phase)?;
            if let ControlFlow::Break(stop) = scored {
                if stop == Stop::Interrupted && self.scores.len() == n_scores {
                    self.save_unscored(&model, optimizer, (&stage, place));
                }
                return Ok((model, stop));
            }
            self.offer(&model)?;
            if let Some(stop) = self.ends(&stage.phase.stop)? {
                return Ok((model, stop));
            }
            self.scale = self.scale_after(&stage.phase.schedule)?;
            model = self.freeze(model, &mut stage);
        }
        Ok((model, Stop::Epochs))
    }

    /// Freezes more layers after an epoch where the phase says so, and records how many blocks are frozen.
    fn freeze<E: Encoder>(&mut self, model: Classifier<E>, stage: &mut Stage) -> Classifier<E> {
        let Some((norms, rule)) = self.norms.as_mut().zip(stage.phase.freezing) else {
            return model;
        };
        let before = stage.assigned.frozen_below;
        let block = norms.freeze(rule, before);
        self.push(
            "train",
            "frozen-blocks",
            block as f64,
            self.task.train.len(),
        );
        if block == before {
            return model;
        }
        stage.assigned = stage.assigned.frozen_up_to(block);
        let trained = &stage.assigned.parameters;
        require_gradients(model, &|path| trained.contains_key(path))
    }

    fn diverged(&self, what: &'static str, value: f64) -> Stop {
        Stop::Diverged(Divergence {
            what,
            value,
            phase: self.phase,
            epoch: self.epoch,
            step: self.step,
        })
    }

    /// Outcome of the run; `sizes` are those of all parameters.
    fn outcome<E: Encoder>(
        self,
        model: Classifier<E>,
        stop: Stop,
        sizes: &BTreeMap<String, usize>,
    ) -> Outcome<E> {
        Outcome {
            model,
            scores: self.scores,
            predictions: self.predictions,
            stop,
            restarts: 0,
            params_total: sizes.values().sum(),
            params_trainable: self.trainable.iter().map(|path| sizes[path]).sum(),
            epochs: self.epoch,
            steps: self.step,
            train_seconds: self.train_clock.seconds(),
            cache_seconds: self.cache_seconds,
            cpu_seconds: self.train_clock.cpu_seconds(),
            phases: self.times,
            eval_seconds: self.eval_clock.seconds(),
        }
    }
}
