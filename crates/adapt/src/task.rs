//! Data of a run: training and evaluation examples in named splits.

use anyhow::{Result, ensure};

use crate::examples::Examples;
use crate::objective::Objective;

/// The data of one run.
#[derive(Debug, Clone)]
pub struct TaskData {
    /// Prediction target of each example.
    pub objective: Objective,
    /// Metrics to report, the main one first, which is the default of stopping rules.
    pub metrics: Vec<String>,
    /// The training examples.
    pub train: Examples,
    /// The dev (validation) examples, if there are any: decisions during training look at them.
    pub dev: Option<Examples>,
    /// The test examples, on which the result is measured.
    pub test: Examples,
    /// Splits that the final model predicts without being evaluated on them, by name.
    pub predict: Vec<(String, Examples)>,
}

impl TaskData {
    /// Returns the splits with known targets besides train.
    pub(crate) fn scored(&self) -> impl Iterator<Item = (&'static str, &Examples)> {
        let dev = self.dev.iter().map(|examples| ("dev", examples));
        dev.chain([("test", &self.test)])
    }

    /// Refuses data that the loop cannot handle.
    pub(crate) fn check(&self) -> Result<()> {
        let parts = [("train", &self.train)].into_iter().chain(self.scored());
        for (split, examples) in parts {
            ensure!(!examples.is_empty(), "the {split} split has no examples");
            self.objective.check(split, examples)?;
        }
        Ok(())
    }
}
