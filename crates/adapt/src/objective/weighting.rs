//! Cross-entropy with label smoothing and class weights, with PyTorch's arithmetic.

use burn::tensor::activation::log_softmax;
use burn::tensor::{Int, Tensor, TensorData};

use super::class;
use crate::examples::Examples;
use crate::training::{ClassLoss, ClassWeights};

/// The settings of a loss with the weights that follow from the training examples.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Weighting {
    smoothing: f64,
    /// Weight of each label.
    weights: Vec<f32>,
}

impl Weighting {
    /// `None` for the plain cross-entropy.
    pub fn of(loss: &ClassLoss, n_labels: usize, train: &Examples) -> Option<Self> {
        if loss.is_plain() {
            return None;
        }
        let weights = match loss.class_weights {
            ClassWeights::Equal => vec![1.0; n_labels],
            ClassWeights::Balanced => {
                let mut counts = vec![0_usize; n_labels];
                for row in &train.rows {
                    counts[class(&row.target)] += 1;
                }
                let even = train.len() as f32 / n_labels as f32;
                // A label without training examples is never a target.
                let weight = |&n: &usize| if n == 0 { 0.0 } else { even / n as f32 };
                counts.iter().map(weight).collect()
            }
        };
        Some(Self {
            smoothing: loss.label_smoothing,
            weights,
        })
    }

    /// Loss of `logits` `[batch, labels]` for `targets` `[batch]`; `[1]`.
    ///
    /// With weights `w`, smoothing `ε` and `K` labels, `Σ (1 - ε) w_t (-log p_t) + ε / K Σ_c w_c (-log p_c)` over the
    /// examples, divided by the sum of their `w_t`.
    pub fn cross_entropy(&self, logits: Tensor<2>, targets: Tensor<1, Int>) -> Tensor<1> {
        let [_, n_labels] = logits.dims();
        let weights = TensorData::new(self.weights.clone(), [n_labels]);
        let weights: Tensor<1> = Tensor::from_data(weights, &targets.device());
        let of_targets = weights.clone().select(0, targets.clone()); // [batch]
        let log_p = log_softmax(logits, 1); // [batch, labels]
        let picked: Tensor<2> = log_p.clone().gather(1, targets.unsqueeze_dim(1)); // [batch, 1]
        let of_target = (picked * of_targets.clone().unsqueeze_dim(1)).sum();
        let of_all = (log_p * weights.unsqueeze_dim(0)).sum();
        let spread = self.smoothing / n_labels as f64;
        (of_target * (1.0 - self.smoothing) + of_all * spread).neg() / of_targets.sum()
    }
}
