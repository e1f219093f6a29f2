//! How a file is laid out, and which of its columns are read.

use std::path::Path;
use std::str::FromStr;

use anyhow::{Result, bail};
use totune_data::uncompressed;

/// How a file is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Fields between commas under a header line, quoted as in RFC 4180; or between this separator, or the one that the
    /// first rows show.
    Csv(Option<u8>),
    /// Fields between tabs under a header line; a quote is a letter unless all fields with one are enclosed.
    Tsv,
    /// JSON objects: one on each line, or one array of them.
    Json,
    /// A text on each line.
    Lines,
    /// A word on each line, with its annotations behind it, and a blank line after each sentence.
    Words,
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "csv" => Self::Csv(None),
            "tsv" => Self::Tsv,
            "json" | "jsonl" => Self::Json,
            "lines" => Self::Lines,
            "words" => Self::Words,
            _ => return Err("expected csv, tsv, json, lines or words".to_string()),
        })
    }
}

impl Kind {
    /// That of a file with this name, compressed or not; of a text file, lines of text or of words.
    ///
    /// # Errors
    /// When the name does not tell.
    pub fn of(path: &Path, tags_words: bool) -> Result<Self> {
        let name = uncompressed(path);
        let end = name.extension().and_then(|end| end.to_str()).unwrap_or("");
        Ok(match end.to_ascii_lowercase().as_str() {
            "csv" => Self::Csv(None),
            "tsv" => Self::Tsv,
            "json" | "jsonl" | "ndjson" => Self::Json,
            "txt" if !tags_words => Self::Lines,
            "txt" | "conll" | "bio" | "iob" => Self::Words,
            _ => bail!(
                "{}: the name does not say how the file is laid out; expected .csv, .tsv, .jsonl, .json, .txt or .conll, each also with .gz or .zst behind it, or --format",
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

/// How a file is to be read, where its name and its first rows do not say.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// How it is laid out.
    pub kind: Option<Kind>,
    /// The encoding of its text, such as `windows-1252`.
    pub encoding: Option<String>,
    /// Which columns are read.
    pub columns: Columns,
}
