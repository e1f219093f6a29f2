//! Wordpiece vocabularies, trained by the library that reads them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ahash::AHashMap;
use anyhow::{Result, anyhow, ensure};
use compact_str::CompactString;
use rayon::prelude::*;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::{
    AddedToken, NormalizedString, Normalizer, OffsetReferential, OffsetType, PreTokenizedString,
    PreTokenizer,
};
use totune_data::Document;

use crate::settings::VocabularySettings;

/// Special tokens, in the order of their ids; `[PAD]` is 0 as in every published BERT.
const SPECIAL: [&str; 5] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];

/// Number of characters in the vocabulary, the most frequent ones; a word with another becomes `[UNK]`.
const ALPHABET: usize = 500;

/// Trains the wordpieces of `documents`, one per line of the resulting `vocab.txt`.
///
/// Words are split as BERT splits them, and wordpieces are merged by frequency, as `tokenizers` trains wordpieces. That
/// library numbers the wordpieces inside words in the order of a hash map and settles ties by number, so here they are
/// numbered beforehand: the same text gives the same vocabulary.
///
/// # Errors
/// When the text is too small for so many wordpieces.
pub fn train_vocabulary(
    documents: &[&Document],
    settings: &VocabularySettings,
) -> Result<Vec<String>> {
    let mut words = count_words(documents, settings.lowercase)?;
    let alphabet = alphabet(&words);
    words.retain(|word, _| word.chars().all(|letter| alphabet.contains(&letter)));
    let within: BTreeSet<char> = words.keys().flat_map(|word| word.chars().skip(1)).collect();
    let within = within.into_iter().map(|letter| format!("##{letter}"));
    let first = SPECIAL.map(String::from).into_iter().chain(within);
    let trainer = BpeTrainer::builder()
        .vocab_size(settings.size)
        .min_frequency(2)
        .show_progress(false)
        .continuing_subword_prefix("##".into())
        .special_tokens(first.map(|token| AddedToken::from(token, true)).collect())
        .build();
    let words: AHashMap<CompactString, u64> = words
        .into_iter()
        .map(|(word, count)| (word.into(), count))
        .collect();
    let mut model = BPE::default();
    trainer
        .do_train(&words, &mut model)
        .map_err(|error| anyhow!("vocabulary: {error}"))?;
    let pieces: BTreeMap<u32, String> = model
        .get_vocab()
        .into_iter()
        .map(|(piece, id)| (id, piece))
        .collect();
    ensure!(
        pieces.len() == settings.size,
        "start.vocabulary.size: found {}, but the text gives {} wordpieces",
        settings.size,
        pieces.len()
    );
    Ok(pieces.into_values().collect())
}

/// Counts each word of the text.
fn count_words(documents: &[&Document], lowercase: bool) -> Result<HashMap<String, u64>> {
    let normalizer = BertNormalizer::new(true, true, None, lowercase);
    let count = |counts: &mut HashMap<String, u64>, text: &str| -> tokenizers::Result<()> {
        let mut normalized = NormalizedString::from(text);
        normalizer.normalize(&mut normalized)?;
        let mut cut = PreTokenizedString::from(normalized);
        BertPreTokenizer.pre_tokenize(&mut cut)?;
        for (word, ..) in cut.get_splits(OffsetReferential::Original, OffsetType::Byte) {
            match counts.get_mut(word) {
                Some(count) => *count += 1,
                None => {
                    counts.insert(word.to_string(), 1);
                }
            }
        }
        Ok(())
    };
    documents
        .par_chunks(1024)
        .map(|share| {
            let mut counts = HashMap::new();
            for paragraph in share.iter().flat_map(|document| &document.paragraphs) {
                count(&mut counts, paragraph).map_err(|error| anyhow!("vocabulary: {error}"))?;
            }
            Ok(counts)
        })
        .try_reduce(HashMap::new, |mut all, more| {
            for (word, count) in more {
                *all.entry(word).or_insert(0) += count;
            }
            Ok(all)
        })
}

/// Returns the most frequent characters; of equally frequent ones those that come first in Unicode.
fn alphabet(words: &HashMap<String, u64>) -> BTreeSet<char> {
    let mut counts: BTreeMap<char, u64> = BTreeMap::new();
    for (word, count) in words {
        for letter in word.chars() {
            *counts.entry(letter).or_insert(0) += count;
        }
    }
    let mut letters: Vec<(char, u64)> = counts.into_iter().collect();
    letters.sort_by_key(|&(letter, count)| (std::cmp::Reverse(count), letter));
    letters.truncate(ALPHABET);
    letters.into_iter().map(|(letter, _)| letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary(size: usize) -> Result<Vec<String>> {
        let text = "the baker bakes bread and the breaker breaks the bread of the baker";
        let document = Document {
            paragraphs: vec![text.to_string(); 3],
        };
        let settings = VocabularySettings {
            size,
            lowercase: true,
        };
        train_vocabulary(&[&document], &settings)
    }

    #[test]
    fn frequent_words_become_pieces_and_the_same_text_gives_the_same_ones() {
        let pieces = vocabulary(40).expect("enough text");
        assert_eq!(pieces[..5], SPECIAL);
        for expected in ["the", "b", "##r", "bread"] {
            assert!(
                pieces.iter().any(|piece| piece == expected),
                "{expected}: {pieces:?}"
            );
        }
        for _ in 0..10 {
            assert_eq!(vocabulary(40).expect("enough text"), pieces);
        }
    }

    #[test]
    fn a_text_that_is_too_small_says_how_many_pieces_it_gives() {
        let message = vocabulary(5000).expect_err("too small").to_string();
        assert!(
            message.contains("found 5000, but the text gives"),
            "{message}"
        );
    }
}
