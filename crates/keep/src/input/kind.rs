//! File formats of inputs, and the choice of columns.

use std::path::Path;
use std::str::FromStr;

use anyhow::{Result, bail};
use totune_data::uncompressed;

/// Format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Comma-separated fields under a header line, quoted as in RFC 4180; or with this separator, or the one that is
    /// detected in the first rows.
    Csv(Option<u8>),
    /// Tab-separated fields under a header line; quotes are literal unless all fields with one are enclosed.
    Tsv,
    /// JSON objects: one per line, or one array of them.
    Json,
    /// Rows of parquet, which are read as JSON objects.
    Parquet,
    /// One text per line.
    Lines,
    /// One word per line, followed by its annotations, with a blank line after each sentence.
    Words,
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "csv" => Self::Csv(None),
            "tsv" => Self::Tsv,
            "json" | "jsonl" => Self::Json,
            "parquet" => Self::Parquet,
            "lines" => Self::Lines,
            "words" => Self::Words,
            _ => return Err("expected csv, tsv, json, parquet, lines or words".to_string()),
        })
    }
}

impl Kind {
    /// Format of a file with this name, compressed or not.
    ///
    /// # Errors
    /// When the name has no known extension.
    pub fn of(path: &Path) -> Result<Self> {
        let name = uncompressed(path);
        let end = name.extension().and_then(|end| end.to_str()).unwrap_or("");
        Ok(match end.to_ascii_lowercase().as_str() {
            "csv" => Self::Csv(None),
            "tsv" => Self::Tsv,
            "json" | "jsonl" | "ndjson" => Self::Json,
            "txt" => Self::Lines,
            "conll" | "bio" | "iob" => Self::Words,
            "parquet" => Self::Parquet,
            _ => bail!(
                "{}: the name does not say how the file is laid out; expected .csv, .tsv, .jsonl, .json, .parquet, .txt or .conll, each also with .gz or .zst behind it, or --format",
                path.display()
            ),
        })
    }
}

/// Choice of columns.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    /// The text, or several columns that are joined; the same as in training if empty.
    pub text: Vec<String>,
    /// The second text of a pair; the same as in training if empty.
    pub second: Vec<String>,
    /// The label, the score or the tags; the same as in training if `None`.
    pub label: Option<String>,
}

/// Format of a file, where its name and its first rows do not determine it.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Format of the file.
    pub kind: Option<Kind>,
    /// The encoding of its text, such as `windows-1252`.
    pub encoding: Option<String>,
    /// Choice of columns.
    pub columns: Columns,
}
