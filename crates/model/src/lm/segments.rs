//! A batch for a bidirectional language model: segments of text, each distinct word of them once.

use std::collections::HashMap;

use burn::tensor::{Device, Int, Tensor, TensorData};

use crate::encoder::elmo::{CHARACTERS, Spelling};

/// Segments of text (sentences, or parts of paragraphs), each read between `<S>` and `</S>`.
///
/// Words are distinguished by their characters, not by their ids: words outside the vocabulary share an id but are read
/// as they are spelled. The characters of a word are computed once, however often it occurs.
#[derive(Debug, Clone)]
pub struct Segments {
    start: u32,
    end: u32,
    /// Distinct words.
    words: Vec<Spelling>,
    numbers: HashMap<Spelling, u32>,
    /// The distinct word at each place of all segments, one after the other.
    places: Vec<u32>,
    /// Vocabulary id of the word at each place.
    ids: Vec<u32>,
    lengths: Vec<usize>,
}

impl Segments {
    /// No segments yet; `start` and `end` are the ids of `<S>` and `</S>` in the vocabulary.
    pub fn new(start: u32, end: u32) -> Self {
        Self {
            start,
            end,
            words: Vec::new(),
            numbers: HashMap::new(),
            places: Vec::new(),
            ids: Vec::new(),
            lengths: Vec::new(),
        }
    }

    /// Adds a segment: of each word its characters (as `totune_data::characters::spell` gives them) and its id. One
    /// without words is left out.
    pub fn push(&mut self, segment: impl IntoIterator<Item = (Spelling, u32)>) {
        let before = self.places.len();
        for (spelling, id) in segment {
            let next = self.words.len() as u32;
            let number = *self.numbers.entry(spelling).or_insert(next);
            if number == next {
                self.words.push(spelling);
            }
            self.places.push(number);
            self.ids.push(id);
        }
        if self.places.len() > before {
            self.lengths.push(self.places.len() - before);
        }
    }

    /// Words of all segments.
    pub fn n_words(&self) -> usize {
        self.places.len()
    }

    /// Lengths of the segments in words.
    pub(crate) fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// The distinct word at each place.
    pub(crate) fn places(&self) -> &[u32] {
        &self.places
    }

    /// Characters of the distinct words, `[distinct, 50]`.
    pub(crate) fn characters(&self, device: &Device) -> Tensor<2, Int> {
        let ids: Vec<i64> = self.words.iter().flatten().map(|&id| id.into()).collect();
        Tensor::from_data(TensorData::new(ids, [self.words.len(), CHARACTERS]), device)
    }

    /// The id at `row`: that of the word there; after the words come `<S>` and `</S>`.
    pub(crate) fn id(&self, row: usize) -> i64 {
        let n = self.ids.len();
        i64::from(match row {
            row if row < n => self.ids[row],
            row if row == n => self.start,
            _ => self.end,
        })
    }
}
