//! Peak memory of a training step on the CPU, as a formula over the encoder's shape.
//!
//! Counted are the tensors that live at the peak. Not counted are the program itself (measured where the formula is compared
//! with a measurement), what the allocator loses between blocks, the buffers of LibTorch's products, and the head's
//! activations, which are one vector for each example.

use crate::shape::Shape;

/// Bytes of an f32.
const F32: usize = 4;
/// Rows of the table of positions.
const POSITIONS: usize = 512;

/// A training step in f32 of a BERT with a linear classifier over its pooler.
#[derive(Debug, Clone, Copy)]
pub struct TrainingStep {
    /// The encoder.
    pub shape: Shape,
    /// Examples.
    pub batch: usize,
    /// Tokens of each.
    pub seq: usize,
    /// Layers that are trained, from the top; the embeddings are trained where all layers are.
    pub trained_layers: usize,
    /// Numbers that the optimiser keeps for each trained parameter: two for Adam.
    pub moments: usize,
}

/// The memory of a step in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// All parameters.
    pub weights: usize,
    /// Gradients of the trained ones.
    pub gradients: usize,
    /// The optimiser's numbers.
    pub moments: usize,
    /// Tensors that the forward pass keeps for the backward pass.
    pub activations: usize,
    /// Tensors of one sublayer's backward pass, beyond those.
    pub temporaries: usize,
}

impl Memory {
    /// The peak: at the beginning of the backward pass, when all activations are there and no gradient is, or at the
    /// update, when all gradients are there and no activation is.
    pub fn peak(&self) -> usize {
        let backward = self.activations + self.temporaries;
        self.weights + self.moments + backward.max(self.gradients)
    }
}

impl TrainingStep {
    /// The memory of the step's tensors.
    pub fn memory(&self) -> Memory {
        let Shape {
            vocab,
            hidden,
            layers,
            intermediate,
            ..
        } = self.shape;
        let trained_layers = self.trained_layers.min(layers);
        let embeddings = (vocab + POSITIONS + 2 + 2) * hidden; // tables of words, positions and segments; scale and shift
        let layer = 4 * (hidden + 1) * hidden // projections of attention
            + (2 * hidden + 1) * intermediate + hidden // feed-forward
            + 4 * hidden; // two scales and shifts
        let top = (hidden + 1) * hidden + 2 * hidden + 2; // pooler and classifier of two labels
        let is_full = trained_layers == layers;
        let trained = top + trained_layers * layer + if is_full { embeddings } else { 0 };
        // Of the table of words, a step has the gradients of the rows that it reads.
        let unread = if is_full {
            (vocab - self.words()) * hidden
        } else {
            0
        };
        let kept_embeddings = if is_full {
            self.kept_of_embeddings()
        } else {
            0
        };
        Memory {
            weights: F32 * (embeddings + layers * layer + top),
            gradients: F32 * (trained - unread),
            moments: F32 * self.moments * trained,
            activations: F32 * (trained_layers * self.kept_of_a_layer() + kept_embeddings),
            temporaries: F32 * self.temporaries(),
        }
    }

    fn tokens(&self) -> usize {
        self.batch * self.seq
    }

    /// Different words, if all tokens that the vocabulary has room for are different.
    fn words(&self) -> usize {
        self.tokens().min(self.shape.vocab)
    }

    /// Numbers kept of the embeddings: the rows that are read, the input of the normalisation, and the output.
    fn kept_of_embeddings(&self) -> usize {
        (self.words() + 2 * self.tokens()) * self.shape.hidden
    }

    /// Numbers that both sublayers keep (`sublayers.cpp`), with dropout and without: masks are made again from their
    /// seeds.
    fn kept_of_a_layer(&self) -> usize {
        let Shape {
            hidden,
            heads,
            intermediate,
            ..
        } = self.shape;
        let tokens = self.tokens();
        let attention = 3 * tokens * hidden // queries, keys, values
            + self.batch * heads * self.seq * self.seq // probabilities
            + 3 * hidden * hidden // weights of the three projections, side by side
            + 3 * tokens * hidden; // merged heads, normalised sum, output
        let feed_forward = 2 * tokens * intermediate // before and after GELU
            + 2 * tokens * hidden; // normalised sum, output
        attention + feed_forward + 2 * tokens // reciprocal deviations
    }

    /// Numbers of the backward pass of the top feed-forward sublayer: gradients of its output, of the residual, of what
    /// is normalised, and of the product's result that is added to it; that of the wide states; those of both weights.
    fn temporaries(&self) -> usize {
        let Shape {
            hidden,
            intermediate,
            ..
        } = self.shape;
        self.tokens() * (4 * hidden + intermediate) + 2 * hidden * intermediate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One layer of two heads, 4 wide with 8 inside, 10 wordpieces; 2 examples of 3 tokens.
    fn step(trained_layers: usize) -> TrainingStep {
        TrainingStep {
            shape: Shape {
                vocab: 10,
                hidden: 4,
                layers: 1,
                heads: 2,
                intermediate: 8,
            },
            batch: 2,
            seq: 3,
            trained_layers,
            moments: 2,
        }
    }

    #[test]
    fn bytes_are_those_counted_on_paper() {
        let memory = step(1).memory();
        // 526 rows of 4; 80 + 72 + 4 + 16 of the layer; 20 + 10 above.
        let parameters = 2104 + 172 + 30;
        assert_eq!(memory.weights, 4 * parameters);
        assert_eq!(memory.gradients, 4 * (parameters - 4 * 4)); // 6 of 10 words are read
        assert_eq!(memory.moments, 8 * parameters);
        // 72 + 36 + 48 + 72 of attention, 96 + 48 of the feed-forward sublayer, 12 deviations; 24 + 48 of the embeddings.
        assert_eq!(memory.activations, 4 * (228 + 144 + 12 + 72));
        assert_eq!(memory.temporaries, 4 * (6 * 24 + 64));
        assert_eq!(memory.peak(), 4 * (4 * parameters - 16)); // so few tokens: the update is the peak
        let long = TrainingStep {
            seq: 300,
            ..step(1)
        };
        let memory = long.memory();
        let backward = memory.activations + memory.temporaries;
        assert_eq!(memory.peak(), memory.weights + memory.moments + backward);
    }

    #[test]
    fn what_is_frozen_keeps_neither_gradients_nor_moments_nor_activations() {
        let memory = step(0).memory();
        assert_eq!(memory.weights, step(1).memory().weights);
        assert_eq!((memory.gradients, memory.moments), (4 * 30, 8 * 30));
        assert_eq!(memory.activations, 0);
    }
}
