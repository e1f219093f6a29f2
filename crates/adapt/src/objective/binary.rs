//! Binary cross-entropy of several outputs: each label applies or not, each step of a scale is passed or not.
//!
//! A label has one output, and its probability is the sigmoid of that. Steps are those of CORN (Shi, Cao and Raschka
//! 2021, "Deep Neural Networks for Rank-Consistent Ordinal Regression Based On Conditional Probabilities"): of `K` labels
//! in an order, output `k` of `K - 1` gives the probability that a label is above `k`, given that it is above `k - 1`,
//! and only examples of which that is true learn from it. The product of the first `k + 1` is the probability of a label
//! above `k`, which never rises with `k`, whatever the outputs are. CORAL (Cao, Mirjalili and Raschka 2020) reaches the
//! same by one weight vector for all steps, which each head would need as a layer of its own.

use burn::tensor::activation::log_sigmoid;
use burn::tensor::{Device, Tensor, TensorData};
use totune_data::Target;
use totune_model::fused::upload;

use super::Predicted;

/// Targets of the outputs for a batch, with the weights of their terms.
pub(super) struct Wanted {
    /// 1 where an output should be positive, 0 elsewhere: `[batch, outputs]`.
    positive: Vec<f32>,
    /// Weight of each term of the loss where the output should be positive, and where it should not.
    weights: Vec<[f32; 2]>,
    outputs: usize,
    /// The number that the sum of the terms is divided by.
    n: usize,
}

impl Wanted {
    /// Each of `n_labels` labels applies or not; a label counts as much as its weight in `weights` where it does.
    pub fn labels<'a>(
        targets: impl Iterator<Item = &'a [usize]>,
        n_labels: usize,
        weights: Option<&[f32]>,
    ) -> Self {
        let mut positive = Vec::new();
        for labels in targets {
            let applies = |label| f32::from(labels.contains(&label));
            positive.extend((0..n_labels).map(applies));
        }
        let weight = |at: usize| weights.map_or(1.0, |weights| weights[at % n_labels]);
        Self {
            weights: (0..positive.len()).map(|at| [weight(at), 1.0]).collect(),
            outputs: n_labels,
            n: positive.len(),
            positive,
        }
    }

    /// Each of `steps` steps is passed, or not reached and without a term.
    pub fn steps(targets: impl Iterator<Item = usize>, steps: usize) -> Self {
        let (mut positive, mut weights) = (Vec::new(), Vec::new());
        for class in targets {
            for step in 0..steps {
                positive.push(f32::from(class > step));
                weights.push([f32::from(class >= step); 2]);
            }
        }
        let terms = weights.iter().filter(|[weight, _]| *weight > 0.0).count();
        Self {
            positive,
            weights,
            outputs: steps,
            n: terms.max(1),
        }
    }

    /// The same on a device.
    pub fn on(self, device: &Device) -> Terms {
        let shape = [self.positive.len() / self.outputs.max(1), self.outputs];
        let tensor =
            |values: Vec<f32>| -> Tensor<2> { upload(TensorData::new(values, shape), device) };
        let pairs = || self.positive.iter().zip(&self.weights);
        Terms {
            of_positive: tensor(pairs().map(|(y, [weight, _])| y * weight).collect()),
            of_negative: tensor(pairs().map(|(y, [_, weight])| (1.0 - y) * weight).collect()),
            n: self.n,
        }
    }
}

/// The terms of the loss of a batch: their weights where an output should be positive and where it should not, both
/// `[batch, outputs]`, and the number that their sum is divided by.
pub(crate) struct Terms {
    of_positive: Tensor<2>,
    of_negative: Tensor<2>,
    n: usize,
}

impl Terms {
    /// Loss of `logits` `[batch, outputs]`; `[1]`: the sum of `-w log σ(x)` where an output `x` should be positive and
    /// `-w log σ(-x)` elsewhere, divided by the number of terms. With all weights 1 it is PyTorch's `BCEWithLogitsLoss`,
    /// and with weights of positive outputs the same with `pos_weight`.
    pub fn cross_entropy(self, logits: Tensor<2>) -> Tensor<1> {
        let terms = log_sigmoid(logits.clone()) * self.of_positive
            + log_sigmoid(logits.neg()) * self.of_negative;
        terms.sum().neg() / self.n as f64
    }
}

/// The labels whose probability is above one half, and the mean loss over the labels.
pub(super) fn labels(logits: &[f32], target: &Target) -> Predicted {
    let applies = |(label, logit): (usize, &f32)| (*logit > 0.0).then_some(label);
    let gold = target.labels();
    let loss = gold.map(|gold| {
        let terms = logits.iter().enumerate();
        let terms = terms.map(|(label, &logit)| loss(logit, gold.contains(&label)));
        terms.sum::<f64>() / logits.len() as f64
    });
    Predicted {
        loss: loss.unwrap_or(0.0),
        predicted: Target::Labels(logits.iter().enumerate().filter_map(applies).collect()),
        scores: logits.iter().map(|&logit| sigmoid(logit) as f32).collect(),
    }
}

/// The number of steps that are passed with a probability above one half, which is the median; the probability of each
/// label; and the mean loss over the steps that the target reaches.
pub(super) fn step(logits: &[f32], target: &Target) -> Predicted {
    let mut above = 1.0;
    let (mut scores, mut predicted) = (Vec::with_capacity(logits.len() + 1), 0);
    for &logit in logits {
        let next = above * sigmoid(logit);
        scores.push((above - next) as f32);
        predicted += usize::from(next > 0.5);
        above = next;
    }
    scores.push(above as f32);
    let loss = target.class().map(|class| {
        let reached = &logits[..logits.len().min(class + 1)];
        let terms = reached.iter().enumerate();
        let terms = terms.map(|(step, &logit)| loss(logit, class > step));
        terms.sum::<f64>() / reached.len() as f64
    });
    Predicted {
        loss: loss.unwrap_or(0.0),
        predicted: Target::Class(predicted),
        scores,
    }
}

fn sigmoid(logit: f32) -> f64 {
    1.0 / (1.0 + (-f64::from(logit)).exp())
}

/// `-log σ(x)` for a positive target, and `-log σ(-x)` for another, without overflow.
fn loss(logit: f32, positive: bool) -> f64 {
    let x = f64::from(if positive { logit } else { -logit });
    (-x.abs()).exp().ln_1p() + (-x).max(0.0)
}
