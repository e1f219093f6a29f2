//! Tasks: datasets with the metric that each is judged by.

use anyhow::{Result, bail};
use serde::Deserialize;

use crate::plan::{Plan, Where};
use crate::toml_file::did_you_mean;

/// A task: one dataset, whole or in part, and the score it is judged by.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Task {
    /// Title on the page.
    pub title: String,
    /// Names of dataset cards, of all profiles: `["qqp", "qqp-subset", "fixture-questions"]`.
    pub datasets: Vec<String>,
    /// The metric it is judged by, such as `f1-positive`.
    pub metric: String,
    /// Name of that metric on an axis: `F1`.
    pub unit: String,
    /// Sets of tasks it belongs to, in free words: `["large"]`.
    #[serde(default)]
    pub among: Vec<String>,
}

impl Task {
    /// Conditions on a run of this task.
    pub fn conditions(&self) -> Where {
        let datasets = self.datasets.iter().cloned().map(toml::Value::String);
        Where::from([("dataset".to_owned(), toml::Value::Array(datasets.collect()))])
    }
}

/// A selection of tasks: names, or a set of them, or neither for all.
#[derive(Debug, Clone, Copy)]
pub struct Tasks<'a> {
    /// Names of tasks; none for all, or for those of the set.
    pub names: &'a [String],
    /// The name of a set of tasks.
    pub among: Option<&'a String>,
}

impl Tasks<'_> {
    /// The selected tasks of `plan`, in the order given, or in the plan's; `from` prefixes errors.
    pub fn of<'p>(self, plan: &'p Plan, from: &str) -> Result<Vec<&'p Task>> {
        match (self.names, self.among) {
            ([], Some(set)) => {
                let found: Vec<&Task> = plan
                    .tasks
                    .values()
                    .filter(|task| task.among.contains(set))
                    .collect();
                if found.is_empty() {
                    let sets = plan.tasks.values().flat_map(|task| &task.among);
                    let near = did_you_mean(set, sets.map(String::as_str));
                    bail!("{from}: no task of report.toml is among `{set}`{near}");
                }
                Ok(found)
            }
            (names, None) => plan.tasks_named(names, from),
            (_, Some(set)) => bail!(
                "{from}: found `tasks` and `among = \"{set}\"`, expected one of them or neither"
            ),
        }
    }
}
