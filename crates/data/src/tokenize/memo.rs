//! A memo of the wordpieces of earlier words.
//!
//! A tokenizer spends its time on aligning, normalising and looking up one text after the other, while most words of a
//! dataset come again and again. A [`Memo`] keeps the wordpieces of each, and calls the tokenizer only for new ones, so
//! that the ids are those of the tokenizer by construction. This holds where the pieces of a word do not depend on its
//! neighbours, which [`Cutting::of`] decides:
//!
//! - BERT's normaliser looks at single characters (and at combining marks, which a space stops), and BERT's
//!   pre-tokenizer cuts at white space, so a text may be cut at its spaces;
//! - both cut around ASCII punctuation, so a run of printable ASCII may be cut there as well;
//! - special tokens such as `[SEP]` are found in the raw text before all that, so a run that has one's first character
//!   in it stays whole.

use ahash::AHashMap;
use anyhow::{Result, anyhow};
use tokenizers::{NormalizerWrapper, PreTokenizerWrapper};

/// Distinct words a memo keeps; a word takes about 60 bytes. English text of a million words has some 50,000.
const WORDS: usize = 1 << 18;
/// The longest word that is kept, in bytes: longer ones seldom come again.
const LONGEST: usize = 48;

/// The effect of a byte on cutting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Space,
    /// An ASCII letter or digit.
    Letter,
    /// ASCII punctuation, a word of its own.
    Mark,
    /// A control character, a part of a character beyond ASCII, or the start of a special token: its run stays whole.
    Whole,
}

/// The positions at which a text may be cut without changing its wordpieces.
#[derive(Clone, Debug)]
pub(super) struct Cutting {
    kinds: [Kind; 256],
}

impl Cutting {
    /// The cutting of `tokenizer`'s texts; none if it is not known to be safe.
    pub(super) fn of(tokenizer: &tokenizers::Tokenizer) -> Option<Self> {
        let bert = matches!(
            (tokenizer.get_normalizer(), tokenizer.get_pre_tokenizer()),
            (
                Some(NormalizerWrapper::BertNormalizer(_)),
                Some(PreTokenizerWrapper::BertPreTokenizer(_))
            )
        );
        let added = tokenizer.get_added_tokens_decoder();
        let plain = added.values().all(|token| {
            !token.normalized
                && !token.single_word
                && !token.lstrip
                && !token.rstrip
                && !token.content.contains(' ')
        });
        if !bert || !plain {
            return None;
        }
        let mut kinds = [Kind::Whole; 256];
        for byte in b'!'..=b'~' {
            kinds[usize::from(byte)] = if byte.is_ascii_alphanumeric() {
                Kind::Letter
            } else {
                Kind::Mark
            };
        }
        kinds[usize::from(b' ')] = Kind::Space;
        for token in added.values() {
            if let Some(first) = token.content.bytes().next() {
                kinds[usize::from(first)] = Kind::Whole;
            }
        }
        Some(Self { kinds })
    }

    fn kind(&self, byte: u8) -> Kind {
        self.kinds[usize::from(byte)]
    }
}

/// Words and their pieces.
pub(super) struct Memo<'a> {
    tokenizer: &'a tokenizers::Tokenizer,
    cutting: &'a Cutting,
    /// The range in `pieces` of the pieces of each word.
    words: AHashMap<Box<str>, (u32, u32)>,
    pieces: Vec<u32>,
}

impl<'a> Memo<'a> {
    pub(super) fn new(tokenizer: &'a tokenizers::Tokenizer, cutting: &'a Cutting) -> Self {
        Self {
            tokenizer,
            cutting,
            words: AHashMap::new(),
            pieces: Vec::new(),
        }
    }

    /// Appends the wordpieces of `text` to `out`.
    pub(super) fn append(&mut self, text: &str, out: &mut Vec<u32>) -> Result<()> {
        let cutting = self.cutting;
        let bytes = text.as_bytes();
        let mut start = 0;
        while start < bytes.len() {
            if cutting.kind(bytes[start]) == Kind::Space {
                start += 1;
                continue;
            }
            let mut end = start;
            let mut letters = true;
            let mut whole = false;
            while end < bytes.len() {
                match cutting.kind(bytes[end]) {
                    Kind::Space => break,
                    Kind::Letter => {}
                    Kind::Mark => letters = false,
                    Kind::Whole => whole = true,
                }
                end += 1;
            }
            // A space and ASCII punctuation are one byte each, so that every cut is between characters.
            let run = &text[start..end];
            if letters || whole {
                self.word(run, out)?;
            } else {
                self.printable(run, out)?;
            }
            start = end;
        }
        Ok(())
    }

    /// A run of printable ASCII: words between punctuation.
    fn printable(&mut self, run: &str, out: &mut Vec<u32>) -> Result<()> {
        let mut start = 0;
        for (at, byte) in run.bytes().enumerate() {
            if self.cutting.kind(byte) == Kind::Mark {
                if start < at {
                    self.word(&run[start..at], out)?;
                }
                self.word(&run[at..=at], out)?;
                start = at + 1;
            }
        }
        if start < run.len() {
            self.word(&run[start..], out)?;
        }
        Ok(())
    }

