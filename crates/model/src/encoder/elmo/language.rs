//! The encoder as two language models: the states of both directions at every step, boundary tokens included.

use burn::tensor::{Int, Tensor};

use super::Elmo;
use super::order::{DIRECTIONS, Order, Sentence, indices};
use super::words::boundaries;
use crate::fused::dropout;
use crate::{Encoder, Pass};

/// Segments of text, packed as the LSTMs read them. Rows are the words of all segments, followed by `<S>` and `</S>`.
#[derive(Debug)]
pub(crate) struct Steps {
    order: Order,
    sentences: Vec<Sentence>,
    rows: usize,
}

impl Steps {
    /// Segments of so many words each, none without words.
    pub(crate) fn new(lengths: &[usize]) -> Self {
        let mut rows = 0;
        let sentences: Vec<Sentence> = lengths
            .iter()
            .map(|&words| {
                let first = rows;
                rows += words;
                Sentence { first, words }
            })
            .collect();
        Self {
            order: Order::new(&sentences, rows, false),
            sentences,
            rows,
        }
    }

    /// Row that follows each step of a direction, which is the one its state predicts.
    pub(crate) fn next(&self, direction: usize) -> Vec<usize> {
        let mut next = Vec::with_capacity(self.order.running.iter().sum());
        for (step, &running) in self.order.running.iter().enumerate() {
            for &sentence in &self.order.sentences[..running] {
                let Sentence { first, words } = self.sentences[sentence];
                next.push(match (step, direction) {
                    (step, _) if step == words => self.rows + 1 - direction,
                    (step, 0) => first + step,
                    (step, _) => first + words - 1 - step,
                });
            }
        }
        next
    }

    /// Row that each step of a direction reads, of a table in which `places` gives the row of each word, and the
    /// boundary tokens are at `boundaries` and after it.
    fn read(&self, direction: usize, places: &[u32], boundaries: usize) -> Vec<i64> {
        let read = self.order.read[direction].iter();
        read.map(|&row| match places.get(row as usize) {
            Some(&place) => i64::from(place),
            None => boundaries as i64 + row - self.rows as i64,
        })
        .collect()
    }
}

impl Elmo {
    /// The states of the top layer, packed: `[2 steps, width]`, those of the forward direction first.
    ///
    /// `characters` `[distinct, 50]` are those of the distinct words, `places` says which of them stands at each row of
    /// `steps`. In training a share `rate` of the input of each layer is dropped out, and of the top layer's output, as
    /// in the released training code; the residual connection then adds the input after dropout.
    pub(crate) fn language_states(
        &self,
        characters: Tensor<2, Int>,
        places: &[u32],
        steps: &Steps,
        rate: f64,
        pass: &Pass,
    ) -> Tensor<2> {
        let device = self.embeddings.device();
        let [distinct, _] = characters.dims();
        let ids = Tensor::cat(vec![characters, boundaries(&device)], 0);
        let words = self.embeddings.forward(ids); // [distinct + 2, width]
        let read = DIRECTIONS.map(|direction| steps.read(direction, places, distinct));
        let mut x = words.select(0, indices(&read.concat(), &device)); // [2 steps, width]
        for block in 1..=self.n_layers() {
            x = dropout(x, pass.rate(block, rate), pass.draw());
            x = self.layer(x, block, &steps.order.running, pass);
        }
        dropout(x, pass.rate(self.n_layers(), rate), pass.draw())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_predicts_the_row_that_follows_in_its_direction() {
        // Words 0 in one segment, 1 2 3 in another; 4 is `<S>`, 5 is `</S>`.
        let steps = Steps::new(&[1, 3]);
        assert_eq!(steps.order.read[0], [4, 4, 1, 0, 2, 3]);
        assert_eq!(steps.next(0), [1, 0, 2, 5, 3, 5]);
        assert_eq!(steps.order.read[1], [5, 5, 3, 0, 2, 1]);
        assert_eq!(steps.next(1), [3, 0, 2, 4, 1, 4]);
        // Both segments are of the one distinct word 0; boundary tokens are at 1 and 2.
        assert_eq!(steps.read(0, &[0, 0, 0, 0], 1), [1, 1, 0, 0, 0, 0]);
        assert_eq!(steps.read(1, &[0, 0, 0, 0], 1), [2, 2, 0, 0, 0, 0]);
    }
}
