//! Loss of a classification: label smoothing and class weights.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

/// Weighting of the cross-entropy of a classification over labels and examples while training. Scores on dev and test
/// are those of the plain cross-entropy.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ClassLoss {
    /// Share of the target's probability that is spread evenly over all labels (Szegedy et al. 2016, section 7).
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
    /// `class_weight="balanced"`.
    Balanced,
}

impl ClassLoss {
    /// Returns true if this is the plain cross-entropy.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn validate(&self, micro_batch_size: usize) -> Result<()> {
        let smoothing = self.label_smoothing;
        ensure!(
            (0.0..1.0).contains(&smoothing),
            "loss.label-smoothing: found {smoothing}, expected from 0 to less than 1"
        );
        ensure!(
            self.class_weights == ClassWeights::Equal || micro_batch_size == 0,
            "loss.class-weights: found \"balanced\" with micro-batch-size = {micro_batch_size}, expected 0: the loss of a batch is \
             divided by the weights of its examples"
        );
        Ok(())
    }
}
