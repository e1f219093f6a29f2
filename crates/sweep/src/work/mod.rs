//! The kinds of work a run can be, one file each.
//!
//! To add one: a variant of [`Work`], a file here that makes an [`Outcome`], and its line in [`perform`]. The rest of
//! the crate does not know what a run does.

use std::time::Instant;

use anyhow::Result;
use cpu_time::ProcessTime;
use totune_record::{EvalRow, PredictionRow, RunRow};

use crate::store::phases::PhaseClock;
use crate::{Inputs, Machine, Progress, RunSpec, Work};

pub(crate) mod checkpoint;
mod divergence;
mod examples;
pub(crate) mod failure;
mod floor;
mod gold;
mod prepared;
mod probe;
mod sparse;
mod splits;
mod tune;

use checkpoint::CheckpointPlace;
pub use examples::HIDDEN;
pub use prepared::Prepared;

/// Result of a run, with its cost.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    /// Filled in by the work: parameters, epochs, steps, seconds, device, dtype, threads, hashes, stop reason, status.
    pub run: RunRow,
    pub evals: Vec<EvalRow>,
    pub predictions: Vec<PredictionRow>,
}

/// Resources of a run.
#[derive(Clone, Copy)]
pub(crate) struct Resources<'a> {
    /// Inputs, loaded once for all runs of a sweep.
    pub inputs: &'a Inputs,
    /// Machine that executes the run.
    pub machine: &'a Machine,
    /// Listener for progress.
    pub progress: &'a dyn Progress,
    /// Checkpoints of the run; `None` where none are written.
    pub checkpoints: Option<CheckpointPlace<'a>>,
    /// Clock of its phases.
    pub phases: &'a PhaseClock,
}

/// Wall seconds, and CPU seconds of all threads of the process, of a part of a run that takes no training step.
struct Stopwatch {
    wall: Instant,
    /// `None` where the system does not say.
    cpu: Option<ProcessTime>,
}

impl Stopwatch {
    fn start() -> Self {
        Self {
            wall: Instant::now(),
            cpu: ProcessTime::try_now().ok(),
        }
    }

    fn seconds(&self) -> f64 {
        self.wall.elapsed().as_secs_f64()
    }

    fn cpu_seconds(&self) -> Option<f64> {
        let spent = self.cpu?.try_elapsed().ok()?;
        Some(spent.as_secs_f64())
    }
}

/// Score of a run at its end, on `n` examples of `split`.
fn final_score(run: &RunRow, (split, n): (&str, usize), metric: &str, value: f64) -> EvalRow {
    EvalRow {
        run_id: run.run_id.clone(),
        phase: 0,
        epoch: run.epochs,
        step: run.steps,
        split: split.to_string(),
        metric: metric.to_string(),
        value,
        n: n as u64,
        train_seconds: run.train_seconds,
        is_final: true,
    }
}

/// Does the work of a run; `run` is its row with everything already known filled in.
pub(crate) fn perform(spec: &RunSpec, run: RunRow, resources: Resources) -> Result<Outcome> {
    let inputs = resources.inputs;
    match &spec.work {
        Work::Sparse(work) => sparse::perform(spec, work, run, inputs),
        Work::Tune(work) => tune::perform(spec, work, run, resources),
        Work::Probe(work) => probe::perform(spec, work, run, resources),
        Work::Divergence(work) => divergence::perform(spec, work, run, inputs),
        Work::Floor(work) => floor::perform(spec, work, run, inputs),
    }
}
