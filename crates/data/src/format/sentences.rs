//! Sentences cut into words, as a file has them.

use super::{FormatError, Unit};
use std::path::{Path, PathBuf};

/// The sentences of a file, in its order.
#[derive(Clone, Debug, PartialEq)]
pub struct Sentences {
    path: PathBuf,
    unit: Unit,
    /// 1 where each word has a line of its own, 0 where the whole sentence is on one.
    lines_per_word: usize,
    /// The sentences.
    pub all: Vec<Sentence>,
}

/// A sentence, its tags as the file has them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sentence {
    /// The line it starts on, counted from one; of a file that is not text, the row.
    pub line: usize,
    /// Its name, where the file has one.
    pub id: Option<String>,
    /// The document it belongs to, where the file says so.
    pub document: Option<String>,
    /// Its words: at least one, and none of them empty.
    pub words: Vec<String>,
    /// A tag for each word, where the file has them.
    pub tags: Option<Vec<String>>,
}

impl Sentences {
    /// The sentences of a column file.
    pub(super) fn of_columns(path: &Path, all: Vec<Sentence>) -> Self {
        Self {
            path: path.to_path_buf(),
            unit: Unit::Line,
            lines_per_word: 1,
            all,
        }
    }

    /// The sentences of a file of lists.
    pub(super) fn of_lists(path: &Path, unit: Unit, all: Vec<Sentence>) -> Self {
        Self {
            path: path.to_path_buf(),
            unit,
            lines_per_word: 0,
            all,
        }
    }

    /// The position of a line, or else a row, of this file in words: `line 7`.
    pub fn place(&self, line: usize) -> String {
        format!("{} {line}", self.unit.name())
    }

    /// An error at a word of one of these sentences, counted from zero.
    pub fn error(&self, sentence: &Sentence, word: usize, problem: String) -> FormatError {
        FormatError {
            path: self.path.clone(),
            unit: self.unit,
            line: sentence.line + word * self.lines_per_word,
            problem,
        }
    }
}

impl Sentence {
    /// This sentence of a file of lists, unless it has no words, an empty word, or not one tag per word.
    pub(super) fn checked(self) -> Result<Self, String> {
        let n = self.words.len();
        if n == 0 {
            return Err("no words; expected at least one".into());
        }
        if let Some(word) = self.words.iter().position(String::is_empty) {
            let number = word + 1;
            return Err(format!(
                "word {number} of {n} is empty; expected none to be"
            ));
        }
        match &self.tags {
            Some(tags) if tags.len() != n => {
                let found = tags.len();
                Err(format!("{found} tags for {n} words; expected one for each"))
            }
            _ => Ok(self),
        }
    }
}
