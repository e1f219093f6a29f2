//! What one run needs, taken apart: for the sweep, and for benchmarks that time a run without a store.

use std::path::Path;

use anyhow::{Result, bail};
use totune_adapt::{Outcome, TaskData, Training, Watch, fit};
use totune_model::AnyEncoder;

use super::examples::task_data;
use crate::states::States;
use crate::{Environment, Inputs, RunSpec, Silent, TuneWork, Work};

/// One adaptation of one encoder, ready to begin.
#[derive(Debug)]
pub struct Prepared {
    /// The examples, with what is kept of the frozen part for them.
    pub task: TaskData,
    /// As its checkpoint has it, and nobody else's.
    pub encoder: AnyEncoder,
    /// The settings.
    pub training: Training,
    /// Seed of everything random in the run.
    pub seed: u64,
}

impl Prepared {
    pub(super) fn new(spec: &RunSpec, work: &TuneWork, inputs: &Inputs) -> Result<Self> {
        Ok(Self {
            task: task_data(spec, work, inputs)?,
            encoder: inputs.encoder(&work.encoder)?.fresh(),
            training: work.training.clone(),
            seed: spec.seed,
        })
    }

    /// Runs it.
    pub fn fit(self, watch: &mut dyn Watch) -> Result<Outcome<AnyEncoder>> {
        fit(self.encoder, &self.task, &self.training, self.seed, watch)
    }
}

impl Inputs {
    /// Loads and verifies all that `specs` read, for runs outside a sweep; states of frozen layers are kept in `states`.
    ///
    /// # Errors
    /// When something is missing or not what its card says.
    pub fn open<'a>(
        environment: Environment,
        specs: impl IntoIterator<Item = &'a RunSpec>,
        states: &Path,
    ) -> Result<Self> {
        let states = States::new(states.to_path_buf(), environment.machine.cache_budget);
        Self::load(environment, specs, states, &Silent)
    }

    /// A run of `spec`, which is one of those these were opened for. What its frozen part gives is computed now, or
    /// taken from where it was kept.
    ///
    /// # Errors
    /// When `spec` adapts no encoder, or its inputs were not loaded.
    pub fn prepare(&self, spec: &RunSpec) -> Result<Prepared> {
        match &spec.work {
            Work::Tune(work) => Prepared::new(spec, work, self),
            Work::Sparse(_) | Work::Probe(_) | Work::Divergence(_) | Work::Floor(_) => {
                bail!("{}: adapts no encoder", spec.label())
            }
        }
    }
}
