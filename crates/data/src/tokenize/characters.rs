//! ELMo's characters: a word as the bytes of its UTF-8 form, between marks.
//!
//! A word is fifty ids: a mark for its beginning, its bytes (the first 48 of a longer one), a mark for its end, padding.
//! Each is one higher than in the paper's code, so that 0 is left for places where no word is. Sentences begin and end
//! with words of their own, [`SENTENCE_START`] and [`SENTENCE_END`]; the encoder adds them, so no row of words holds them.
//!
//! A text becomes words as in BERT's basic tokenizer, with its case and its accents kept: control characters are left
//! out, it is cut at white space, and each mark of punctuation and each Chinese character is a word. The paper's corpora
//! were cut by other means (the Moses tokenizer before the language model's training, each dataset's own elsewhere);
//! words that a dataset brings are taken as they are.

use anyhow::{Result, anyhow};
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::{
    NormalizedString, Normalizer, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer,
};

/// Ids of a word.
pub const CHARACTERS: usize = 50;

/// A word as ELMo reads it: byte `b` is `b + 1`, marks lie above, and 0 is no character.
pub type WordCharacters = [u16; CHARACTERS];

/// The first word of each sentence, added by the encoder.
pub const SENTENCE_START: WordCharacters = sentence_mark(256);
/// The last word of each sentence, added by the encoder.
pub const SENTENCE_END: WordCharacters = sentence_mark(257);

// As in the paper's code, before one is added.
const WORD_START: u16 = 258;
const WORD_END: u16 = 259;
const PADDING: u16 = 260;

const fn sentence_mark(mark: u16) -> WordCharacters {
    let mut ids = [PADDING + 1; CHARACTERS];
    ids[0] = WORD_START + 1;
    ids[1] = mark + 1;
    ids[2] = WORD_END + 1;
    ids
}

/// The ids of `word`, as many as it takes of its bytes.
pub fn spell(word: &str) -> WordCharacters {
    let mut ids = [PADDING + 1; CHARACTERS];
    let bytes = &word.as_bytes()[..word.len().min(CHARACTERS - 2)];
    ids[0] = WORD_START + 1;
    for (id, &byte) in ids[1..].iter_mut().zip(bytes) {
        *id = u16::from(byte) + 1;
    }
    ids[1 + bytes.len()] = WORD_END + 1;
    ids
}

/// The words of a text.
///
/// # Errors
/// Never for text that is UTF-8; the tokenizer behind it has an error in its signature.
pub fn words(text: &str) -> Result<Vec<String>> {
    let mut text = NormalizedString::from(text);
    BertNormalizer::new(true, true, Some(false), false)
        .normalize(&mut text)
        .map_err(|error| anyhow!("{error}"))?;
    let mut split = PreTokenizedString::from(text);
    BertPreTokenizer
        .pre_tokenize(&mut split)
        .map_err(|error| anyhow!("{error}"))?;
    let words = split.get_splits(OffsetReferential::Normalized, OffsetType::Byte);
    Ok(words
        .into_iter()
        .map(|(word, _, _)| word.to_string())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    /// Made by `fixtures/make/characters.py`.
    #[derive(Deserialize)]
    struct Reference {
        /// A word, and its ids without the padding behind them.
        words: Vec<(String, Vec<u16>)>,
        sentence_start: Vec<u16>,
        sentence_end: Vec<u16>,
        /// A text and its words.
        texts: Vec<(String, Vec<String>)>,
    }

    fn reference() -> Reference {
        let text = include_str!("../../../../fixtures/data/characters.json");
        serde_json::from_str(text).expect("the committed file")
    }

    #[track_caller]
    fn check(ids: WordCharacters, expected: &[u16]) {
        assert_eq!(&ids[..expected.len()], expected);
        assert!(ids[expected.len()..].iter().all(|&id| id == 261));
    }

    #[test]
    fn words_are_bytes_between_marks() {
        let reference = reference();
        for (word, ids) in &reference.words {
            check(spell(word), ids);
        }
        check(SENTENCE_START, &reference.sentence_start);
        check(SENTENCE_END, &reference.sentence_end);
    }

    #[test]
    fn a_long_word_is_cut_in_the_middle_of_a_character_if_need_be() {
        let word = "x".repeat(47) + "é";
        let ids = spell(&word);
        assert_eq!(ids[48], 0xc3 + 1);
        assert_eq!(ids[49], 260);
        assert_eq!(spell(&"é".repeat(40)), spell(&"é".repeat(24)));
    }

    #[test]
    fn texts_are_cut_at_spaces_and_punctuation_and_keep_their_case() {
        for (text, expected) in reference().texts {
            assert_eq!(words(&text).expect("words"), expected, "{text:?}");
        }
    }
}
