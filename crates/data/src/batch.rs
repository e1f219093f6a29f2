//! Batches: the order and grouping of examples, and padding to a rectangle.

use std::ops::Range;

use crate::Encoded;
use crate::characters::CHARACTERS;
use crate::random::{shuffle, stream};

/// A rectangle of ids, row-major `[batch, seq]`, as wide as its longest row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Padded {
    /// Wordpiece ids; padding has the padding id.
    pub ids: Vec<i64>,
    /// Token types; padding has 0.
    pub type_ids: Vec<i64>,
    /// Mask of real tokens: false at padding.
    pub mask: Vec<bool>,
    /// Rows.
    pub batch: usize,
    /// Columns.
    pub seq: usize,
    /// Positions of the texts of each row, without special tokens.
    pub texts: Vec<Vec<Range<usize>>>,
    /// True if the texts of a pair are encoded separately.
    pub apart: bool,
    /// Character ids, `[batch, seq, 50]`, zeros where there is no word; none where no row has any.
    pub characters: Vec<u16>,
}

impl Padded {
    /// Pads `rows` on the right to the longest of them.
    pub fn new(rows: &[&Encoded], pad_id: u32) -> Self {
        let batch = rows.len();
        let seq = rows.iter().map(|row| row.ids.len()).max().unwrap_or(0);
        let mut padded = Self {
            ids: vec![i64::from(pad_id); batch * seq],
            type_ids: vec![0; batch * seq],
            mask: vec![false; batch * seq],
            batch,
            seq,
            texts: rows.iter().map(|row| row.texts()).collect(),
            apart: rows.iter().any(|row| row.apart),
            characters: Vec::new(),
        };
        if rows.iter().any(|row| !row.characters.is_empty()) {
            padded.characters = vec![0; batch * seq * CHARACTERS];
        }
        for (row, encoded) in rows.iter().enumerate() {
            let start = row * seq;
            for (column, (&id, &type_id)) in encoded.ids.iter().zip(&encoded.type_ids).enumerate() {
                padded.ids[start + column] = i64::from(id);
                padded.type_ids[start + column] = i64::from(type_id);
                padded.mask[start + column] = true;
            }
            for (column, word) in encoded.characters.iter().enumerate() {
                let at = (start + column) * CHARACTERS;
                padded.characters[at..at + CHARACTERS].copy_from_slice(word);
            }
        }
        padded
    }
}

/// Batch size and length bucketing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchPlan {
    /// Examples per batch; the last batch may have fewer.
    pub size: usize,
    /// Length bucketing: examples of similar length share a batch, which saves padding.
    pub bucketing: bool,
}

/// Size in batches of the pools within which shuffled examples are sorted by length. A larger pool saves padding, a
/// smaller one keeps the order more random; at 50 little padding is left and a batch still comes from thousands of
/// examples.
const POOL: usize = 50;

impl BatchPlan {
    /// Every index once, for evaluation: in file order, or with bucketing from short to long.
    pub fn sequential(&self, lengths: &[usize]) -> Vec<Vec<usize>> {
        let mut order: Vec<usize> = (0..lengths.len()).collect();
        if self.bucketing {
            order.sort_by_key(|&index| lengths[index]);
        }
        self.cut(&order)
    }

    /// Every index once, in an order that depends only on `seed` and `epoch`.
    ///
    /// With bucketing the shuffled indices are sorted by length within pools of 50 batches, and the batches are
    /// shuffled again, so that an epoch stays complete and its order stays random. A short last batch stays last.
    pub fn shuffled(&self, lengths: &[usize], seed: u64, epoch: u64) -> Vec<Vec<usize>> {
        let mut rng = stream(seed, "batches", epoch);
        let mut order: Vec<usize> = (0..lengths.len()).collect();
        shuffle(&mut order, &mut rng);
        if !self.bucketing {
            return self.cut(&order);
        }
        let (full, rest) = order.split_at_mut(lengths.len() - lengths.len() % self.size);
        for pool in full.chunks_mut(POOL * self.size) {
            pool.sort_by_key(|&index| lengths[index]);
        }
        let mut batches = self.cut(full);
        shuffle(&mut batches, &mut rng);
        batches.extend(self.cut(rest));
        batches
    }

    fn cut(&self, order: &[usize]) -> Vec<Vec<usize>> {
        assert!(self.size > 0, "batch size 0; expected at least 1");
        order.chunks(self.size).map(<[usize]>::to_vec).collect()
    }
}

/// Tokens of the examples compared with the places of their batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// Tokens of the examples.
    pub real: usize,
    /// Places of the rectangles they are padded to.
    pub places: usize,
}

impl Fill {
    /// Counts the tokens and places of `batches` of examples with these lengths.
    pub fn of(batches: &[Vec<usize>], lengths: &[usize]) -> Self {
        let mut fill = Self { real: 0, places: 0 };
        for batch in batches {
            let longest = batch.iter().map(|&index| lengths[index]).max().unwrap_or(0);
            fill.real += batch.iter().map(|&index| lengths[index]).sum::<usize>();
            fill.places += batch.len() * longest;
        }
        fill
    }

