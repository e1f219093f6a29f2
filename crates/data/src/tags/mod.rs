//! Tag schemes: spans of words as one tag per word, and back.
//!
//! All schemes are read by one rule, that of the CoNLL script `conlleval`: a tag that no well-formed sequence would have
//! at its place still means something. `I-PER` after `O` opens a span, and so does any tag of another type than the one
//! before it. A tag is ill-formed when it is not the one its scheme would write for the spans the sequence is read as.

mod scheme;
mod set;

pub use scheme::Scheme;
pub use set::TagSet;

/// A run of words of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// Its first word.
    pub start: usize,
    /// The word after its last.
    pub end: usize,
    /// Index into the types.
    pub class: usize,
}

/// The tags of a dataset, and the scheme and ill-formed tags of the file they were read from.
#[derive(Clone, Debug, PartialEq)]
pub struct Tagging {
    /// The tags that the labels of the dataset are.
    pub set: TagSet,
    /// The scheme the file is in.
    pub file: Scheme,
    /// Tags of the file that its scheme would not write for the spans they are read as.
    pub ill_formed: usize,
}
