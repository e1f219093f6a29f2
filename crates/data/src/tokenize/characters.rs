//! ELMo's characters: a word as the bytes of its UTF-8 form, between boundary characters.
//!
//! A word is fifty ids: a boundary for its beginning, its bytes (the first 48 of a longer one), a boundary for its end,
//! padding. Each is one higher than in the paper's code, so that 0 is left for places where no word is. Sentences begin
//! and end with words of their own; the encoder adds them, so no row of words holds them.
//!
//! A text becomes words as in BERT's basic tokenizer, with its case and its accents kept: control characters are left
//! out, it is cut at white space, and each punctuation mark and each Chinese character is a word. The paper's corpora
//! were tokenised by other means (the Moses tokenizer before the language model's training, each dataset's own for the
//! tasks); words that a dataset brings are taken as they are.

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use rayon::prelude::*;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::{
    NormalizedString, Normalizer, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer,
};

use super::windows::Context;
use super::windows::cut;
use super::{Encoded, Pairs, Window, shorten};
use crate::{Example, Input};

pub use super::encoded::{CHARACTERS, WordCharacters};

/// Identifies this way of reading a text, like the hash of a tokenizer; a change of it needs another name.
pub const NAME: &str = "elmo-characters-1";

// As in the paper's code, before one is added.
const WORD_START: u16 = 258;
const WORD_END: u16 = 259;
const PADDING: u16 = 260;

/// The ids of `word`, with as many of its bytes as fit.
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

/// `input` as at most `max_length` words: one row, of a pair the words of the first text and then those of the second.
///
/// Longer inputs are shortened as [`super::Tokenizer::encode`] does. A text without a word is one of no characters.
pub fn encode(input: &Input, max_length: usize, pairs: Pairs) -> Result<Encoded> {
    let least = if input.second().is_some() { 2 } else { 1 };
    ensure!(
        max_length >= least,
        "max_length: {max_length}; expected at least {least}, a word of each text"
    );
    let (first, second) = match input {
        Input::Text(text) => (words(text)?, None),
        Input::Words(words) => (words.clone(), None),
        Input::Pair(first, second) => (words(first)?, Some(words(second)?)),
    };
    let spelled = |words: &[String]| match words {
        [] => vec![spell("")],
        words => words.iter().map(|word| spell(word)).collect(),
    };
    let mut characters = spelled(&first);
    let second = second.map(|second| spelled(&second));
    let (n_first, n_second) = shorten(
        characters.len(),
        second.as_ref().map_or(0, Vec::len),
        max_length,
    );
    characters.truncate(n_first);
    let apart = second.is_some() && pairs == Pairs::Separate;
    characters.extend(second.into_iter().flatten().take(n_second));
    Ok(encoded(characters, n_first, apart))
}

/// The first `n_first` words are those of the first text.
fn encoded(characters: Vec<WordCharacters>, n_first: usize, apart: bool) -> Encoded {
    let mut type_ids = vec![0; n_first];
    type_ids.resize(characters.len(), 1);
    Encoded {
        ids: vec![0; characters.len()],
        type_ids,
        apart,
        characters,
        ..Encoded::default()
    }
}

/// Encodes `examples` on `threads` threads; the result does not depend on their number.
pub fn encode_all(
    examples: &[Example],
    max_length: usize,
    pairs: Pairs,
    threads: usize,
) -> Result<Vec<Encoded>> {
    let encode = |example: &Example| {
        encode(&example.input, max_length, pairs)
            .with_context(|| format!("example `{}`", example.id))
    };
    pool(threads)?.install(|| examples.par_iter().map(encode).collect())
}

fn pool(threads: usize) -> Result<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.max(1))
        .build()
        .context("cannot start threads")
}

