//! Weighting of the loss of labels, a fact of a dataset whose labels are noisy or rare.

use crate::Task;
use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

/// Weighting of the cross-entropy of a classification or a multi-label task over labels and examples while training.
/// Scores on dev and test are those of the plain cross-entropy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ClassLoss {
    /// Share of the target's probability that is spread evenly over all labels (Szegedy et al. 2016, section 7); only of
    /// a classification.
    #[serde(default)]
    pub label_smoothing: f64,
    /// Weight of the examples of a label.
    #[serde(default)]
    pub class_weights: ClassWeights,
}

/// Weight of the examples of a label.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClassWeights {
    /// Every example counts the same.
    #[default]
    Equal,
    /// Every label counts the same: `n / (labels · n_label)` by the counts of the training examples, as in scikit-learn's
    /// `class_weight="balanced"`. Of a multi-label task the examples that a label applies to count as much as those that
    /// it does not: `(n - n_label) / n_label`, PyTorch's `pos_weight`.
    Balanced,
}

impl ClassLoss {
    /// The plain cross-entropy.
    pub const PLAIN: Self = Self {
        label_smoothing: 0.0,
        class_weights: ClassWeights::Equal,
    };

    /// Returns true if this is the plain cross-entropy.
    pub fn is_plain(&self) -> bool {
        *self == Self::PLAIN
    }

    /// Refuses values out of range.
    ///
    /// # Errors
    /// When one is.
    pub fn check(&self) -> Result<()> {
        let smoothing = self.label_smoothing;
        ensure!(
            (0.0..1.0).contains(&smoothing),
            "loss.label-smoothing: found {smoothing}, expected from 0 to less than 1"
        );
        Ok(())
    }

    /// Refuses settings that `task` has no use for.
    ///
    /// # Errors
    /// When there is one.
    pub fn check_for(&self, task: Task) -> Result<()> {
        let (weights, smoothing) = match task {
            Task::Classification => (true, true),
            Task::MultiLabel => (true, false),
            Task::Ordinal | Task::Regression | Task::Tagging => (false, false),
        };
        let word = task.word();
        ensure!(
            smoothing || self.label_smoothing == 0.0,
            "loss.label-smoothing: found {}, which is for classification; expected 0, since the task is {word}",
            self.label_smoothing
        );
        ensure!(
            weights || self.class_weights == ClassWeights::Equal,
            "loss.class-weights: found \"balanced\", which is for classification and multi-label tasks; expected \"equal\", \
             since the task is {word}"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_and_smoothing_are_refused_where_no_label_can_have_them() {
        let smooth = ClassLoss {
            label_smoothing: 0.1,
            ..ClassLoss::PLAIN
        };
        let balanced = ClassLoss {
            class_weights: ClassWeights::Balanced,
            ..ClassLoss::PLAIN
        };
        for task in Task::ALL {
            let refused = |loss: ClassLoss| loss.check_for(task).is_err();
            let expected = match task {
                Task::Classification => (false, false),
                Task::MultiLabel => (true, false),
                Task::Ordinal | Task::Regression | Task::Tagging => (true, true),
            };
            assert_eq!((refused(smooth), refused(balanced)), expected, "{task:?}");
            assert!(!refused(ClassLoss::PLAIN));
        }
        let error = balanced.check_for(Task::Ordinal).expect_err("refused");
        assert_eq!(
            error.to_string(),
            "loss.class-weights: found \"balanced\", which is for classification and multi-label tasks; expected \"equal\", \
             since the task is ordinal"
        );
    }
}
