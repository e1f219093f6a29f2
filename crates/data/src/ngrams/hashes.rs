//! Hashes of the n-grams of a text, in one pass.

use super::words::for_each_word;
use ahash::RandomState;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The hash function of n-grams: `n` words into 64 bits.
///
/// An n-gram `w_1 … w_n` has the hash `Σ h(w_i) b^(n - i)` modulo 2^64 with an odd `b`, so that the next one follows
/// from it. Two different n-grams share a hash with a probability of about 2^-64; no list of them is kept.
#[derive(Clone, Debug)]
pub(super) struct NgramHashes {
    n: usize,
    /// `b^n`, the weight of the word that leaves.
    leaving: u64,
    words: RandomState,
}

const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

impl NgramHashes {
    pub(super) fn new(n: usize) -> Self {
        assert!(n > 0, "n-grams of 0 words; expected at least 1");
        Self {
            n,
            leaving: (0..n).fold(1u64, |power, _| power.wrapping_mul(BASE)),
            // Fixed seeds: what two passes hash must be comparable.
            words: RandomState::with_seeds(1, 2, 3, 4),
        }
    }

    /// Calls `f` with the hash of each n-gram of the words of `texts` one after the other, in order.
    pub(super) fn each<'a>(
        &self,
        texts: impl IntoIterator<Item = &'a str>,
        mut f: impl FnMut(u64),
    ) {
        // The last n words' hashes, the oldest at `at`.
        let mut window = vec![0u64; self.n];
        let (mut at, mut seen, mut hash) = (0, 0usize, 0u64);
        for text in texts {
            for_each_word(text, |word| {
                let new = self.words.hash_one(word);
                let old = std::mem::replace(&mut window[at], new);
                at = if at + 1 == self.n { 0 } else { at + 1 };
                hash = hash.wrapping_mul(BASE).wrapping_add(new);
                hash = hash.wrapping_sub(old.wrapping_mul(self.leaving));
                seen += 1;
                if seen >= self.n {
                    f(hash);
                }
            });
        }
    }
}

/// A map by hashes, which are not hashed again.
pub(super) type ByHash<T> = HashMap<u64, T, BuildHasherDefault<Identity>>;

/// Takes a number as its own hash.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("only numbers of 64 bits are looked up");
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hashes(n: usize, texts: &[&str]) -> Vec<u64> {
        let mut found = Vec::new();
        NgramHashes::new(n).each(texts.iter().copied(), |hash| found.push(hash));
        found
    }

    #[test]
    fn equal_ngrams_have_equal_hashes_wherever_they_stand() {
        let found = hashes(2, &["a b c A, b"]);
        assert_eq!(found.len(), 4);
        assert_eq!(found[0], found[3]);
        assert_eq!(hashes(2, &["a", "B"]), found[..1]);
        assert_ne!(hashes(2, &["b a"]), found[..1]);
        assert!(hashes(3, &["a b"]).is_empty());
    }

    proptest! {
        #[test]
        fn a_rolled_hash_is_that_of_the_ngram_alone(words in prop::collection::vec("[a-c]{1,2}", 0..30), n in 1usize..6) {
            let alone: Vec<u64> = words.windows(n).flat_map(|gram| hashes(n, &[&gram.join(" ")])).collect();
            prop_assert_eq!(hashes(n, &[&words.join(" ")]), alone);
        }
    }
}
