//! Text in, ids out: BERT's WordPiece, the byte-level BPE of RoBERTa and ModernBERT, the unigram SentencePiece of
//! XLM-RoBERTa, DeBERTa and ALBERT.

pub mod characters;
mod encoded;
mod export;
mod many;
mod memo;
mod open;
mod template;
mod windows;
mod words;

use std::borrow::Cow;

use anyhow::{Result, anyhow, ensure};

pub use encoded::{Encoded, Pairs};
pub use template::Template;
pub use windows::Context as WordContext;
pub use words::{Alignment, SubwordChoice, Window};

use self::memo::Cutting;
use crate::Input;
use crate::hash::FieldHash;

/// A tokenizer read from a model's folder.
#[derive(Clone, Debug)]
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    /// The tokenizer of words that come one by one, where that differs from tokenising texts.
    of_words: Option<Box<tokenizers::Tokenizer>>,
    template: Template,
    /// Safe cutting points in texts; none if each text has to be tokenised as a whole.
    cutting: Option<Cutting>,
    /// Put before each text.
    prefix: String,
    hash: String,
    unk: u32,
    cls: u32,
    sep: u32,
    pad: u32,
}

impl Tokenizer {
    /// The special tokens it puts around texts.
    pub fn template(&self) -> Template {
        self.template
    }

    /// Returns true if the space before a word is part of its first token, as in a byte-level BPE.
    pub fn reads_spaces(&self) -> bool {
        self.of_words.is_some()
    }

    /// The same tokenizer with `prefix` put before each text, such as the `query: ` that E5 was trained with; both texts of
    /// a pair get it, words that come one by one do not. Another prefix is another hash.
    pub fn with_prefix(mut self, prefix: &str) -> Self {
        if !prefix.is_empty() {
            let mut hash = FieldHash::new();
            hash.add(&self.hash);
            hash.add(prefix);
            self.hash = hash.finish();
            self.prefix = prefix.to_string();
        }
        self
    }

    /// Identifies this tokenizer: the SHA-256 of its `tokenizer.json`, or of its `vocab.txt` and the way that is read.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The id of the padding token.
    pub fn pad_id(&self) -> u32 {
        self.pad
    }

    /// The id of the unknown token.
    pub fn unknown_id(&self) -> u32 {
        self.unk
    }

    /// The token of `id`; the number itself if there is no such token.
    pub fn piece(&self, id: u32) -> String {
        self.inner
            .id_to_token(id)
            .unwrap_or_else(|| format!("#{id}"))
    }

    /// The number of tokens in the vocabulary.
    pub fn vocab_size(&self) -> usize {
        self.inner.get_vocab_size(true)
    }

    /// `input` as at most `max_length` ids, special ones included.
    ///
    /// Words are read one after the other, each as if a space stood before it.
    pub fn encode(&self, input: &Input, max_length: usize) -> Result<Encoded> {
        let room = self.room(input, max_length)?;
        Ok(match input {
            Input::Text(text) => self.assemble(&self.pieces(&self.prefixed(text))?, None, room),
            Input::Words(words) => {
                let pieces: Result<Vec<_>> =
                    words.iter().map(|word| self.word_pieces(word)).collect();
                self.assemble(&pieces?.concat(), None, room)
            }
            Input::Pair(first, second) => {
                let [first, second] = [first, second].map(|text| self.pieces(&self.prefixed(text)));
                self.assemble(&first?, Some(&second?), room)
            }
        })
    }

    fn prefixed<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.prefix.is_empty() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(format!("{}{text}", self.prefix))
    }

    /// The number of tokens that an input has whatever its text says: the special ones, and those of prefixes.
    pub(crate) fn n_added(&self, input: &Input) -> Result<usize> {
        let is_pair = input.second().is_some();
        let prefixed = match input {
            Input::Words(_) => 0,
            Input::Text(_) | Input::Pair(..) => 1 + usize::from(is_pair),
        };
        let prefix = if self.prefix.is_empty() {
            0
        } else {
            self.pieces(&self.prefix)?.len()
        };
        Ok(self.template.n_specials(is_pair) + prefixed * prefix)
    }

    /// The number of tokens left for an input after the special ones.
    fn room(&self, input: &Input, max_length: usize) -> Result<usize> {
        let specials = self.template.n_specials(input.second().is_some());
        ensure!(
            max_length >= specials,
            "max_length: {max_length}; expected at least {specials}, one per special token"
        );
        Ok(max_length - specials)
    }

    /// Puts the special tokens around pieces and shortens them to `room`.
    fn assemble(&self, first: &[u32], second: Option<&[u32]>, room: usize) -> Encoded {
        let (n_first, n_second) = shorten(first.len(), second.map_or(0, <[u32]>::len), room);
        let n = self.template.n_specials(second.is_some()) + n_first + n_second;
        let mut ids = Vec::with_capacity(n);
        ids.push(self.cls);
        ids.extend_from_slice(&first[..n_first]);
        ids.push(self.sep);
        let mut type_ids = Vec::with_capacity(n);
        type_ids.resize(ids.len(), 0);
        if let Some(second) = second {
            if self.template.opens_second {
                ids.push(self.sep);
            }
            ids.extend_from_slice(&second[..n_second]);
            ids.push(self.sep);
            type_ids.resize(n, 1);
        }
        Encoded {
            ids,
            type_ids,
            second_opened: self.template.opens_second,
            ..Encoded::default()
        }
    }

    /// A pair that was encoded as one input, as two: `[CLS] a [SEP] [CLS] b [SEP]`, longer by
    /// [`Template::n_added_by_separation`]. Others stay as they are.
    pub fn separate(&self, mut encoded: Encoded) -> Encoded {
        if let Some(second) = encoded.type_ids.iter().position(|&kind| kind == 1) {
            if encoded.second_opened {
                encoded.ids[second] = self.cls;
            } else {
                encoded.ids.insert(second, self.cls);
                encoded.type_ids.insert(second, 1);
            }
            encoded.second_opened = true;
            encoded.apart = true;
        }
        encoded
    }

    fn pieces(&self, text: &str) -> Result<Vec<u32>> {
        let encoding = self
            .inner
            .encode_fast(text, false)
            .map_err(|error| anyhow!("{error}"))?;
        Ok(encoding.get_ids().to_vec())
    }

    /// The wordpieces of a word on its own, as with transformers' `is_split_into_words`.
    pub(crate) fn word_pieces(&self, word: &str) -> Result<Vec<u32>> {
        let Some(of_words) = &self.of_words else {
            return self.pieces(word);
        };
        let encoding = of_words
            .encode_fast(word, false)
            .map_err(|error| anyhow!("{error}"))?;
        Ok(encoding.get_ids().to_vec())
    }
}

/// The number of pieces of each text of a pair that are kept in `room`: the last piece of the longer text is removed,
/// or of the second when both are equally long, as in `_truncate_seq_pair` of BERT's released `run_classifier.py`. A
/// single text has a second of length 0.
fn shorten(mut first: usize, mut second: usize, room: usize) -> (usize, usize) {
    let over = (first + second).saturating_sub(room);
    // The longer one is cut to the length of the other first; the rest comes off both in turns, the second one first.
    let alone = over.min(first.abs_diff(second));
    if first > second {
        first -= alone;
    } else {
        second -= alone;
    }
    let rest = over - alone;
    (first - rest / 2, second - rest.div_ceil(2))
}

#[cfg(test)]
mod tests;
