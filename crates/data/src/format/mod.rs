//! Raw formats: bytes in, named columns out.
//!
//! A format knows nothing of labels or tasks. Whatever is wrong with a file comes back as a [`FormatError`] with the
//! line it was found on.

mod delimited;
mod table;

pub use delimited::{Delimited, Extra, LineBreaks, Quotes};
pub use table::{FormatError, Row, Table, Unit};

use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::path::Path;
use table::select;

/// How a file is laid out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Format {
    /// Fields between commas, quoted as in RFC 4180, under a header line, unless the settings say otherwise.
    Csv(Delimited),
    /// Fields between tabs in which a quote is a letter, under a header line, unless the settings say otherwise.
    Tsv(Delimited),
}

impl Format {
    /// The columns `wanted` of the file `bytes`, which came from `path`; all columns if none are named.
    ///
    /// What is not wanted is not kept, and may be of any type.
    pub fn table<'a>(
        &self,
        path: &Path,
        bytes: &'a [u8],
        wanted: Option<&[&str]>,
    ) -> Result<Table<'a>, FormatError> {
        match self {
            Format::Csv(settings) => settings.read(b',', Quotes::Doubled, path, bytes, wanted),
            Format::Tsv(settings) => settings.read(b'\t', Quotes::None, path, bytes, wanted),
        }
    }

    /// Whether the settings can be meant.
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Format::Csv(settings) | Format::Tsv(settings) => settings.check(),
        }
    }
}

/// `bytes` as text without a byte order mark.
fn text<'a>(path: &Path, bytes: &'a [u8]) -> Result<&'a str, FormatError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let line = 1 + bytes[..at].iter().filter(|&&byte| byte == b'\n').count();
        let problem = format!("byte 0x{:02x} is not UTF-8; expected UTF-8 text", bytes[at]);
        FormatError::on_line(path, line, problem)
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}
