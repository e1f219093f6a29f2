//! How a file is laid out, and which of its columns are read.

use std::path::Path;
use std::str::FromStr;

use anyhow::{Result, bail};

/// How a file is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Fields between commas, or another separator, under a header line; quoted as in RFC 4180.
    Csv(u8),
    /// Fields between tabs under a header line; a quote is a letter.
    Tsv,
    /// A JSON object on each line.
    Jsonl,
    /// A text on each line.
    Lines,
    /// A word on each line, with its annotations behind it, and a blank line after each sentence.
    Words,
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "csv" => Self::Csv(b','),
            "tsv" => Self::Tsv,
            "jsonl" => Self::Jsonl,
            "lines" => Self::Lines,
            "words" => Self::Words,
            _ => return Err("expected csv, tsv, jsonl, lines or words".to_string()),
        })
    }
}

impl Kind {
    /// That of a file with this name; of a text file, lines of text or of words.
    ///
    /// # Errors
    /// When the name does not tell.
    pub fn of(path: &Path, tags_words: bool) -> Result<Self> {
        let end = path.extension().and_then(|end| end.to_str()).unwrap_or("");
        Ok(match end.to_ascii_lowercase().as_str() {
            "csv" => Self::Csv(b','),
            "tsv" => Self::Tsv,
            "jsonl" | "ndjson" => Self::Jsonl,
            "txt" if !tags_words => Self::Lines,
            "txt" | "conll" | "bio" | "iob" => Self::Words,
            _ => bail!(
                "{}: the name does not say how the file is laid out; expected .csv, .tsv, .jsonl, .txt or .conll, or --format",
                path.display()
            ),
        })
    }
}

/// Which columns are read.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    /// The text, or several columns that are joined; as in training where none is named.
    pub text: Vec<String>,
    /// The second text of a pair; as in training where none is named.
    pub second: Vec<String>,
    /// The label, the score or the tags; as in training where none is named.
    pub label: Option<String>,
}
