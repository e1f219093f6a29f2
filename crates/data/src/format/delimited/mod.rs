//! Delimited text: fields between separators, one row a line, names in a header line or declared.

use super::{FormatError, Table, Unit, select, text};
use anyhow::{Result, ensure};
use memchr::{memchr, memchr2, memchr3};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;
use totune_toml::quoted;

/// Settings of delimited text. Settings that are not given have the kind's defaults: commas and quotes for `csv`, tabs
/// and none for `tsv`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Delimited {
    /// The separator of fields.
    #[serde(default)]
    pub separator: Option<char>,
    /// The use of quotes around fields.
    #[serde(default)]
    pub quotes: Option<Quotes>,
    /// The names of the columns of a file without a header line.
    #[serde(default)]
    pub header: Option<Vec<String>>,
    /// Handling of fields beyond the last column.
    #[serde(default)]
    pub extra: Extra,
    /// The form of a line break within a field.
    #[serde(default)]
    pub line_breaks: LineBreaks,
}

/// The use of quotes around fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quotes {
    /// Quotes as in RFC 4180: a field may be quoted, may then hold separators and line breaks, and a quote in it is
    /// doubled.
    Doubled,
    /// A quote is a letter.
    None,
}

/// Handling of fields beyond the last column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Extra {
    /// They are an error.
    #[default]
    Refuse,
    /// They are left out, as the licence columns that some rows of the STS benchmark have.
    Ignore,
}

/// The form of a line break within a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LineBreaks {
    /// A line break.
    #[default]
    Plain,
    /// A backslash and the letter n, as in Yahoo Answers. Nothing else is escaped there, not even a backslash.
    BackslashN,
}

impl Delimited {
    pub(super) fn check(&self) -> Result<()> {
        if let Some(separator) = self.separator {
            let plain = separator.is_ascii() && !matches!(separator, '"' | '\n' | '\r');
            ensure!(
                plain,
                "format.separator: {separator:?}; expected an ASCII character other than a quote or a line end"
            );
        }
        if let Some(header) = &self.header {
            ensure!(
                !header.is_empty(),
                "format.header: an empty list; expected the names of the columns in file order"
            );
            let mut seen = HashSet::new();
            if let Some(twice) = header.iter().find(|name| !seen.insert(*name)) {
                anyhow::bail!("format.header: `{twice}` is listed twice; expected once");
            }
        }
        Ok(())
    }

    /// Reads a file whose kind has `separator` and `quotes` for what the settings leave out.
    pub(super) fn read<'a>(
        &self,
        separator: u8,
        quotes: Quotes,
        path: &Path,
        bytes: &'a [u8],
        wanted: Option<&[&str]>,
    ) -> Result<Table<'a>, FormatError> {
        let error = |(line, problem)| FormatError::on_line(path, line, problem);
        let text = text(path, bytes)?;
        let mut scan = Scan {
            text,
            at: 0,
            line: 1,
            separator: self.separator.map_or(separator, |own| own as u8),
        };
        let quotes = self.quotes.unwrap_or(quotes);
        let mut record: Vec<Cow<str>> = Vec::new();
        let (names, header_line) = match &self.header {
            Some(names) => (names.clone(), 1),
            None => match scan.record(quotes, &mut record).map_err(error)? {
                Some(line) => (record.iter().map(|name| name.to_string()).collect(), line),
                None => {
                    let problem = "the file is empty; expected a header line";
                    return Err(error((1, problem.into())));
                }
            },
        };
        let kept = select(&names, wanted).map_err(|problem| error((header_line, problem)))?;
        let columns = kept.iter().map(|&column| names[column].clone());
        let mut table = Table::new(path, Unit::Line, columns.collect());
        while let Some(line) = scan.record(quotes, &mut record).map_err(error)? {
            let (found, expected) = (record.len(), names.len());
            if found < expected || found > expected && self.extra == Extra::Refuse {
                let names = quoted(names.iter().map(String::as_str));
                return Err(error((
                    line,
                    format!("fields: found {found}, expected {expected}: {names}"),
                )));
            }
            let fields = kept
                .iter()
                .map(|&column| std::mem::take(&mut record[column]));
            match self.line_breaks {
                LineBreaks::Plain => table.push(line, fields),
                LineBreaks::BackslashN => table.push(line, fields.map(with_line_breaks)),
            }
        }
        Ok(table)
    }
}

fn with_line_breaks(field: Cow<str>) -> Cow<str> {
    if field.contains("\\n") {
        Cow::Owned(field.replace("\\n", "\n"))
    } else {
        field
    }
}

