//! Sampling units of claims.

use serde::Deserialize;

/// Sampling unit: the source of variation from value to value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Runs that differ in their seed; those that share one are averaged first.
    #[default]
    Seed,
    /// Folds of one cross-validation, which share training examples.
    Fold,
    /// Tasks, as samples of tasks in general.
    Dataset,
}

impl Unit {
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Seed => "seed",
            Self::Fold => "fold",
            Self::Dataset => "task",
        }
    }
}
