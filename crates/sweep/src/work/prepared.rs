//! The inputs of one run, for the sweep and for benchmarks that time a run without a store.

use std::path::Path;

use anyhow::{Result, bail};
use totune_adapt::{Checkpoints, Interrupted, Outcome, TaskData, Training, Watch, fit_resumable};
use totune_model::AnyEncoder;

use super::examples::task_data;
use crate::inputs::activation_store::ActivationStore;
use crate::{Environment, Inputs, Progress, RunSpec, Silent, TuneWork, Work};

/// One adaptation of one encoder, ready to run.
#[derive(Debug)]
pub struct Prepared {
    /// The examples, with their cached activations of the frozen part.
    pub task: TaskData,
    /// An encoder of its own with the checkpoint's weights.
    pub encoder: AnyEncoder,
    /// The settings.
    pub training: Training,
    /// Seed of everything random in the run.
    pub seed: u64,
}

impl Prepared {
    pub(super) fn new(
        spec: &RunSpec,
        work: &TuneWork,
        inputs: &Inputs,
        progress: &dyn Progress,
    ) -> Result<Self> {
        Ok(Self {
            task: task_data(spec, work, inputs, progress)?,
            encoder: inputs.encoder(&work.encoder)?.fresh(),
            training: work.training.clone(),
            seed: spec.seed,
        })
    }

    /// Trains the encoder.
    pub fn fit(self, watch: &mut dyn Watch) -> Result<Outcome<AnyEncoder>> {
        self.fit_resumable(watch, &mut ())
    }

    /// Trains the encoder with checkpoints.
    pub(super) fn fit_resumable(
        self,
        watch: &mut dyn Watch,
        checkpoints: &mut dyn Checkpoints,
    ) -> Result<Outcome<AnyEncoder>> {
        let run = (&self.training, self.seed);
        fit_resumable(self.encoder, &self.task, run, watch, checkpoints)
    }
}

impl Inputs {
    /// Loads and verifies the inputs of `specs`, for runs outside a sweep; activations of frozen layers are cached in
    /// `states`.
    ///
    /// # Errors
    /// When something is missing or differs from its card.
    pub fn open<'a>(
        environment: Environment,
        specs: impl IntoIterator<Item = &'a RunSpec>,
        states: &Path,
    ) -> Result<Self> {
        let states = ActivationStore::new(states.to_path_buf(), environment.machine.cache_budget);
        Self::load(environment, specs, states, &Silent)
    }

    /// Prepares a run of `spec`, one of those that these inputs were opened for. The outputs of its frozen part are
    /// computed now or read from the cache. `None` if it was stopped from outside.
    ///
    /// # Errors
    /// When `spec` adapts no encoder, or its inputs were not loaded.
    pub fn prepare(&self, spec: &RunSpec) -> Result<Option<Prepared>> {
        match &spec.work {
            Work::Tune(work) => match Prepared::new(spec, work, self, &Silent) {
                Err(error) if error.is::<Interrupted>() => Ok(None),
                prepared => prepared.map(Some),
            },
            Work::Sparse(_) | Work::Probe(_) | Work::Divergence(_) | Work::Floor(_) => {
                bail!("{}: adapts no encoder", spec.label())
            }
        }
    }
}
