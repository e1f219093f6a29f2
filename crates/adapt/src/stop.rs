//! Stopping rules of a phase.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use totune_data::more_is_better;

/// Stopping rule of a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case",
    deny_unknown_fields
)]
pub enum StopRule {
    /// No early stopping: all epochs are run.
    Epochs {},
    /// Early stopping: the score on dev has not improved by more than `threshold` on the best before for `patience`
    /// epochs in a row.
    EarlyStopping {
        /// Number of epochs without an improvement.
        patience: usize,
        /// Smallest improvement that counts, in units of the metric.
        threshold: f64,
        /// Name of one of the dataset's metrics; by default its main one.
        #[serde(default)]
        metric: Option<String>,
    },
    /// Generalisation gap: the score on examples of `train` is more than `max_gap` above the one on dev, or dev has
    /// improved by less than `min_improvement` on its best before.
    ///
    /// Both are taken after the epoch, without dropout, on equally many examples: those of `train` are drawn once with
    /// the run's seed, as many as dev has.
    GeneralisationGap {
        /// Largest gap at which training continues, in units of the metric.
        max_gap: f64,
        /// Smallest improvement at which it continues, in units of the metric.
        min_improvement: f64,
        /// Name of one of the dataset's metrics; by default its main one.
        #[serde(default)]
        metric: Option<String>,
    },
}

impl StopRule {
    /// Returns true if it depends on scores on dev.
    pub(crate) fn looks_at_dev(&self) -> bool {
        match self {
            Self::Epochs {} => false,
            Self::EarlyStopping { .. } | Self::GeneralisationGap { .. } => true,
        }
    }

    /// Name of its metric, if it is set.
    pub(crate) fn metric(&self) -> Option<&String> {
        match self {
            Self::Epochs {} => None,
            Self::EarlyStopping { metric, .. } | Self::GeneralisationGap { metric, .. } => {
                metric.as_ref()
            }
        }
    }

    /// Refuses values out of range, naming the key, which starts with `at`.
    pub(crate) fn validate(&self, at: &str) -> Result<()> {
        check_metric(at, self.metric())?;
        let not_negative = |key: &str, found: f64| {
            ensure!(
                found.is_finite() && found >= 0.0,
                "{at}.{key}: found {found}, expected 0 or more"
            );
            Ok(())
        };
        match *self {
            Self::Epochs {} => Ok(()),
            Self::EarlyStopping {
                patience,
                threshold,
                metric: _,
            } => {
                ensure!(
                    patience >= 1,
                    "{at}.patience: found {patience}, expected at least 1"
                );
                not_negative("threshold", threshold)
            }
            Self::GeneralisationGap {
                max_gap,
                min_improvement,
                metric: _,
            } => {
                not_negative("max-gap", max_gap)?;
                not_negative("min-improvement", min_improvement)
            }
        }
    }
}

/// Refuses a metric of which less is better; `at` is where it is named.
pub(crate) fn check_metric(at: &str, metric: Option<&String>) -> Result<()> {
    if let Some(metric) = metric {
        ensure!(
            more_is_better(metric),
            "{at}.metric: found `{metric}`, expected a metric of which more is better"
        );
    }
    Ok(())
}

/// Returns true if the last `patience` of these scores did not improve by more than `threshold` above the best before.
pub(crate) fn has_stopped_improving(scores: &[f64], patience: usize, threshold: f64) -> bool {
    let mut best = f64::NEG_INFINITY;
    let mut stalled = 0;
    for &score in scores {
        stalled = if score > best + threshold {
            0
        } else {
            stalled + 1
        };
        best = best.max(score);
    }
    stalled >= patience
}

/// Returns true if the last of these scores on dev improved by less than `min_improvement` on the best before, or
/// `train` is more than `max_gap` above it.
pub(crate) fn overfits(dev: &[f64], train: f64, max_gap: f64, min_improvement: f64) -> bool {
    let Some((&last, before)) = dev.split_last() else {
        return false;
    };
    let best = before.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    train - last > max_gap || last - best < min_improvement
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plateau_is_so_many_epochs_without_a_rise() {
        for (scores, expected) in [
            (&[0.5][..], false),
            (&[0.5, 0.5], false),
            (&[0.5, 0.5, 0.4], true),
            (&[0.5, 0.4, 0.6, 0.6], false),
            (&[0.5, 0.505, 0.509], true), // each compared with the best so far, which is no improvement of 0.01
            (&[0.5, 0.6, 0.7], false),
        ] {
            assert_eq!(
                has_stopped_improving(scores, 2, 0.01),
                expected,
                "{scores:?}"
            );
        }
    }

    #[test]
    fn train_and_dev_part_by_a_gap_or_by_a_dev_that_no_longer_rises() {
        for (dev, train, expected) in [
            (&[0.5][..], 0.505, false),
            (&[0.5], 0.52, true),
            (&[0.5], 0.1, false),
            (&[0.5, 0.51], 0.515, false),
            (&[0.5, 0.501], 0.505, true),
            (&[0.5, 0.6, 0.55], 0.55, true),
        ] {
            assert_eq!(
                overfits(dev, train, 0.01, 0.002),
                expected,
                "{dev:?} {train}"
            );
        }
    }
}