/// Cuts a text into records.
///
/// Lenient parsers take a quote that never closes as text up to the end of the file, and text after a closing quote as
/// part of the field; both swallow rows silently. This one refuses them.
pub(crate) struct Scan<'a> {
    pub text: &'a str,
    /// The position up to which it has been read, in bytes.
    pub at: usize,
    /// The line of that place.
    pub line: usize,
    pub separator: u8,
}

impl<'a> Scan<'a> {
    /// Reads the next record that is not a blank line into `fields`, and gives the line it starts on; nothing at the
    /// end. An error that more text might mend is found at the end of the text.
    pub fn record(
        &mut self,
        quotes: Quotes,
        fields: &mut Vec<Cow<'a, str>>,
    ) -> Result<Option<usize>, (usize, String)> {
        fields.clear();
        match quotes {
            Quotes::None => Ok(self.plain_record(fields)),
            Quotes::Doubled => self.quoted_record(fields),
        }
    }

    /// Lines end with a line feed, or a carriage return and a line feed; a carriage return elsewhere is text.
    fn plain_record(&mut self, fields: &mut Vec<Cow<'a, str>>) -> Option<usize> {
        loop {
            let rest = &self.text[self.at..];
            if rest.is_empty() {
                return None;
            }
            let end = memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
            let record = &rest[..end];
            let line = self.line;
            self.at += (end + 1).min(rest.len());
            self.line += 1;
            let record = record.strip_suffix('\r').unwrap_or(record);
            if !record.is_empty() {
                let mut start = 0;
                for end in memchr::memchr_iter(self.separator, record.as_bytes()) {
                    fields.push(Cow::Borrowed(&record[start..end]));
                    start = end + 1;
                }
                fields.push(Cow::Borrowed(&record[start..]));
                return Some(line);
            }
        }
    }

    /// Lines end with a line feed, a carriage return, or both.
    fn quoted_record(
        &mut self,
        fields: &mut Vec<Cow<'a, str>>,
    ) -> Result<Option<usize>, (usize, String)> {
        let bytes = self.text.as_bytes();
        while let Some(b'\n' | b'\r') = bytes.get(self.at) {
            self.end_line();
        }
        if self.at == bytes.len() {
            return Ok(None);
        }
        let first = self.line;
        loop {
            let field = match bytes.get(self.at) {
                Some(b'"') => self.quoted_field()?,
                _ => {
                    let rest = &self.text[self.at..];
                    let end = memchr3(self.separator, b'\n', b'\r', rest.as_bytes());
                    let end = end.unwrap_or(rest.len());
                    self.at += end;
                    Cow::Borrowed(&rest[..end])
                }
            };
            fields.push(field);
            match bytes.get(self.at) {
                Some(&byte) if byte == self.separator => self.at += 1,
                Some(_) => {
                    self.end_line();
                    return Ok(Some(first));
                }
                None => return Ok(Some(first)),
            }
        }
    }

    /// Steps over a line end.
    fn end_line(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += if rest.starts_with(b"\r\n") { 2 } else { 1 };
        self.line += 1;
    }

    /// Reads a field that starts with a quote, up to what follows the quote that closes it.
    fn quoted_field(&mut self) -> Result<Cow<'a, str>, (usize, String)> {
        let opened = self.line;
        let start = self.at + 1;
        let mut end = start;
        let mut doubled = false;
        let bytes = self.text.as_bytes();
        loop {
            let Some(quote) = memchr(b'"', &bytes[end..]) else {
                self.at = bytes.len();
                let problem = "a quoted field opens here and the file ends before it closes; expected a closing quote";
                return Err((opened, problem.into()));
            };
            end += quote;
            if bytes.get(end + 1) != Some(&b'"') {
                break;
            }
            doubled = true;
            end += 2;
        }
        let inside = &self.text[start..end];
        self.line += line_ends(inside.as_bytes());
        self.at = end + 1;
        match self.text[self.at..].chars().next() {
            Some(found) if !matches!(found, '\n' | '\r') && found != char::from(self.separator) => {
                let separator = match self.separator {
                    b',' => "a comma".into(),
                    b'\t' => "a tab".into(),
                    other => format!("`{}`", char::from(other)),
                };
                let problem = format!(
                    "{found:?} follows the quote that closes the field opened on line {opened}; expected {separator}, a line end or a doubled quote"
                );
                Err((self.line, problem))
            }
            _ if doubled => Ok(Cow::Owned(inside.replace("\"\"", "\""))),
            _ => Ok(Cow::Borrowed(inside)),
        }
    }
}

/// The number of lines that end in `bytes`.
fn line_ends(bytes: &[u8]) -> usize {
    let mut count = 0;
    let mut at = 0;
    while let Some(end) = memchr2(b'\n', b'\r', &bytes[at..]) {
        at += end;
        at += if bytes[at..].starts_with(b"\r\n") {
            2
        } else {
            1
        };
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests;
