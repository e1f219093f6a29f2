//! Freezing of layers whose gradients have settled (Liu et al. 2021).

use burn::module::{Module, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor};
use totune_model::{PathVisitor, visit_by_path};

use crate::phase::{Freezing, block};
use crate::state::{Exact, NormProgress};

/// Norms of the gradients of the encoder's blocks, epoch by epoch.
#[derive(Debug, Default)]
pub(super) struct GradientNorms {
    /// Sum over the steps of this epoch of the squared norm of each block, the embeddings first.
    squares: Vec<Option<Tensor<1>>>,
    /// Sums of the epoch before.
    before: Vec<f64>,
}

impl GradientNorms {
    /// Adds the gradients of a step.
    pub fn add<M: Module>(&mut self, model: &M, gradients: &GradientsParams) {
        let adder = Adder {
            gradients,
            squares: &mut self.squares,
        };
        visit_by_path(model, adder);
    }

    /// The sums so far as numbers, for a checkpoint.
    pub fn progress(&self) -> NormProgress {
        let read = |sum: &Tensor<1>| Exact(f64::from(sum.clone().into_scalar::<f32>()));
        let squares = self.squares.iter();
        NormProgress {
            squares: squares.map(|sum| sum.as_ref().map(read)).collect(),
            before: self.before.iter().copied().map(Exact).collect(),
        }
    }

    /// The sums at a checkpoint.
    pub fn resumed(progress: &NormProgress, device: &Device) -> Self {
        let sum = |Exact(sum): Exact| Tensor::from_data([sum as f32], device);
        let squares = progress.squares.iter();
        Self {
            squares: squares.map(|square| square.map(sum)).collect(),
            before: progress.before.iter().map(|before| before.0).collect(),
        }
    }

    /// Ends an epoch; returns the lowest block to train from now on, given that of this epoch.
    pub fn freeze(&mut self, rule: Freezing, frozen_below: usize) -> usize {
        let squares = std::mem::take(&mut self.squares).into_iter();
        let read = |sum: Option<Tensor<1>>| sum.map_or(0.0, |sum| sum.into_scalar::<f32>());
        let now: Vec<f64> = squares.map(|sum| f64::from(read(sum))).collect();
        let before = std::mem::replace(&mut self.before, now);
        let changes: Vec<f64> = before
            .iter()
            .zip(&self.before)
            .skip(frozen_below)
            .map(|(before, now)| (before.sqrt() - now.sqrt()).abs() / before.sqrt())
            .collect();
        frozen_below + settled(&changes, rule.share)
    }
}

/// Number of the lowest layers to freeze: those that are among the `share` of all with the least change, up to the first
/// one that is not. The top layer stays.
fn settled(changes: &[f64], share: f64) -> usize {
    let mut sorted = changes.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n_candidates = (share * changes.len() as f64).floor() as usize;
    let Some(most) = n_candidates.checked_sub(1).map(|last| sorted[last]) else {
        return 0;
    };
    let below_top = &changes[..changes.len() - 1];
    below_top
        .iter()
        .take_while(|change| **change <= most)
        .count()
}

struct Adder<'a> {
    gradients: &'a GradientsParams,
    squares: &'a mut Vec<Option<Tensor<1>>>,
}

impl PathVisitor for Adder<'_> {
    fn visit<const D: usize>(&mut self, path: &str, param: &Param<Tensor<D>>) {
        let gradient = self.gradients.get::<D>(param.id);
        let Some((block, gradient)) = block(path).zip(gradient) else {
            return;
        };
        let square = gradient.square().sum();
        if self.squares.len() <= block {
            self.squares.resize(block + 1, None);
        }
        let sum = match self.squares[block].take() {
            Some(sum) => sum + square,
            None => square,
        };
        self.squares[block] = Some(sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_layers_with_the_least_change_are_frozen_up_to_one_that_still_moves() {
        for (changes, share, expected) in [
            (&[0.1, 0.2, 0.3, 0.4][..], 0.5, 2),
            (&[0.1, 0.4, 0.2, 0.3], 0.5, 1),
            (&[0.4, 0.1, 0.2, 0.3], 0.5, 0),
            (&[0.1, 0.2, 0.3, 0.4], 1.0, 3),
            (&[0.1, 0.2, 0.3, 0.4], 0.2, 0),
            (&[0.1], 1.0, 0),
            (&[], 0.5, 0),
        ] {
            assert_eq!(settled(changes, share), expected, "{changes:?}, {share}");
        }
    }
}
