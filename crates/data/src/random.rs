//! The only source of randomness outside tensors: named streams of a run's seed.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

/// The random stream `name` number `index` of a run with seed `seed`.
///
/// The ChaCha8 key is the SHA-256 of seed and index (eight bytes each, least significant first) and then the name, so a
/// stream depends on nothing but these three: drawing more from one never shifts another.
pub fn stream(seed: u64, name: &str, index: u64) -> ChaCha8Rng {
    let mut hash = Sha256::new();
    hash.update(seed.to_le_bytes());
    hash.update(index.to_le_bytes());
    hash.update(name);
    ChaCha8Rng::from_seed(hash.finalize().into())
}

/// Shuffles `items` (Fisher and Yates, from the end), with our own random indices so that an order never depends on the
/// version of a library.
pub fn shuffle<T>(items: &mut [T], rng: &mut ChaCha8Rng) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(last as u64 + 1, rng) as usize);
    }
}

/// A uniform number in `0..bound`: numbers beyond the largest multiple of `bound` are rejected.
fn below(bound: u64, rng: &mut ChaCha8Rng) -> u64 {
    let surplus = (u64::MAX % bound + 1) % bound;
    loop {
        let drawn = rng.next_u64();
        if drawn <= u64::MAX - surplus {
            return drawn % bound;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_its_seed_its_name_and_its_index_and_on_nothing_else() {
        let draw = |seed, name, index| stream(seed, name, index).next_u64();
        assert_eq!(draw(1, "batches", 0), draw(1, "batches", 0));
        let others = [
            draw(2, "batches", 0),
            draw(1, "dropout", 0),
            draw(1, "batches", 1),
        ];
        for other in others {
            assert_ne!(other, draw(1, "batches", 0));
        }
    }

    #[test]
    fn a_stream_stays_the_same_from_version_to_version() {
        // ChaCha8 of sha256(1u64 le, 0u64 le, "batches"); recorded, since every stored result depends on it.
        let mut rng = stream(1, "batches", 0);
        let mut items: Vec<u32> = (0..10).collect();
        shuffle(&mut items, &mut rng);
        assert_eq!(items, RECORDED);
    }

    const RECORDED: [u32; 10] = [8, 2, 5, 6, 4, 1, 9, 0, 7, 3];

    #[test]
    fn every_order_of_three_is_about_equally_frequent() {
        let mut rng = stream(7, "test", 0);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..6000 {
            let mut items = [0, 1, 2];
            shuffle(&mut items, &mut rng);
            *counts.entry(items).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        // Binomial(6000, 1/6): sd 29, so five of them.
        assert!(
            counts.values().all(|count| (855..=1145).contains(count)),
            "{counts:?}"
        );
    }
}
