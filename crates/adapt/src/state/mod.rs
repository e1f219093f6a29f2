//! The state of a run between two steps: everything that its further course depends on.
//!
//! What follows from the settings, the seed and the number of a step is no part of it: the order of the examples,
//! dropout, the weights that are never trained, cached activations.

mod exact;
mod progress;

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use totune_model::fused::ParameterMoments;

use crate::parameters::Values;
use crate::tensor_file::TensorFile;

pub(crate) use exact::Exact;
pub(crate) use progress::{BestProgress, ClockReading, FailedAttempts, NormProgress, Progress};

/// Key of [`Progress`] in a file's texts.
const PROGRESS: &str = "progress";

/// State of a run after one of its steps.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingState {
    pub(crate) progress: Progress,
    /// Parameters that are trained in any phase, and those of the head.
    pub(crate) weights: Values,
    pub(crate) moments: BTreeMap<String, ParameterMoments>,
    /// Trained parameters of the best epoch so far; none if no epoch was kept.
    pub(crate) best: Values,
    /// States that a recurrent encoder carries to the next batch.
    pub(crate) carried: Values,
}

/// Place where a run saves its state, and from which an interrupted one resumes.
pub trait Checkpoints {
    /// Returns the state from which the run resumes; `None` for a run from the beginning. Called once, first.
    fn resume(&mut self) -> Option<TrainingState> {
        None
    }

    /// Returns true if the state after the step just taken is to be saved; `interrupted` says that the run ends with
    /// this step.
    fn is_due(&mut self, interrupted: bool) -> bool {
        let _ = interrupted;
        false
    }

    /// Saves a state. The run goes on whether or not this succeeds.
    fn save(&mut self, state: TrainingState) {
        let _ = state;
    }
}

/// Saves nothing.
impl Checkpoints for () {}

impl TrainingState {
    /// Number of steps taken, over all phases, since the last restart.
    pub fn step(&self) -> usize {
        self.progress.step
    }

    /// Writes the state into a file, next to the texts that are there.
    ///
    /// # Errors
    /// When a number cannot be written.
    pub fn write(self, file: &mut TensorFile) -> Result<()> {
        let progress = serde_json::to_string(&self.progress)?;
        file.texts.insert(PROGRESS.to_string(), progress);
        file.insert("weights", self.weights);
        file.insert_moments(self.moments)?;
        file.insert("best", self.best);
        file.insert("carried", self.carried);
        Ok(())
    }

    /// Reads the state from a file.
    ///
    /// # Errors
    /// When a part of it is missing or unknown.
    pub fn read(mut file: TensorFile) -> Result<Self> {
        let progress = file.texts.get(PROGRESS).context("no progress")?;
        let read = Self {
            progress: serde_json::from_str(progress).context(PROGRESS)?,
            weights: file.take("weights"),
            moments: file.take_moments()?,
            best: file.take("best"),
            carried: file.take("carried"),
        };
        file.expect_empty()?;
        Ok(read)
    }
}
