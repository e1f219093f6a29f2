//! Sentences of words as windows: each word with the place of the token that represents it.

use super::windows::{Context, Cut, cut};
use super::{Encoded, Tokenizer};
use crate::Example;
use anyhow::{Context as _, Result, ensure};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// The subword that represents a word. Devlin et al. 2019 and Peters et al. 2019 take the first; AllenNLP 0.8's
/// `use_starting_offsets` is off by default, and takes the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubwordChoice {
    /// The first.
    First,
    /// The last.
    Last,
}

/// The settings by which sentences become windows. Each is a setting of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Alignment {
    /// The subword that represents a word.
    pub piece: SubwordChoice,
    /// The context around a sentence.
    pub context: Context,
    /// Most ids in a window, special ones included.
    pub max_length: usize,
}

/// A sentence, or a part of one that is too long, as a model reads it: `[CLS] … [SEP]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The ids, those of the context among them.
    pub encoded: Encoded,
    /// The sentence: an index into the examples.
    pub example: usize,
    /// The words of the sentence that are scored here; each is in one window only.
    pub words: Range<usize>,
    /// For each of `words`, the place of the id that represents it.
    pub positions: Vec<u32>,
    /// For each of `words`, the place of its last piece.
    pub ends: Vec<u32>,
}

impl Tokenizer {
    /// The sentences `examples` as windows in which every word is scored once, in the order of the examples; the result
    /// does not depend on the number of `threads`.
    ///
    /// The pieces of a word are those of the word by itself, as with transformers' `is_split_into_words`. A word
    /// without any (of control characters, say) is one `[UNK]`, and of a word with more pieces than a window holds only
    /// the first ones are read (or the last, if the last represents it). A sentence that is longer than a window is
    /// read in several that overlap by half, without context from outside of it, and each word is scored in the window
    /// that has most context around it.
    ///
    /// A document is a run of neighbouring examples of one group; an example without a group has no context. So all of
    /// a split is passed at once, and windows are selected by their `example` afterwards.
    pub fn windows(
        &self,
        examples: &[Example],
        alignment: &Alignment,
        threads: usize,
    ) -> Result<Vec<Window>> {
        let Alignment {
            piece,
            context,
            max_length,
        } = *alignment;
        ensure!(
            max_length > 2,
            "max_length: {max_length}; expected at least 3: two special tokens and a piece"
        );
        let known = examples.iter().any(|example| example.group.is_some());
        ensure!(
            context == Context::Sentence || examples.is_empty() || known,
            "context: `document`, but no sentence belongs to a document; expected a layout with document boundaries"
        );
        let sentences = examples.iter().map(|example| {
            let words = example.input.words();
            words.with_context(|| format!("example `{}`: a text; expected words", example.id))
        });
        let sentences: Vec<&[String]> = sentences.collect::<Result<_>>()?;
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads.max(1))
            .build()
            .context("cannot start threads")?;
        pool.install(|| {
            let vocabulary = self.vocabulary(&sentences, piece, max_length - 2)?;
            let windows: Vec<Vec<Window>> = documents(examples, context)
                .into_par_iter()
                .map(|document| {
                    let document = Document::new(&sentences, document, &vocabulary);
                    document.windows(self, alignment)
                })
                .collect();
            Ok(windows.into_iter().flatten().collect())
        })
    }

    /// The pieces of each distinct word, at least one and at most `room`.
    fn vocabulary<'a>(
        &self,
        sentences: &[&'a [String]],
        piece: SubwordChoice,
        room: usize,
    ) -> Result<HashMap<&'a str, Vec<u32>>> {
        let words = sentences.iter().copied().flatten().map(String::as_str);
        let words: HashSet<&str> = words.collect();
        let pieces = |word: &'a str| {
            let mut pieces = self
                .word_pieces(word)
                .with_context(|| format!("word `{word}`"))?;
            if pieces.is_empty() {
                pieces.push(self.unk);
            }
            let surplus = pieces.len().saturating_sub(room);
            match piece {
                SubwordChoice::First => pieces.truncate(room),
                SubwordChoice::Last => drop(pieces.drain(..surplus)),
            }
            Ok((word, pieces))
        };
        words.into_par_iter().map(pieces).collect()
    }
}

