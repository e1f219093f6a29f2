//! A document of a text.

/// Paragraphs that belong together: an article, a chapter, a letter, a book.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// The paragraphs in order; there is at least one, none is empty and none has a line break.
    pub paragraphs: Vec<String>,
}

impl Document {
    /// A document of `paragraphs`; `None` where there are none.
    pub(super) fn of(paragraphs: Vec<String>) -> Option<Self> {
        (!paragraphs.is_empty()).then_some(Self { paragraphs })
    }

    /// The number of words, as divided by white space.
    pub fn words(&self) -> usize {
        let words = |text: &String| text.split_whitespace().count();
        self.paragraphs.iter().map(words).sum()
    }
}