    /// Real tokens per place, from 0 to 1.
    pub fn share(&self) -> f64 {
        if self.places == 0 {
            1.0
        } else {
            self.real as f64 / self.places as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;
    use rand_chacha::rand_core::Rng;

    #[test]
    fn rows_are_padded_on_the_right_to_the_longest() {
        let long = Encoded {
            ids: vec![2, 7, 3, 8, 3],
            type_ids: vec![0, 0, 0, 1, 1],
            ..Encoded::default()
        };
        let short = Encoded {
            ids: vec![2, 3],
            type_ids: vec![0, 0],
            ..Encoded::default()
        };
        let padded = Padded::new(&[&long, &short], 9);
        assert_eq!((padded.batch, padded.seq), (2, 5));
        assert_eq!(padded.ids, [2, 7, 3, 8, 3, 2, 3, 9, 9, 9]);
        assert_eq!(padded.type_ids, [0, 0, 0, 1, 1, 0, 0, 0, 0, 0]);
        assert_eq!(
            padded
                .mask
                .iter()
                .map(|&real| usize::from(real))
                .collect::<Vec<_>>(),
            [1, 1, 1, 1, 1, 1, 1, 0, 0, 0]
        );
    }

    /// Lengths from 3 to 66, short ones more frequent.
    fn lengths(n: usize) -> Vec<usize> {
        let mut rng = stream(3, "lengths", 0);
        (0..n)
            .map(|_| 3 + (rng.next_u32() % 8 * (rng.next_u32() % 10)) as usize)
            .collect()
    }

    #[test]
    fn every_index_comes_exactly_once_and_only_the_last_batch_is_short() {
        for n in [0, 1, 7, 8, 9, 1000, 1003] {
            for (size, bucketing) in [(1, false), (8, false), (8, true), (64, true), (2000, true)] {
                let plan = BatchPlan { size, bucketing };
                let lengths = lengths(n);
                for batches in [plan.sequential(&lengths), plan.shuffled(&lengths, 1, 0)] {
                    let mut seen: Vec<usize> = batches.concat();
                    seen.sort_unstable();
                    assert_eq!(seen, (0..n).collect::<Vec<_>>(), "{plan:?} {n}");
                    assert_eq!(batches.len(), n.div_ceil(size));
                    let full = batches.split_last().map_or(&[][..], |(_, full)| full);
                    assert!(full.iter().all(|batch| batch.len() == size), "{plan:?} {n}");
                }
            }
        }
    }

    #[test]
    fn without_bucketing_evaluation_keeps_file_order() {
        let plan = BatchPlan {
            size: 2,
            bucketing: false,
        };
        assert_eq!(plan.sequential(&[5, 3, 4]), [vec![0, 1], vec![2]]);
        let plan = BatchPlan {
            size: 2,
            bucketing: true,
        };
        assert_eq!(plan.sequential(&[5, 3, 4]), [vec![1, 2], vec![0]]);
    }

    #[test]
    fn an_order_depends_on_seed_and_epoch_alone() {
        let lengths = lengths(300);
        for bucketing in [false, true] {
            let plan = BatchPlan { size: 8, bucketing };
            let order = plan.shuffled(&lengths, 1, 0);
            assert_eq!(order, plan.shuffled(&lengths, 1, 0));
            assert_ne!(order, plan.shuffled(&lengths, 2, 0));
            assert_ne!(order, plan.shuffled(&lengths, 1, 1));
            assert_ne!(order, plan.sequential(&lengths));
        }
    }

    #[test]
    fn bucketed_batches_stay_in_random_order() {
        let lengths = lengths(4000);
        let batches = BatchPlan {
            size: 8,
            bucketing: true,
        }
        .shuffled(&lengths, 1, 0);
        let longest = |batch: &Vec<usize>| batch.iter().map(|&index| lengths[index]).max();
        let rises = batches
            .windows(2)
            .filter(|pair| longest(&pair[1]) > longest(&pair[0]))
            .count();
        // 499 neighbours; sorted pools would rise or stay nearly always.
        assert!((150..350).contains(&rises), "{rises}");
    }

    #[test]
    fn bucketing_computes_less_padding() {
        let lengths = lengths(4000);
        let share = |bucketing| {
            let batches = BatchPlan {
                size: 32,
                bucketing,
            }
            .shuffled(&lengths, 1, 0);
            Fill::of(&batches, &lengths).share()
        };
        assert!(
            share(false) < 0.5 && share(true) > 0.9,
            "{} {}",
            share(false),
            share(true)
        );
        let fill = Fill::of(&[vec![0, 1], vec![2]], &[5, 3, 4]);
        assert_eq!(
            fill,
            Fill {
                real: 12,
                places: 14
            }
        );
    }
}