    fn word(&mut self, word: &str, out: &mut Vec<u32>) -> Result<()> {
        if let Some(&(start, end)) = self.words.get(word) {
            out.extend_from_slice(&self.pieces[start as usize..end as usize]);
            return Ok(());
        }
        let encoding = self
            .tokenizer
            .encode_fast(word, false)
            .map_err(|error| anyhow!("{error}"))?;
        let ids = encoding.get_ids();
        out.extend_from_slice(ids);
        if word.len() <= LONGEST && self.words.len() < WORDS {
            let start = self.pieces.len() as u32;
            self.pieces.extend_from_slice(ids);
            let place = (start, self.pieces.len() as u32);
            self.words.insert(word.into(), place);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Example, Input, Target, Tokenizer};
    use proptest::prelude::*;
    use std::path::Path;
    use std::sync::LazyLock;

    static CASED: LazyLock<Tokenizer> = LazyLock::new(|| fixture(false));
    static LOWERED: LazyLock<Tokenizer> = LazyLock::new(|| fixture(true));

    fn fixture(lowercase: bool) -> Tokenizer {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/data");
        Tokenizer::open(&folder, lowercase).expect("the fixture vocabulary")
    }

    /// `encode_all` takes the memo and `encode` the library.
    fn same(tokenizer: &Tokenizer, inputs: Vec<Input>, max_length: usize) {
        assert!(tokenizer.cutting.is_some());
        let examples: Vec<Example> = inputs
            .into_iter()
            .map(|input| Example {
                id: String::new(),
                input,
                target: Target::Unknown,
                group: None,
            })
            .collect();
        let all = tokenizer.encode_all(&examples, max_length, 1).expect("ids");
        for (example, found) in examples.iter().zip(all) {
            let alone = tokenizer.encode(&example.input, max_length).expect("ids");
            assert_eq!(found, alone, "{:?}", example.input);
        }
    }

    #[test]
    fn awkward_texts_have_the_ids_of_the_library() {
        let texts = [
            "",
            " ",
            "the fire,the fire",
            "[SEP]fire [CLS] [sep] x[MASK]y [ SEP ] [UN K]",
            "Saint-Rémy e\u{301}t\u{e9} =\u{338} '\u{301}a A\u{300}\u{323}",
            "tab\there\nline\r\nnbsp\u{a0}x \u{3000}wide\u{2028}end",
            "nul\u{0}l del\u{7f} bad\u{fffd}char zero\u{200b}width \u{ad}soft",
            "火灾 in 山谷,fire火",
            "İstanbul ΣΑΣ ſs ŉ",
            "“quoted” — dash… ¿qué? $5 + 3 = 8 ^_^ `x` ~",
            "don't stop!!! #news @river_watch https://example.org/a1b2c3?x=1",
        ];
        let long = "a".repeat(120) + " " + &"é".repeat(120);
        let mut inputs: Vec<Input> = texts
            .iter()
            .map(|text| Input::Text(text.to_string()))
            .collect();
        inputs.push(Input::Text(long));
        inputs.push(Input::Words(texts.map(String::from).to_vec()));
        for pair in texts.windows(2) {
            inputs.push(Input::Pair(pair[0].into(), pair[1].into()));
        }
        for tokenizer in [&*CASED, &*LOWERED] {
            same(tokenizer, inputs.clone(), 512);
            same(tokenizer, inputs.clone(), 7);
        }
    }

    proptest! {
        /// Any characters at all.
        #[test]
        fn any_text_has_the_ids_of_the_library(
            texts in prop::collection::vec((".{0,24}", "\\PC{0,24}"), 1..6),
            length in 3usize..40,
        ) {
            let inputs: Vec<Input> =
                texts.into_iter().flat_map(|(a, b)| [Input::Text(a.clone()), Input::Pair(a, b)]).collect();
            same(&CASED, inputs.clone(), length);
            same(&LOWERED, inputs, length);
        }

        /// Words of the vocabulary between everything that cuts, joins or vanishes.
        #[test]
        fn words_between_all_kinds_of_cuts_have_the_ids_of_the_library(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "fire", "Fire", "the", "valley", "é", "É", "e\u{301}", "\u{301}", "\u{323}", "火", "[SEP]", "[", "]",
                    "[UNK]", "SEP", " ", "  ", "\t", "\n", "\u{a0}", "\u{200b}", "\u{0}", ",", "'", "-", "—", "İ", "ß",
                    "\u{fffd}", "1", "a", "##s",
                ]),
                0..24,
            ),
        ) {
            let text: String = parts.concat();
            same(&CASED, vec![Input::Text(text.clone())], 64);
            same(&LOWERED, vec![Input::Text(text)], 64);
        }
    }
}
