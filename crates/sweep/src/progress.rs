//! Progress events of a sweep. Listeners receive everything and influence nothing, except by stopping it.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::Duration;

use totune_adapt::{EpochScores, Score, StepEvent, Watch};

use crate::{Machine, Plan, PlannedRun, RunSpec};

/// Position of a run among those of this sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Counted from 1.
    pub number: usize,
    /// Number of runs that will run.
    pub of: usize,
}

/// Receives the events of a sweep; every method may be called from several threads.
pub trait Progress: Sync {
    /// The sweep begins, or another round of it with a plan that was renewed after searches have ended.
    fn begin(&self, _plan: &Plan) {}

    /// A longer step before the first run, such as loading an encoder.
    fn preparing(&self, _what: &str) {}

    /// A run begins.
    fn started(&self, _position: Position, _run: &PlannedRun) {}

    /// Activations of frozen layers are being computed for a run; called before each batch.
    fn caching(&self, _event: &CachingEvent) {}

    /// An optimiser step of a run that has the machine to itself.
    fn step(&self, _event: &StepEvent) {}

    /// The scores after an epoch of a run that has the machine to itself; for a trial of a search without those on
    /// test.
    fn epoch(&self, _scores: &EpochScores) {}

    /// A checkpoint was written, or a run resumes from one, or cannot.
    fn checkpoint(&self, _event: &CheckpointEvent) {}

    /// A run ended with a status of the run table; see [`Ended`].
    fn finished(&self, _position: Position, _run: &PlannedRun, _ended: &Ended) {}

    /// A run of the plan needs nothing of this process: another one has done it, or owns it.
    fn skipped(&self, _run: &PlannedRun) {}

    /// A run was stopped from outside and has not ended.
    fn stopped(&self, _run: &PlannedRun) {}

    /// The sweep, or the round of it, is over.
    fn end(&self) {}
}

/// Progress of the computation of cached activations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CachingEvent {
    /// Examples that are done, whether now or in a process that was interrupted.
    pub examples: usize,
    /// All of them.
    pub of: usize,
}

impl std::fmt::Display for CachingEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { examples, of } = self;
        write!(f, "caching activations, {examples} of {of} examples")
    }
}

/// Event of the checkpoints of the run that has the machine to itself.
#[derive(Debug, Clone, PartialEq)]
pub enum CheckpointEvent {
    /// The state after a step was written.
    Saved {
        /// Steps taken, over all phases.
        step: usize,
        /// Size of the file.
        bytes: u64,
        /// Duration of writing it.
        took: Duration,
    },
    /// The state after a step could not be written; the run goes on.
    Failed {
        /// The error.
        why: String,
    },
    /// The run resumes from the state after a step.
    Resumed {
        /// Steps taken, over all phases.
        step: usize,
    },
    /// A checkpoint is damaged, or of something else than this run on this machine by this program.
    Ignored {
        /// File, and what was found and expected.
        why: String,
    },
    /// The device ran out of memory, and training goes on in smaller pieces.
    Halved {
        /// Examples that pass through the model at once from now on.
        micro_batch_size: usize,
    },
}

impl std::fmt::Display for CheckpointEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Saved { step, bytes, took } => write!(
                f,
                "checkpoint after step {step}: {:.1} MB in {:.2} s",
                *bytes as f64 / 1e6,
                took.as_secs_f64()
            ),
            Self::Failed { why } => write!(f, "no checkpoint could be written: {why}"),
            Self::Resumed { step } => write!(f, "resuming after step {step} from a checkpoint"),
            Self::Ignored { why } => write!(f, "a checkpoint is ignored: {why}"),
            Self::Halved { micro_batch_size } => write!(
                f,
                "out of memory; {micro_batch_size} examples at once from now on, the gradient is still that of the batch"
            ),
        }
    }
}

/// Outcome of one run.
#[derive(Debug, Clone)]
pub struct Ended {
    /// `ok`, `diverged`, `oom` or `failed`.
    pub status: String,
    /// Error message in one line; empty when `ok`.
    pub error: String,
    /// Score that summarises the run.
    pub score: Option<EndScore>,
    /// Duration of the run.
    pub took: Duration,
}

/// A score by the main metric of the dataset: on test, or on dev for a trial of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct EndScore {
    /// `dev` or `test`.
    pub split: String,
    /// Name of the metric.
    pub metric: String,
    /// The score.
    pub value: f64,
}

/// Ignores all events.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {}

/// Several listeners that receive the same events in order.
pub struct Listeners<'a>(pub Vec<&'a dyn Progress>);

impl Progress for Listeners<'_> {
    fn begin(&self, plan: &Plan) {
        self.0.iter().for_each(|one| one.begin(plan));
    }

    fn preparing(&self, what: &str) {
        self.0.iter().for_each(|one| one.preparing(what));
    }

    fn started(&self, position: Position, run: &PlannedRun) {
        self.0.iter().for_each(|one| one.started(position, run));
    }

    fn caching(&self, event: &CachingEvent) {
        self.0.iter().for_each(|one| one.caching(event));
    }

    fn step(&self, event: &StepEvent) {
        self.0.iter().for_each(|one| one.step(event));
    }

    fn epoch(&self, scores: &EpochScores) {
        self.0.iter().for_each(|one| one.epoch(scores));
    }

    fn checkpoint(&self, event: &CheckpointEvent) {
        self.0.iter().for_each(|one| one.checkpoint(event));
    }

    fn finished(&self, position: Position, run: &PlannedRun, ended: &Ended) {
        let all = self.0.iter();
        all.for_each(|one| one.finished(position, run, ended));
    }

    fn skipped(&self, run: &PlannedRun) {
        self.0.iter().for_each(|one| one.skipped(run));
    }

    fn stopped(&self, run: &PlannedRun) {
        self.0.iter().for_each(|one| one.stopped(run));
    }

    fn end(&self) {
        self.0.iter().for_each(|one| one.end());
    }
}

/// Passes on the events of a run's training, and ends it when the machine is to stop.
pub struct Watched<'a> {
    machine: &'a Machine,
    progress: &'a dyn Progress,
    is_trial: bool,
}

impl<'a> Watched<'a> {
    /// Listener for the run `spec` on `machine`.
    pub fn new(spec: &RunSpec, machine: &'a Machine, progress: &'a dyn Progress) -> Self {
        Self {
            machine,
            progress,
            is_trial: spec.is_trial(),
        }
    }
}

impl Watch for Watched<'_> {
    fn step(&mut self, event: &StepEvent) -> ControlFlow<()> {
        self.progress.step(event);
        self.scoring()
    }

    fn scoring(&mut self) -> ControlFlow<()> {
        if self.machine.stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn epoch(&mut self, event: &EpochScores) -> ControlFlow<()> {
        // A user who watches a search must not choose by test.
        let shown = |score: &&Score| !self.is_trial || score.split != "test";
        let scores: Vec<Score> = event.scores.iter().filter(shown).cloned().collect();
        self.progress.epoch(&EpochScores {
            scores: &scores,
            ..event.clone()
        });
        ControlFlow::Continue(())
    }
}
