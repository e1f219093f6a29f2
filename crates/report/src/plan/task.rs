//! Tasks: what is shown or claimed of each of several datasets.

use serde::Deserialize;

use crate::plan::Where;

/// A task: one dataset, whole or in part, and the score it is judged by.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Task {
    pub(crate) title: String,
    /// Names of dataset cards, of all profiles: `["qqp", "qqp-subset", "fixture-questions"]`.
    pub(crate) datasets: Vec<String>,
    /// The metric it is judged by, such as `f1-positive`.
    pub(crate) metric: String,
    /// What an axis calls that metric: `F1`.
    pub(crate) unit: String,
    /// Sets of tasks it belongs to, in free words: `["large"]`.
    #[serde(default)]
    pub(crate) among: Vec<String>,
}

impl Task {
    /// What a run of this task meets.
    pub(crate) fn conditions(&self) -> Where {
        let datasets = self.datasets.iter().cloned().map(toml::Value::String);
        Where::from([("dataset".to_owned(), toml::Value::Array(datasets.collect()))])
    }
}