/// The ranges of examples that may be context for each other.
fn documents(examples: &[Example], context: Context) -> Vec<Range<usize>> {
    let together = |a: &Example, b: &Example| {
        context == Context::Document && a.group.is_some() && a.group == b.group
    };
    let mut start = 0;
    examples
        .chunk_by(together)
        .map(|document| {
            let range = start..start + document.len();
            start = range.end;
            range
        })
        .collect()
}

/// The pieces of neighbouring sentences, one after the other.
struct Document {
    /// Index of its first example.
    first: usize,
    ids: Vec<u32>,
    /// Pieces before each word, and of all words.
    before: Vec<usize>,
    /// The words of each sentence.
    sentences: Vec<Range<usize>>,
}

impl Document {
    fn new(
        sentences: &[&[String]],
        examples: Range<usize>,
        vocabulary: &HashMap<&str, Vec<u32>>,
    ) -> Self {
        let mut document = Self {
            first: examples.start,
            ids: Vec::new(),
            before: vec![0],
            sentences: Vec::new(),
        };
        for words in &sentences[examples] {
            let start = document.before.len() - 1;
            for word in *words {
                document.ids.extend(&vocabulary[word.as_str()]);
                document.before.push(document.ids.len());
            }
            document.sentences.push(start..start + words.len());
        }
        document
    }

    fn windows(&self, tokenizer: &Tokenizer, alignment: &Alignment) -> Vec<Window> {
        let room = alignment.max_length - 2;
        let of = |(index, sentence): (usize, &Range<usize>)| {
            let cuts = cut(&self.before, sentence.clone(), room, alignment.context);
            let (example, start) = (self.first + index, sentence.start);
            let window =
                move |cut: Cut| self.window(tokenizer, alignment.piece, example, start, cut);
            cuts.into_iter().map(window)
        };
        self.sentences.iter().enumerate().flat_map(of).collect()
    }

    /// The window `cut` of the sentence that begins with the word `start`.
    fn window(
        &self,
        tokenizer: &Tokenizer,
        piece: SubwordChoice,
        example: usize,
        start: usize,
        cut: Cut,
    ) -> Window {
        let from = self.before[cut.held.start];
        let pieces = &self.ids[from..self.before[cut.held.end]];
        let ids: Vec<u32> = [&[tokenizer.cls][..], pieces, &[tokenizer.sep]].concat();
        let place = |word: usize| match piece {
            SubwordChoice::First => self.before[word],
            SubwordChoice::Last => self.before[word + 1] - 1,
        };
        // One place further on, for `[CLS]`.
        let shifted = |place: usize| (place - from + 1) as u32;
        let words = || cut.scored.clone();
        Window {
            positions: words().map(|word| shifted(place(word))).collect(),
            ends: words()
                .map(|word| shifted(self.before[word + 1] - 1))
                .collect(),
            encoded: Encoded {
                type_ids: vec![0; ids.len()],
                ids,
                ..Encoded::default()
            },
            example,
            words: cut.scored.start - start..cut.scored.end - start,
        }
    }
}

impl Window {
    /// The indices of the scored words' states among the rows `[batch * seq, hidden]` of a batch, for windows padded to
    /// `seq` columns; in the order of the windows and of their words.
    pub fn rows(windows: &[&Window], seq: usize) -> Vec<i64> {
        let rows = windows.iter().enumerate().flat_map(|(row, window)| {
            let places = window.positions.iter();
            places.map(move |&place| (row * seq) as i64 + i64::from(place))
        });
        rows.collect()
    }
}
