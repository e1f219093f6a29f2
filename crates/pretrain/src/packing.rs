//! Packing of text into sequences without padding.
//!
//! The documents of an epoch are put one after the other in an order of its own, a `[SEP]` after each, and cut into
//! chunks of `length - 2`; each becomes a sequence `[CLS] chunk [SEP]` (FULL-SENTENCES of Liu et al. 2019, section 4.2,
//! but cut at any wordpiece). What is left at the end of an epoch is less than a sequence, or less than a batch, and is
//! not trained on.
//!
//! A sequence only depends on seed, stage, epoch and number, so a run can resume at any step without a state.

use std::ops::Range;

use totune_data::{random, stream};

/// Encoded documents, one after the other; wordpieces take 16 bits, words 32.
#[derive(Debug, Clone, PartialEq)]
pub struct Documents<Id = u16> {
    ids: Vec<Id>,
    /// End of each document.
    ends: Vec<usize>,
}

impl<Id> Default for Documents<Id> {
    fn default() -> Self {
        Self {
            ids: Vec::new(),
            ends: Vec::new(),
        }
    }
}

impl<Id> Documents<Id> {
    /// Adds a document; one without ids is left out.
    pub fn push(&mut self, ids: impl IntoIterator<Item = Id>) {
        let before = self.ids.len();
        self.ids.extend(ids);
        if self.ids.len() > before {
            self.ends.push(self.ids.len());
        }
    }

    /// Number of documents.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if there are no documents.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Number of ids of all documents.
    pub fn n_tokens(&self) -> usize {
        self.ids.len()
    }

    /// Returns the ids of all documents.
    pub fn ids(&self) -> &[Id] {
        &self.ids
    }

    /// Returns the same documents with each id replaced.
    pub fn map(mut self, to: impl Fn(Id) -> Id) -> Self
    where
        Id: Copy,
    {
        self.ids.iter_mut().for_each(|id| *id = to(*id));
        self
    }

    /// Returns the ids of document `i`.
    pub fn document(&self, i: usize) -> &[Id] {
        &self.ids[self.range(i)]
    }

    fn range(&self, i: usize) -> Range<usize> {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        start..self.ends[i]
    }
}

/// Held-out text by the name of its card.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldOut<Id = u16>(Vec<(String, Documents<Id>)>);

impl<Id> FromIterator<(String, Documents<Id>)> for HeldOut<Id> {
    /// Collects the texts that have documents.
    fn from_iter<T: IntoIterator<Item = (String, Documents<Id>)>>(texts: T) -> Self {
        let texts = texts.into_iter();
        Self(
            texts
                .filter(|(_, documents)| !documents.is_empty())
                .collect(),
        )
    }
}

impl<Id> HeldOut<Id> {
    /// Names of the texts.
    pub fn names(&self) -> Vec<String> {
        self.0.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Returns the documents of one of them.
    ///
    /// # Panics
    /// When there is no such text.
    pub fn text(&self, name: &str) -> &Documents<Id> {
        let found = self.0.iter().find(|(other, _)| other == name);
        let (_, documents) = found.unwrap_or_else(|| panic!("no held-out text `{name}`"));
        documents
    }
}

/// Boundary tokens of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    /// `[CLS]`.
    pub first: u16,
    /// `[SEP]`.
    pub last: u16,
}

/// Documents in a given order, cut into sequences of one length.
#[derive(Debug)]
pub struct Packed<'a> {
    documents: &'a Documents,
    marks: Marks,
    /// Number of wordpieces of a sequence between its boundary tokens.
    body: usize,
    /// Documents in their order.
    order: Vec<u32>,
    /// End of each document in the stream, its `[SEP]` included.
    ends: Vec<usize>,
}

impl<'a> Packed<'a> {
    /// Packs the documents in their own order.
    pub fn in_order(documents: &'a Documents, marks: Marks, length: usize) -> Self {
        let order = (0..documents.len() as u32).collect();
        Self::new(documents, marks, length, order)
    }

