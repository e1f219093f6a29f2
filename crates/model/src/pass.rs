//! What goes into an encoder: a padded batch of tokens, and how to pass it through.

use std::cell::Cell;

use burn::tensor::{Device, Int, Tensor, TensorData};

/// A padded batch on a device.
#[derive(Debug, Clone)]
pub struct TokenBatch {
    /// Wordpiece ids, `[batch, seq]`.
    pub ids: Tensor<2, Int>,
    /// Segment of each piece, 0 or 1, `[batch, seq]`.
    pub type_ids: Tensor<2, Int>,
    /// 1 for a real piece, 0 for padding, `[batch, seq]`; none where nothing is padded.
    pub mask: Option<Tensor<2>>,
    /// Character ids of each word, `[batch, seq, 50]`, for encoders that read those.
    pub characters: Option<Tensor<3, Int>>,
    /// Whether the two texts of a pair, though in one row, do not see each other; `type_ids` tell them apart.
    pub apart: bool,
}

impl TokenBatch {
    /// Puts a row-major `[batch, seq]` batch on `device`.
    ///
    /// # Panics
    /// When a slice does not have `batch * seq` elements.
    pub fn new(
        ids: Vec<i64>,
        type_ids: Vec<i64>,
        mask: &[bool],
        shape: [usize; 2],
        device: &Device,
    ) -> Self {
        let n = shape[0] * shape[1];
        assert!(
            ids.len() == n && type_ids.len() == n && mask.len() == n,
            "a batch of shape {shape:?} needs {n} ids, type ids and mask values, got {}, {}, {}",
            ids.len(),
            type_ids.len(),
            mask.len()
        );
        let padded = mask.iter().any(|real| !real);
        let mask = padded.then(|| {
            let values: Vec<f32> = mask.iter().map(|&real| f32::from(u8::from(real))).collect();
            Tensor::from_data(TensorData::new(values, shape), device)
        });
        Self {
            ids: Tensor::from_data(TensorData::new(ids, shape), device),
            type_ids: Tensor::from_data(TensorData::new(type_ids, shape), device),
            mask,
            characters: None,
            apart: false,
        }
    }

    /// `[batch, seq]`.
    pub fn shape(&self) -> [usize; 2] {
        self.ids.dims()
    }

    /// The same batch outside any graph.
    pub(crate) fn inner(&self) -> Self {
        Self {
            ids: self.ids.clone().inner(),
            type_ids: self.type_ids.clone().inner(),
            mask: self.mask.clone().map(Tensor::inner),
            characters: self.characters.clone().map(Tensor::inner),
            ..self.clone()
        }
    }

    /// The mask as weights, `[batch, seq]`: ones where nothing is padded.
    pub fn weights(&self) -> Tensor<2> {
        match &self.mask {
            Some(mask) => mask.clone(),
            None => Tensor::ones(self.shape(), &self.ids.device()),
        }
    }
}

/// How one batch passes through a model: with or without dropout, and which part of the encoder is frozen.
///
/// Blocks are counted from the bottom: 0 is the embeddings, `i` is `layers[i - 1]`.
#[derive(Debug, Clone)]
pub struct Pass {
    /// Whether dropout is on.
    pub training: bool,
    /// Blocks below this one have no trainable parameter; they run without building a graph.
    pub frozen_below: usize,
    /// Whether dropout stays on in the frozen blocks, as in PyTorch after `requires_grad = False`.
    pub frozen_dropout: bool,
    seed: u64,
    draws: Cell<u64>,
}

impl Pass {
    /// No dropout, no gradients asked for.
    pub fn evaluation() -> Self {
        Self {
            training: false,
            frozen_below: 0,
            frozen_dropout: false,
            seed: 0,
            draws: Cell::new(0),
        }
    }

    /// Dropout on, drawn from `seed` (a new one for each step).
    pub fn training(seed: u64) -> Self {
        Self {
            training: true,
            seed,
            ..Self::evaluation()
        }
    }

    /// The same pass with the blocks below `frozen_below` frozen.
    pub fn frozen(mut self, frozen_below: usize, frozen_dropout: bool) -> Self {
        self.frozen_below = frozen_below;
        self.frozen_dropout = frozen_dropout;
        self
    }

    /// The rate dropout works at in `block`, given the model's own rate.
    pub(crate) fn rate(&self, block: usize, rate: f64) -> f64 {
        let on = self.training && (block >= self.frozen_below || self.frozen_dropout);
        if on { rate } else { 0.0 }
    }

    /// Goes on as after `n` draws: the blocks that would have made them are not computed where their states are at
    /// hand, and what comes above them drops out as it would have.
    pub(crate) fn skip_to(&self, n: u64) {
        self.draws.set(n);
    }

    /// A fresh seed for the next dropout of this pass.
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
