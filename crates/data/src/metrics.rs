//! The metrics that a card may list.

use anyhow::{Result, bail, ensure};

use crate::near::{did_you_mean, quoted};
use crate::{Card, Task};

/// Metrics of every classification.
const CLASSES: [&str; 5] = [
    "accuracy",
    "f1-macro",
    "f1-micro",
    "f1-weighted",
    "matthews",
];
/// Metrics of a classification with a positive label.
const POSITIVE: [&str; 5] = [
    "precision-positive",
    "recall-positive",
    "f1-positive",
    "f1-batch-mean",
    "accuracy-f1",
];
/// The metric that also needs exactly two labels.
const NEGATIVE: &str = "f1-negative";
const REGRESSION: [&str; 5] = [
    "pearson",
    "spearman",
    "spearman-textbook",
    "pearson-spearman",
    "mse",
];
const TAGGING: [&str; 4] = ["span-f1", "span-precision", "span-recall", "token-accuracy"];

impl Task {
    /// The names of all metrics that results of such a task can have, whatever its labels are.
    ///
    /// A tagging dataset also has `span-f1:<type>`.
    pub fn metrics(self) -> Vec<&'static str> {
        match self {
            Self::Classification => {
                let of_two = [&CLASSES[..], &POSITIVE[..], &[NEGATIVE]];
                of_two.concat()
            }
            Self::Regression => REGRESSION.to_vec(),
            Self::Tagging => TAGGING.to_vec(),
        }
    }
}

impl Card {
    /// Checks that results of this task and these labels have each of the metrics.
    pub(crate) fn check_metrics(&self) -> Result<()> {
        ensure!(
            !self.metrics.is_empty(),
            "metrics: found none, expected at least one"
        );
        for metric in &self.metrics {
            let name = metric.as_str();
            if let (Task::Tagging, Some(kind)) = (self.task, name.strip_prefix("span-f1:")) {
                let labels = || self.labels.iter().map(String::as_str);
                ensure!(
                    labels().any(|label| label == kind),
                    "metrics: found `{name}`, but `{kind}` is no label; expected one of {}",
                    quoted(labels())
                );
                continue;
            }
            let known = self.task.metrics();
            if !known.contains(&name) {
                let hint = did_you_mean(name, known.iter().copied());
                bail!(
                    "metrics: unknown metric `{name}`{hint}expected {}",
                    quoted(known)
                );
            }
            ensure!(
                self.positive.is_some() || !(POSITIVE.contains(&name) || name == NEGATIVE),
                "metrics: `{name}` needs a positive label; expected `positive`, one of the labels"
            );
            ensure!(
                name != NEGATIVE || self.labels.len() == 2,
                "metrics: `{name}` needs two labels; found {}",
                self.labels.len()
            );
        }
        Ok(())
    }
}
