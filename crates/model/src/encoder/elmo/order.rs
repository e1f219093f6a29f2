//! Order in which each direction reads the words of a batch.

use std::cmp::Reverse;

use burn::tensor::{Device, Int, Tensor, TensorData};

use crate::TokenBatch;

/// Rows of the words of one sentence among the rows `[batch * seq]` of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sentence {
    pub first: usize,
    pub words: usize,
}

impl Sentence {
    /// Returns the sentences of a batch: the words of each row, or of each segment of a pair if segments are encoded
    /// separately. A row without words is an empty sentence.
    pub fn of(batch: &TokenBatch, apart: bool) -> Vec<Self> {
        let [rows, seq] = batch.shape();
        let integers = |t: Tensor<2, Int>| -> Vec<i64> {
            t.into_data()
                .convert::<i64>()
                .try_to_vec()
                .expect("converted")
        };
        let mask: Option<Vec<f32>> = batch
            .mask
            .clone()
            .map(|mask| mask.into_data().try_to_vec().expect("a mask is f32"));
        let types = apart.then(|| integers(batch.type_ids.clone()));
        let mut sentences = Vec::with_capacity(rows * (1 + usize::from(apart)));
        for row in 0..rows {
            let first = row * seq;
            let words = mask.as_ref().map_or(seq, |mask| {
                let real = mask[first..first + seq].iter();
                real.take_while(|&&real| real != 0.0).count()
            });
            let own = types.as_ref().map_or(words, |types| {
                let side = types[first..first + words].iter();
                side.take_while(|&&side| side == 0).count()
            });
            sentences.push(Self { first, words: own });
            if apart {
                sentences.push(Self {
                    first: first + own,
                    words: words - own,
                });
            }
        }
        sentences
    }
}

/// The sentences of a batch packed from long to short, as [`crate::fused::projected_lstm`] takes them.
///
/// Each begins with the boundary token that a direction meets first; the other one follows its last word only where
/// `closed`, since nothing that is kept depends on it.
#[derive(Debug)]
pub struct Order {
    /// Number of sentences that have a step `t`.
    pub running: Vec<usize>,
    /// Number of the sentence at each packed position.
    pub sentences: Vec<usize>,
    /// Row that each direction reads at each step, of `rows` words and the two boundary tokens after them.
    pub(super) read: [Vec<i64>; 2],
    /// Position of the output of each of `rows` in each direction; one past the last for padding.
    written: [Vec<i64>; 2],
}

/// Both directions: from left to right, and back.
pub const DIRECTIONS: [usize; 2] = [0, 1];

impl Order {
    pub fn new(sentences: &[Sentence], rows: usize, closed: bool) -> Self {
        let mut order: Vec<usize> = (0..sentences.len())
            .filter(|&i| sentences[i].words > 0)
            .collect();
        order.sort_by_key(|&i| Reverse(sentences[i].words));
        let steps = |i: usize| 1 + sentences[i].words + usize::from(closed);
        let longest = order.first().map_or(0, |&i| steps(i));
        let running: Vec<usize> = (0..longest)
            .map(|t| order.iter().take_while(|&&i| steps(i) > t).count())
            .collect();
        let total: usize = running.iter().sum();
        let mut read = [Vec::with_capacity(total), Vec::with_capacity(total)];
        let mut written = [(); 2].map(|()| vec![total as i64; rows]);
        for (t, &n) in running.iter().enumerate() {
            for &i in &order[..n] {
                let Sentence { first, words } = sentences[i];
                for direction in DIRECTIONS {
                    let row = match t {
                        0 => rows + direction,
                        t if t > words => rows + 1 - direction,
                        t if direction == 0 => first + t - 1,
                        t => first + words - t,
                    };
                    if row < rows {
                        written[direction][row] = read[direction].len() as i64;
                    }
                    read[direction].push(row as i64);
                }
            }
        }
        Self {
            running,
            sentences: order,
            read,
            written,
        }
    }

    /// Rows of words `[rows, width]` and those of the two boundary tokens `[2, width]`, as `direction` reads them.
    pub fn pack(&self, words: Tensor<2>, boundaries: Tensor<2>, direction: usize) -> Tensor<2> {
        let rows = Tensor::cat(vec![words, boundaries], 0);
        let read = indices(&self.read[direction], &rows.device());
        rows.select(0, read)
    }

    /// Output of `direction` with one row for each word, and zero for padding.
    pub fn unpack(&self, packed: Tensor<2>, direction: usize) -> Tensor<2> {
        let [_, width] = packed.dims();
        let device = packed.device();
        let rows = Tensor::cat(vec![packed, Tensor::zeros([1, width], &device)], 0);
        rows.select(0, indices(&self.written[direction], &device))
    }
}

/// Row numbers on a device.
pub fn indices(rows: &[i64], device: &Device) -> Tensor<1, Int> {
    Tensor::from_data(TensorData::new(rows.to_vec(), [rows.len()]), device)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(first: usize, words: usize) -> Sentence {
        Sentence { first, words }
    }

    #[test]
    fn sentences_are_packed_from_long_to_short_and_read_both_ways() {
        // Rows 0..3 hold one word and padding, 3..6 three words.
        let order = Order::new(&[sentence(0, 1), sentence(3, 3)], 6, false);
        assert_eq!(order.running, [2, 2, 1, 1]);
        assert_eq!(order.sentences, [1, 0]);
        assert_eq!(order.read[0], [6, 6, 3, 0, 4, 5]);
        assert_eq!(order.read[1], [7, 7, 5, 0, 4, 3]);
        assert_eq!(order.written[0], [3, 6, 6, 2, 4, 5]);
        assert_eq!(order.written[1], [3, 6, 6, 5, 4, 2]);
    }

    #[test]
    fn a_closed_sentence_ends_with_the_other_mark_and_one_without_words_is_passed_over() {
        let order = Order::new(&[sentence(0, 0), sentence(2, 2)], 4, true);
        assert_eq!(order.running, [1, 1, 1, 1]);
        assert_eq!(order.sentences, [1]);
        assert_eq!(order.read[0], [4, 2, 3, 5]);
        assert_eq!(order.read[1], [5, 3, 2, 4]);
    }

    #[test]
    fn rows_and_the_sides_of_pairs_are_sentences() {
        let device = Device::flex();
        let mask = [true, true, true, true, true, false, false, false];
        let batch = TokenBatch::new(
            vec![0; 8],
            vec![0, 0, 1, 1, 0, 0, 0, 0],
            &mask,
            [2, 4],
            &device,
        );
        let found = Sentence::of(&batch, false);
        assert_eq!(found, [sentence(0, 4), sentence(4, 1)]);
        let found = Sentence::of(&batch, true);
        let expected = [(0, 2), (2, 2), (4, 1), (5, 0)].map(|(first, n)| sentence(first, n));
        assert_eq!(found, expected);
    }
}