/// The sentences `examples` as windows in which every word is scored once, like those of [`super::Tokenizer::windows`],
/// each word at its own place.
///
/// # Errors
/// When an example is a text, or `context` is more than the sentence.
pub fn windows(
    examples: &[Example],
    context: Context,
    max_length: usize,
    threads: usize,
) -> Result<Vec<Window>> {
    ensure!(
        max_length > 0,
        "max_length: 0; expected at least 1, one word"
    );
    if context != Context::Sentence {
        bail!(
            "context: `document`; expected `sentence`, which is what an encoder of characters reads"
        );
    }
    let of = |(index, example): (usize, &Example)| {
        let words = example
            .input
            .words()
            .with_context(|| format!("example `{}`: a text; expected words", example.id))?;
        let before: Vec<usize> = (0..=words.len()).collect();
        let cuts = cut(&before, 0..words.len(), max_length, context);
        let windows = cuts.into_iter().map(|cut| {
            let held: Vec<_> = words[cut.held.clone()]
                .iter()
                .map(|word| spell(word))
                .collect();
            let places = cut
                .scored
                .clone()
                .map(|word| (word - cut.held.start) as u32);
            let places: Vec<u32> = places.collect();
            let n = held.len();
            Window {
                encoded: encoded(held, n, false),
                example: index,
                words: cut.scored,
                positions: places.clone(),
                ends: places,
            }
        });
        Ok(windows.collect())
    };
    let windows: Result<Vec<Vec<Window>>> =
        pool(threads)?.install(|| examples.par_iter().enumerate().map(of).collect());
    Ok(windows?.into_iter().flatten().collect())
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

    #[test]
    fn a_pair_is_one_row_and_the_longer_text_is_shortened() {
        let pair = Input::Pair("One two three".into(), "Four .".into());
        let row = encode(&pair, 4, Pairs::Separate).expect("a row");
        assert_eq!(row.characters, ["One", "two", "Four", "."].map(spell));
        assert_eq!(
            (row.type_ids.as_slice(), row.apart),
            (&[0, 0, 1, 1][..], true)
        );
        assert_eq!(row.texts(), [0..2, 2..4]);
        let joint = encode(&pair, 9, Pairs::Joint).expect("a row");
        assert_eq!((joint.characters.len(), joint.apart), (5, false));
    }

    #[test]
    fn a_text_without_a_word_has_a_place_of_its_own() {
        let pair = Input::Pair(" ".into(), "two words".into());
        let row = encode(&pair, 9, Pairs::Separate).expect("a row");
        assert_eq!(row.characters, ["", "two", "words"].map(spell));
        assert_eq!(row.texts(), [0..1, 1..3]);
        let text = encode(&Input::Text(String::new()), 9, Pairs::Joint).expect("a row");
        assert_eq!(text.characters, [spell("")]);
        let none = encode(&Input::Text("x".into()), 0, Pairs::Joint);
        assert!(
            none.expect_err("no room")
                .to_string()
                .contains("max_length")
        );
    }

    #[test]
    fn every_word_of_a_sentence_is_scored_once_at_its_own_place() {
        let sentence = |words: &[&str]| Example {
            id: "s".into(),
            input: Input::Words(words.iter().map(|word| word.to_string()).collect()),
            target: crate::Target::Unknown,
            group: None,
        };
        let examples = [
            sentence(&["a", "b-c", "d"]),
            sentence(&["e", "f", "g", "h", "i"]),
        ];
        let found = windows(&examples, Context::Sentence, 4, 2).expect("windows");
        assert_eq!(found[0].encoded.characters, ["a", "b-c", "d"].map(spell));
        assert_eq!(
            (found[0].positions.as_slice(), found[0].example),
            (&[0, 1, 2][..], 0)
        );
        let scored: Vec<usize> = found[1..].iter().flat_map(|w| w.words.clone()).collect();
        assert_eq!(scored, [0, 1, 2, 3, 4]);
        for window in &found[1..] {
            let Input::Words(words) = &examples[1].input else {
                unreachable!()
            };
            for (word, &place) in window.words.clone().zip(&window.positions) {
                assert_eq!(
                    window.encoded.characters[place as usize],
                    spell(&words[word])
                );
            }
        }
        assert!(windows(&examples, Context::Document, 4, 1).is_err());
    }
}
