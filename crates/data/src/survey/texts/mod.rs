//! Surveys of texts before language models are trained on them: the same ones as of datasets.

mod check;
mod list;
mod stats;
mod stats_table;

pub use check::{CheckedText, check_text};
pub use list::{ListedPart, ListedText, listed_text, texts_table};
pub use stats::{HeldOutWords, ShareOfTop, TextStatistics, TopWord};
pub use stats_table::text_statistics_text;

use crate::{Document, TextPart};
use serde::Serialize;

/// The size of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TextCounts {
    /// Documents.
    pub documents: usize,
    /// Paragraphs.
    pub paragraphs: usize,
    /// Words, as divided by white space.
    pub words: usize,
}

impl TextCounts {
    /// The counts of `documents`.
    pub fn of(documents: &[Document]) -> Self {
        let paragraphs = documents.iter().map(|document| document.paragraphs.len());
        Self {
            documents: documents.len(),
            paragraphs: paragraphs.sum(),
            words: documents.iter().map(Document::words).sum(),
        }
    }
}

/// The word that cards use.
fn word(part: TextPart) -> &'static str {
    match part {
        TextPart::Train => "train",
        TextPart::HeldOut => "held-out",
    }
}
