//! Settings of a pass of a batch through a model.

use std::cell::Cell;

/// Inner results of a sublayer that its backward pass reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Activations {
    /// Kept from the forward pass.
    #[default]
    Kept,
    /// Computed again from the input of the sublayer in the backward pass (gradient checkpointing, Chen et al. 2016),
    /// which saves memory and costs a second forward pass; the gradients are the same. Sublayers that are not single
    /// operations keep theirs.
    Recomputed,
}

/// Settings of the pass of one batch through a model: dropout, and the frozen part of the encoder.
///
/// Blocks are counted from the bottom: 0 is the embeddings, `i` is `layers[i - 1]`.
#[derive(Debug, Clone)]
pub struct Pass {
    /// Dropout.
    pub training: bool,
    /// Lowest block with a trainable parameter; the blocks below it run without building a graph.
    pub frozen_below: usize,
    /// Dropout in the frozen blocks, as in PyTorch after `requires_grad = False`.
    pub frozen_dropout: bool,
    /// Inner results of layers for the backward pass; only some encoders compute them again:
    /// [`Encoder::recomputes`](crate::Encoder::recomputes).
    pub activations: Activations,
    seed: u64,
    draws: Cell<u64>,
}

impl Pass {
    /// Returns a pass without dropout or gradients.
    pub fn evaluation() -> Self {
        Self {
            training: false,
            frozen_below: 0,
            frozen_dropout: false,
            activations: Activations::Kept,
            seed: 0,
            draws: Cell::new(0),
        }
    }

    /// Returns a pass with dropout, drawn from `seed` (a new one for each step).
    pub fn training(seed: u64) -> Self {
        Self {
            training: true,
            seed,
            ..Self::evaluation()
        }
    }

    /// Returns the same pass with the blocks below `frozen_below` frozen.
    pub fn frozen(mut self, frozen_below: usize, frozen_dropout: bool) -> Self {
        self.frozen_below = frozen_below;
        self.frozen_dropout = frozen_dropout;
        self
    }

    /// Returns the same pass with such inner results of layers for the backward pass.
    pub fn with(mut self, activations: Activations) -> Self {
        self.activations = activations;
        self
    }

    /// Returns the dropout rate in `block`, given the model's own rate.
    pub(crate) fn rate(&self, block: usize, rate: f64) -> f64 {
        let on = self.training && (block >= self.frozen_below || self.frozen_dropout);
        if on { rate } else { 0.0 }
    }

    /// Continues as after `n` draws: the blocks that would have made them are skipped because their states are cached,
    /// and the dropout above them stays the same.
    pub(crate) fn skip_to(&self, n: u64) {
        self.draws.set(n);
    }

    /// Draws a new seed for the next dropout of this pass.
    pub(crate) fn draw(&self) -> u64 {
        let draw = self.draws.get();
        self.draws.set(draw + 1);
        mix(self.seed ^ mix(draw))
    }
}

/// The finaliser of SplitMix64: neighbouring inputs give unrelated outputs.
pub(crate) fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropout_is_off_in_evaluation_and_by_choice_in_frozen_blocks() {
        let rates = |pass: Pass| [0, 1, 2].map(|block| pass.rate(block, 0.1));
        assert_eq!(rates(Pass::evaluation()), [0.0, 0.0, 0.0]);
        assert_eq!(rates(Pass::training(1)), [0.1, 0.1, 0.1]);
        assert_eq!(rates(Pass::training(1).frozen(2, true)), [0.1, 0.1, 0.1]);
        assert_eq!(rates(Pass::training(1).frozen(2, false)), [0.0, 0.0, 0.1]);
    }

    #[test]
    fn every_draw_of_a_pass_is_new_and_the_sequence_repeats_with_the_seed() {
        let draws = |seed| {
            let pass = Pass::training(seed);
            [pass.draw(), pass.draw(), pass.draw()]
        };
        let [a, b, c] = draws(5);
        assert!(a != b && b != c && a != c);
        assert_eq!(draws(5), [a, b, c]);
        assert_ne!(draws(6)[0], a);
    }
}
