//! Masking: the choice of wordpieces of a sequence to hide and predict.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use totune_data::random;

use crate::settings::Masking;

/// Vocabulary as masking uses it.
#[derive(Debug, Clone)]
pub struct MaskVocabulary {
    /// Wordpieces that continue the word before them (`##ing`), by id.
    pub continues: Vec<bool>,
    /// Special tokens, which are never masked, by id.
    pub special: Vec<bool>,
    /// The id of `[MASK]`.
    pub mask: u16,
}

/// Masked positions of a sequence, in order, and their original wordpieces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hidden {
    /// Positions in the sequence.
    pub places: Vec<usize>,
    /// Original wordpieces at these positions.
    pub targets: Vec<u16>,
}

/// Masks wordpieces of `ids`, drawing from `rng`.
///
/// Follows the released BERT code: candidates (wordpieces or whole words) are shuffled and taken while they fit into
/// `round(share · pieces)`, at least one. Each masked wordpiece is then replaced by `[MASK]`, by any wordpiece, or left
/// as it is, each by its own draw.
pub fn hide(
    ids: &mut [u16],
    pieces: &MaskVocabulary,
    how: &Masking,
    rng: &mut ChaCha8Rng,
) -> Hidden {
    let mut words = candidates(ids, pieces, how.whole_words);
    let total: usize = words.iter().map(|word| word.len()).sum();
    let wanted = ((how.share * total as f64).round() as usize).max(1);
    random::shuffle(&mut words, rng);
    let mut places = Vec::with_capacity(wanted);
    for word in words {
        if places.len() + word.len() <= wanted {
            places.extend(word);
        }
        if places.len() == wanted {
            break;
        }
    }
    places.sort_unstable();
    let targets = places.iter().map(|&place| ids[place]).collect();
    for &place in &places {
        let draw = unit(rng);
        if draw < how.masked {
            ids[place] = pieces.mask;
        } else if draw < how.masked + how.random {
            ids[place] = (unit(rng) * pieces.continues.len() as f64) as u16;
        }
    }
    Hidden { places, targets }
}

/// Ranges of positions that are masked together.
fn candidates(
    ids: &[u16],
    pieces: &MaskVocabulary,
    whole_words: bool,
) -> Vec<std::ops::Range<usize>> {
    let mut words: Vec<std::ops::Range<usize>> = Vec::new();
    for (place, &id) in ids.iter().enumerate() {
        let id = usize::from(id);
        if pieces.special[id] {
            continue;
        }
        match words.last_mut() {
            // The first wordpiece of a sequence may continue a word that was cut off; it then counts as a word of its
            // own.
            Some(word) if whole_words && pieces.continues[id] && word.end == place => word.end += 1,
            _ => words.push(place..place + 1),
        }
    }
    words
}

/// Draws a uniform number from 0 to 1, without 1.
fn unit(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use totune_data::stream;

    /// Ids 0 and 1 are special, 2 is `[MASK]`, even ones from 4 on start a word and odd ones continue it.
    fn pieces() -> MaskVocabulary {
        MaskVocabulary {
            continues: (0..100).map(|id| id >= 4 && id % 2 == 1).collect(),
            special: (0..100).map(|id| id < 3).collect(),
            mask: 2,
        }
    }

    fn how(whole_words: bool) -> Masking {
        Masking {
            share: 0.15,
            whole_words,
            masked: 0.8,
            random: 0.1,
        }
    }

    #[test]
    fn shares_come_out_as_asked_and_special_tokens_stay() {
        let before: Vec<u16> = [0]
            .into_iter()
            .chain((4..100).cycle().take(126))
            .chain([1])
            .collect();
        let (mut hidden, mut masked, mut kept) = (0, 0, 0);
        for i in 0..500 {
            let mut ids = before.clone();
            let found = hide(&mut ids, &pieces(), &how(false), &mut stream(1, "masks", i));
            assert_eq!(found.places.len(), 19, "round(0.15 · 126)");
            assert_eq!((ids[0], ids[127]), (0, 1));
            for (&place, &target) in found.places.iter().zip(&found.targets) {
                assert_eq!(target, before[place]);
                masked += usize::from(ids[place] == 2);
                kept += usize::from(ids[place] == target);
            }
            let changed = (0..128).filter(|&place| ids[place] != before[place]);
            assert!(
                changed
                    .into_iter()
                    .all(|place| found.places.contains(&place))
            );
            hidden += found.places.len();
        }
        // Binomial with n = 9,500: four standard deviations are 1.6 and 1.2 points. A random wordpiece is the old one,
        // or `[MASK]`, once in a hundred draws.
        let share = |n: usize| n as f64 / hidden as f64;
        assert!((share(masked) - 0.801).abs() < 0.017, "{}", share(masked));
        assert!((share(kept) - 0.101).abs() < 0.013, "{}", share(kept));
    }

    #[test]
    fn whole_words_are_hidden_whole() {
        let before: Vec<u16> = (4..100).collect(); // 48 words of two pieces
        let mut ids = before.clone();
        let found = hide(&mut ids, &pieces(), &how(true), &mut stream(1, "masks", 0));
        assert_eq!(found.places.len(), 14, "round(0.15 · 96), whole words");
        for pair in found.places.chunks(2) {
            assert_eq!((pair[0] % 2, pair[1]), (0, pair[0] + 1));
        }
    }

    #[test]
    fn the_same_stream_hides_the_same() {
        let hide_with = |index| {
            let mut ids: Vec<u16> = (4..60).collect();
            let hidden = hide(
                &mut ids,
                &pieces(),
                &how(true),
                &mut stream(3, "masks", index),
            );
            (ids, hidden)
        };
        assert_eq!(hide_with(5), hide_with(5));
        assert_ne!(hide_with(5), hide_with(6));
    }
}
