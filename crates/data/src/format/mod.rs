//! Raw formats: bytes in, named columns or sentences out.
//!
//! A format knows nothing of labels or tasks. Whatever is wrong with a file comes back as a [`FormatError`] with the
//! line it was found on.

mod conll;
mod delimited;
mod json_array;
mod jsonl;
mod jsonl_lists;
mod parquet;
mod parquet_lists;
mod parquet_rows;
mod parquet_types;
mod sentences;
mod stream;
mod table;
mod trees;

pub use conll::{Conll, DOCUMENT, Separator};
pub use delimited::{Delimited, Extra, LineBreaks, Quotes};
pub use jsonl::Jsonl;
pub use parquet::Parquet;
pub use sentences::{Sentence, Sentences};
pub use stream::TextStream;
pub use table::{FormatError, Row, Table, Unit};
pub use trees::{Escapes, Granularity, Phrases, SentimentTrees};

use crate::columns::Columns;
use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use std::path::Path;
use table::select;

/// The layout of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Format {
    /// Fields between commas, quoted as in RFC 4180, under a header line, unless the settings say otherwise.
    Csv(Delimited),
    /// Fields between tabs in which a quote is a letter, under a header line, unless the settings say otherwise.
    Tsv(Delimited),
    /// A JSON object on each line, whose keys are the columns; of a tagging dataset with lists of words and tags.
    Jsonl(Jsonl),
    /// One array of such objects.
    Json(Jsonl),
    /// Parquet with columns of text, numbers and booleans; of a tagging dataset with lists of words and tags.
    Parquet(Parquet),
    /// The bracketed trees of the Stanford Sentiment Treebank.
    SentimentTrees(SentimentTrees),
    /// A word and its annotations per line, a blank line after each sentence: CoNLL's column files.
    Conll(Conll),
}

impl Format {
    /// The columns `wanted` of the file `bytes`, which came from `path`; all columns if none are named.
    ///
    /// Other columns are not kept, and may be of any type.
    pub fn table<'a>(
        &self,
        path: &Path,
        bytes: &'a [u8],
        wanted: Option<&[&str]>,
    ) -> Result<Table<'a>, FormatError> {
        self.table_with_lists(path, bytes, wanted, &|_| false)
    }

    /// Like [`Format::table`], where the values of the columns of JSON and parquet that `is_list` accepts may be lists of
    /// strings and numbers, whose fields are these lists as JSON.
    pub fn table_with_lists<'a>(
        &self,
        path: &Path,
        bytes: &'a [u8],
        wanted: Option<&[&str]>,
        is_list: &dyn Fn(&str) -> bool,
    ) -> Result<Table<'a>, FormatError> {
        match self {
            Format::Csv(settings) => settings.read(b',', Quotes::Doubled, path, bytes, wanted),
            Format::Tsv(settings) => settings.read(b'\t', Quotes::None, path, bytes, wanted),
            Format::Jsonl(settings) => settings.read(path, bytes, (wanted, is_list)),
            Format::Json(settings) => settings.read_array(path, bytes, (wanted, is_list)),
            Format::Parquet(settings) => settings.read(path, bytes, (wanted, is_list)),
            Format::SentimentTrees(settings) => settings.read(path, bytes, wanted),
            Format::Conll(_) => Err(FormatError::on_line(path, 1, NO_TABLE.into())),
        }
    }

    /// The sentences of the file `bytes`, which came from `path`. Where `labelled` is false, no tags are read.
    pub fn sentences(
        &self,
        path: &Path,
        bytes: &[u8],
        columns: &Columns,
        labelled: bool,
    ) -> Result<Sentences, FormatError> {
        match self {
            Format::Conll(settings) => settings.read(path, bytes, columns, labelled),
            Format::Jsonl(_) => jsonl_lists::read(path, bytes, columns, labelled),
            Format::Json(_) => jsonl_lists::read_array(path, bytes, columns, labelled),
            Format::Parquet(_) => parquet_lists::read(path, bytes, columns, labelled),
            Format::Csv(_) | Format::Tsv(_) | Format::SentimentTrees(_) => {
                Err(FormatError::on_line(path, 1, NO_SENTENCES.into()))
            }
        }
    }

    /// Checks that a task can be read from this format, and that `columns` are columns it can have.
    pub(crate) fn check_for(&self, columns: &Columns, tagging: bool) -> Result<()> {
        let (table, sentences) = match self {
            Format::Conll(_) => (false, true),
            Format::Jsonl(_) | Format::Json(_) | Format::Parquet(_) => (true, true),
            Format::Csv(_) | Format::Tsv(_) | Format::SentimentTrees(_) => (true, false),
        };
        ensure!(!tagging || sentences, "format: {NO_SENTENCES}");
        ensure!(tagging || table, "format: {NO_TABLE}");
        match self {
            Format::Conll(settings) => settings.check_columns(columns),
            _ => Ok(()),
        }
    }

    /// Checks that the settings are valid.
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Format::Csv(settings) | Format::Tsv(settings) => settings.check(),
            Format::Jsonl(_) | Format::Json(_) | Format::Parquet(_) | Format::SentimentTrees(_) => {
                Ok(())
            }
            Format::Conll(settings) => settings.check(),
        }
    }
}

const NO_TABLE: &str =
    "words and tags; expected a table, such as `csv`, unless the task is tagging";
const NO_SENTENCES: &str = "a table of texts; expected words and tags, so `conll`, `jsonl` or `parquet`, since the task is tagging";

/// `bytes` as text without a byte order mark.
pub(crate) fn text<'a>(path: &Path, bytes: &'a [u8]) -> Result<&'a str, FormatError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let line = 1 + bytes[..at].iter().filter(|&&byte| byte == b'\n').count();
        let problem = format!("byte 0x{:02x} is not UTF-8; expected UTF-8 text", bytes[at]);
        FormatError::on_line(path, line, problem)
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}
