//! Weights of labels and label smoothing, with PyTorch's arithmetic.

use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Int, Tensor, TensorData};

use super::{Objective, class, labels_of};
use crate::examples::Examples;
use crate::training::{ClassLoss, ClassWeights};

/// The settings of a loss with the weights that follow from the training examples.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Weighting {
    smoothing: f64,
    /// Weight of each label; of one that is learned by itself, that of the examples it applies to.
    weights: Vec<f32>,
}

impl Weighting {
    /// `None` for the plain cross-entropy, and for an objective without labels to weigh.
    pub fn of(loss: &ClassLoss, objective: &Objective, train: &Examples) -> Option<Self> {
        let (Objective::Class { labels, .. } | Objective::Labels { labels }) = objective else {
            return None;
        };
        if loss.is_plain() {
            return None;
        }
        let mut counts = vec![0_usize; labels.len()];
        for row in &train.rows {
            match objective {
                Objective::Labels { .. } => {
                    let labels = labels_of(&row.target).iter();
                    labels.for_each(|&label| counts[label] += 1);
                }
                _ => counts[class(&row.target)] += 1,
            }
        }
        let even = train.len() as f32 / labels.len() as f32;
        let weight = |&n: &usize| match (loss.class_weights, objective) {
            (ClassWeights::Equal, _) => 1.0,
            // A label without training examples is never a target.
            (ClassWeights::Balanced, _) if n == 0 => 0.0,
            // Nothing outweighs a label that always applies.
            (ClassWeights::Balanced, Objective::Labels { .. }) if n == train.len() => 1.0,
            (ClassWeights::Balanced, Objective::Labels { .. }) => {
                (train.len() - n) as f32 / n as f32
            }
            (ClassWeights::Balanced, _) => even / n as f32,
        };
        let weights = counts.iter().map(weight).collect();
        Some(Self {
            smoothing: loss.label_smoothing,
            weights,
        })
    }

    /// Weight of each label.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// The same on a device.
    pub fn on(&self, device: &Device) -> Balance {
        let weights = TensorData::new(self.weights.clone(), [self.weights.len()]);
        Balance {
            smoothing: self.smoothing,
            weights: Tensor::from_data(weights, device),
        }
    }
}

/// The settings of a loss on the device of a model.
pub(crate) struct Balance {
    smoothing: f64,
    /// Weight of each label, `[labels]`.
    weights: Tensor<1>,
}

impl Balance {
    /// Loss of `logits` `[batch, labels]` for `targets` `[batch]`; `[1]`.
    ///
    /// With weights `w`, smoothing `ε` and `K` labels, `Σ (1 - ε) w_t (-log p_t) + ε / K Σ_c w_c (-log p_c)` over the
    /// examples, divided by the sum of their `w_t`.
    pub fn cross_entropy(self, logits: Tensor<2>, targets: Tensor<1, Int>) -> Tensor<1> {
        let [_, n_labels] = logits.dims();
        let weights = self.weights;
        let of_targets = weights.clone().select(0, targets.clone()); // [batch]
        let log_p = log_softmax(logits, 1); // [batch, labels]
        let picked: Tensor<2> = log_p.clone().gather(1, targets.unsqueeze_dim(1)); // [batch, 1]
        let of_target = (picked * of_targets.clone().unsqueeze_dim(1)).sum();
        let of_all = (log_p * weights.unsqueeze_dim(0)).sum();
        let spread = self.smoothing / n_labels as f64;
        (of_target * (1.0 - self.smoothing) + of_all * spread).neg() / of_targets.sum()
    }
}
