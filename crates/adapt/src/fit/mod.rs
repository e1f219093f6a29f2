//! The training loop: one loop for every strategy, which executes the phases of a plan.
//!
//! [`fit`] makes attempts (`attempt.rs`) until one learns; each goes through the phases of the plan (`phases.rs`), and a
//! [`Run`] holds its state. The parts of an epoch have files of their own: `train.rs` takes the steps, `score.rs` scores
//! and records, `decide.rs` makes the decisions based on scores on dev, `resume.rs` saves the state and resumes from it.

mod attempt;
mod decide;
mod freeze;
mod l2_sp;
mod learned;
mod phases;
mod probe;
mod restart;
mod resume;
mod score;
mod timing;
mod train;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use burn::tensor::Device;
use totune_data::BatchPlan;
use totune_model::fused::resume_products;
use totune_model::{Classifier, Encoder};

use crate::best::Best;
use crate::cache::EntryLayer;
use crate::clock::Clock;
use crate::examples::Examples;
use crate::objective::Weighting;
use crate::outcome::{Divergence, Outcome, PhaseTime, Prediction, Score, Stop, TEST_LOSS};
use crate::parameters::deep_copy;
use crate::phase::{Assignment, Phase};
use crate::standard::Standard;
use crate::state::{Checkpoints, FailedAttempts};
use crate::task::TaskData;
use crate::training::Training;
use crate::watch::Watch;

pub use learned::has_learned;
pub use timing::{TimedPart, time_phases};

use attempt::{Begin, execute};
use freeze::GradientNorms;
use l2_sp::Pretrained;

/// Puts a new head on `encoder`, trains with the settings `training`, and scores after every epoch.
///
/// A run that diverges, or on dev has learned nothing, begins again if `training` says so.
///
/// Each phase starts from the model of the one before, with its optimizer state or a new one, as it specifies.
///
/// The run takes place on the encoder's device, which is one without autodiff. All randomness comes from `seed`: the
/// head's initialisation and that of what the strategy adds, the order of the examples, dropout. A loss or gradient
/// that is not finite ends an attempt, on a CPU before its step is applied and on a GPU right after it, and a break of
/// `watch` the run; both are outcomes, not errors.
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
    let standard = Standard::of(task, training)?;
    if let Some(standard) = standard {
        let standardised = standard.task(task);
        let outcome = fit_as_given(encoder, &standardised, (training, seed), watch, checkpoints)?;
        return standard.outcome(outcome, task);
    }
    fit_as_given(encoder, task, (training, seed), watch, checkpoints)
}

/// Executes [`fit_resumable`] with the scores of a regression as they are in `task`.
fn fit_as_given<E: Encoder>(
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
        let has_failed = match &outcome.stop {
            // Test examples have no say in which seed is kept.
            Stop::Diverged(diverged) => diverged.what != TEST_LOSS,
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
