//! The metrics that a card may list.

use anyhow::{Result, bail, ensure};

use crate::{Card, Task};
use totune_toml::{did_you_mean, quoted};

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
/// Metrics of every multi-label dataset.
const LABEL_SETS: [&str; 5] = ["f1-micro", "f1-macro", "exact-match", "map", "lrap"];
const ORDINAL: [&str; 4] = ["quadratic-kappa", "mae", "accuracy", "f1-macro"];
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
    /// A tagging dataset also has `span-f1:<type>`, and a multi-label dataset `f1:<label>` and `ap:<label>`.
    pub fn metrics(self) -> Vec<&'static str> {
        match self {
            Self::Classification => {
                let of_two = [&CLASSES[..], &POSITIVE[..], &[NEGATIVE]];
                of_two.concat()
            }
            Self::MultiLabel => LABEL_SETS.to_vec(),
            Self::Ordinal => ORDINAL.to_vec(),
            Self::Regression => REGRESSION.to_vec(),
            Self::Tagging => TAGGING.to_vec(),
        }
    }

    /// The label or type that a metric of one of them is about, such as `PER` of `span-f1:PER`.
    fn label_of(self, metric: &str) -> Option<&str> {
        let prefixes: &[&str] = match self {
            Self::Tagging => &["span-f1:"],
            Self::MultiLabel => &["f1:", "ap:"],
            Self::Classification | Self::Ordinal | Self::Regression => &[],
        };
        let mut prefixes = prefixes.iter();
        prefixes.find_map(|prefix| metric.strip_prefix(prefix))
    }
}

/// Returns whether more of this score is better; of an error or a loss, less is.
pub fn more_is_better(metric: &str) -> bool {
    !["loss", "mae", "mse"].contains(&metric)
}

impl Card {
    /// Checks that results of this task and these labels have each of the metrics.
    pub(crate) fn check_metrics(&self) -> Result<()> {
        ensure!(
            !self.metrics.is_empty(),
            "metrics: found none, expected at least one"
        );
        let first = self.metrics[0].as_str();
        ensure!(
            more_is_better(first),
            "metrics: `{first}` first; expected a metric of which more is better, such as `{}`",
            self.task.metrics()[0]
        );
        for metric in &self.metrics {
            let name = metric.as_str();
            if let Some(kind) = self.task.label_of(name) {
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