    /// Packs the documents in the order of one epoch of one stage.
    pub fn shuffled(
        documents: &'a Documents,
        marks: Marks,
        length: usize,
        (seed, stage, epoch): (u64, usize, usize),
    ) -> Self {
        let mut order: Vec<u32> = (0..documents.len() as u32).collect();
        let name = format!("documents of stage {stage}");
        random::shuffle(&mut order, &mut stream(seed, &name, epoch as u64));
        Self::new(documents, marks, length, order)
    }

    fn new(documents: &'a Documents, marks: Marks, length: usize, order: Vec<u32>) -> Self {
        assert!(length > 2, "a sequence of {length} has no room for text");
        let mut end = 0;
        let ends = order
            .iter()
            .map(|&i| {
                end += documents.range(i as usize).len() + 1;
                end
            })
            .collect();
        Self {
            documents,
            marks,
            body: length - 2,
            order,
            ends,
        }
    }

    /// Number of sequences.
    pub fn len(&self) -> usize {
        self.ends.last().map_or(0, |end| end / self.body)
    }

    /// Returns true if there are no sequences.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends sequence `i` to `to`, `length` ids.
    ///
    /// # Panics
    /// When there is no such sequence.
    pub fn sequence(&self, i: usize, to: &mut Vec<u16>) {
        assert!(i < self.len(), "sequence {i} of {}", self.len());
        to.push(self.marks.first);
        let mut at = i * self.body;
        let end = at + self.body;
        let mut document = self.ends.partition_point(|&end| end <= at);
        while at < end {
            let range = self.documents.range(self.order[document] as usize);
            let begins = self.ends[document] - range.len() - 1;
            let skipped = at - begins;
            let taken = range.len().saturating_sub(skipped).min(end - at);
            to.extend_from_slice(&self.documents.ids[range.start + skipped..][..taken]);
            at += taken;
            if at < end && at + 1 == self.ends[document] {
                to.push(self.marks.last);
                at += 1;
            }
            document += 1;
        }
        to.push(self.marks.last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKS: Marks = Marks { first: 1, last: 2 };

    fn three() -> Documents {
        let mut documents = Documents::default();
        documents.push([10, 11, 12]);
        documents.push([]);
        documents.push([20]);
        documents.push([30, 31, 32, 33, 34]);
        documents
    }

    fn sequences(packed: &Packed) -> Vec<Vec<u16>> {
        let sequence = |i| {
            let mut ids = Vec::new();
            packed.sequence(i, &mut ids);
            ids
        };
        (0..packed.len()).map(sequence).collect()
    }

    #[test]
    fn documents_are_cut_without_padding_and_without_a_gap() {
        let documents = three();
        let packed = Packed::in_order(&documents, MARKS, 5);
        // 10 11 12 | 2 20 2 | 30 31 32 | 33 34 2
        assert_eq!(
            sequences(&packed),
            [
                [1, 10, 11, 12, 2],
                [1, 2, 20, 2, 2],
                [1, 30, 31, 32, 2],
                [1, 33, 34, 2, 2]
            ]
        );
    }

    #[test]
    fn what_does_not_fill_a_sequence_is_left_out() {
        let documents = three();
        assert_eq!(Packed::in_order(&documents, MARKS, 7).len(), 2); // 12 wordpieces in pieces of 5
        assert!(Packed::in_order(&documents, MARKS, 20).is_empty());
    }

    #[test]
    fn an_epoch_has_every_document_once_in_an_order_of_its_own() {
        let mut documents = Documents::default();
        (0..50u16).for_each(|i| documents.push([100 + i]));
        let of_epoch = |epoch| {
            let packed = Packed::shuffled(&documents, MARKS, 6, (1, 0, epoch));
            sequences(&packed).concat()
        };
        let (first, second) = (of_epoch(0), of_epoch(1));
        assert_ne!(first, second);
        assert_eq!(first, of_epoch(0));
        let texts = |ids: Vec<u16>| {
            let mut texts: Vec<u16> = ids.into_iter().filter(|id| *id >= 100).collect();
            texts.sort();
            texts
        };
        assert_eq!(texts(first), (100..150).collect::<Vec<_>>());
        assert_eq!(texts(second), (100..150).collect::<Vec<_>>());
    }
}
