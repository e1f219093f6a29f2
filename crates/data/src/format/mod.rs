//! Raw formats: bytes in, named columns out.
//!
//! A format knows nothing of labels or tasks. Whatever is wrong with a file comes back as a [`FormatError`] with the
//! line it was found on.

mod csv;
mod quotes;

use crate::near::{did_you_mean, quoted};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// How a file is laid out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Format {
    /// Comma-separated values with a header line, quoted as in RFC 4180.
    Csv(Csv),
}

/// Comma-separated values; nothing to choose yet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Csv {}

impl Format {
    /// The rows in `bytes`, which came from `path`.
    pub fn table(&self, path: &Path, bytes: &[u8]) -> Result<Table, FormatError> {
        match self {
            Format::Csv(_) => csv::read(path, bytes),
        }
    }
}

/// The rows of a file under its column names.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The file the rows came from.
    pub path: PathBuf,
    /// Column names in file order, and the line they are on.
    pub header: Row,
    /// Rows in file order, each with as many fields as the header.
    pub rows: Vec<Row>,
}

/// One row of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The line the row starts on, counted from one; a quoted field may span several.
    pub line: usize,
    /// Its fields.
    pub fields: Vec<String>,
}

impl Table {
    /// The index of column `name`.
    pub fn column(&self, name: &str) -> Result<usize, FormatError> {
        let mut found = self
            .header
            .fields
            .iter()
            .enumerate()
            .filter(|(_, column)| *column == name);
        match (found.next(), found.next()) {
            (Some((index, _)), None) => Ok(index),
            (Some(_), Some(_)) => Err(self.error(
                self.header.line,
                format!("column `{name}` is named twice; expected it once"),
            )),
            (None, _) => {
                let names = || self.header.fields.iter().map(String::as_str);
                let hint = did_you_mean(name, names());
                let found = quoted(names());
                Err(self.error(
                    self.header.line,
                    format!("no column `{name}`{hint}found {found}"),
                ))
            }
        }
    }

    /// An error on `line` of this file.
    pub fn error(&self, line: usize, problem: String) -> FormatError {
        FormatError {
            path: self.path.clone(),
            line,
            problem,
        }
    }
}

/// What is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}: line {line}: {problem}", path.display())]
pub struct FormatError {
    /// The file.
    pub path: PathBuf,
    /// The line, counted from one.
    pub line: usize,
    /// What was found and what was expected.
    pub problem: String,
}

/// `bytes` as text without a byte order mark.
fn text<'a>(path: &Path, bytes: &'a [u8]) -> Result<&'a str, FormatError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        FormatError {
            path: path.to_path_buf(),
            line: 1 + bytes[..at].iter().filter(|&&byte| byte == b'\n').count(),
            problem: format!("byte 0x{:02x} is not UTF-8; expected UTF-8 text", bytes[at]),
        }
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}
