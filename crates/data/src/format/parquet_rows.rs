//! The rows of a parquet file of any length as lines of JSON, one at a time.

use super::parquet_types::told;
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{ChunkReader, FileReader};
use ::parquet::file::serialized_reader::SerializedFileReader;
use ::parquet::record::reader::RowIter;
use ::parquet::record::{Field, Row};
use anyhow::{Context, Result, anyhow};
use bytes::Bytes;
use serde_json::Value;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::contents::{contents, uncompressed};

/// The rows of a parquet file, each a JSON object on a line, which pass through one by one.
///
/// Texts, numbers and lists are those of [`Format`](super::Format)'s tables: a float that is no number is a text. Dates, times
/// and decimals are texts; bytes that are no UTF-8 are `null`.
pub struct ParquetRows {
    columns: Vec<String>,
    lines: BufReader<Lines>,
}

/// Lines of which the last one has not been handed out as a whole.
struct Lines {
    rows: Option<RowIter<'static>>,
    line: Vec<u8>,
    at: usize,
}

impl ParquetRows {
    /// Opens the file `path`; one that is compressed as a whole is read as a whole.
    ///
    /// # Errors
    /// When it is no parquet file.
    pub fn open(path: &Path) -> Result<Self> {
        let shown = path.display();
        let read = || format!("{shown}: cannot be read");
        let file = File::open(path).with_context(read)?;
        if uncompressed(path) == path {
            return Self::of(path, file);
        }
        let mut bytes = Vec::new();
        { file }.read_to_end(&mut bytes).with_context(read)?;
        let bytes = contents(path, &bytes)?.into_owned();
        Self::of(path, Bytes::from(bytes))
    }

    fn of(path: &Path, file: impl ChunkReader + 'static) -> Result<Self> {
        let shown = path.display();
        let opened = trusting(|| SerializedFileReader::new(file));
        let opened = opened.map_err(|problem| anyhow!("{shown}: {problem}"))?;
        let schema = opened.metadata().file_metadata().schema_descr();
        let fields = schema.root_schema().get_fields().iter();
        let columns = fields.map(|field| field.name().to_string()).collect();
        let lines = BufReader::new(Lines {
            rows: Some(RowIter::from_file_into(Box::new(opened))),
            line: Vec::new(),
            at: 0,
        });
        Ok(Self { columns, lines })
    }

    /// The names of its columns, in their order.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// A reader of its lines.
    pub fn into_lines(self) -> impl io::BufRead + 'static {
        self.lines
    }
}

/// Calls the decoder, which trusts some of what a broken file says and then panics.
fn trusting<T>(call: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(found) => found.map_err(|problem| told(&problem)),
        Err(_) => Err("the file is broken; expected parquet".into()),
    }
}

impl Read for Lines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.line.len() {
            let Some(rows) = &mut self.rows else {
                return Ok(0);
            };
            let next = trusting(|| rows.next().transpose());
            (self.line, self.at) = match next {
                Ok(Some(row)) => (format!("{}\n", object(&row)).into_bytes(), 0),
                Ok(None) => {
                    self.rows = None;
                    continue;
                }
                Err(problem) => {
                    self.rows = None;
                    return Err(io::Error::other(problem));
                }
            };
        }
        let n = buffer.len().min(self.line.len() - self.at);
        buffer[..n].copy_from_slice(&self.line[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

fn object(row: &Row) -> String {
    let pairs = row.get_column_iter();
    let pairs: Vec<String> = pairs
        .map(|(name, field)| format!("{}:{}", quoted(name), json(field)))
        .collect();
    format!("{{{}}}", pairs.join(","))
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A value as JSON.
fn json(field: &Field) -> String {
    let number = |finite: bool, shown: String| if finite { shown } else { quoted(&shown) };
    match field {
        Field::Null => "null".into(),
        Field::Bool(_)
        | Field::Byte(_)
        | Field::Short(_)
        | Field::Int(_)
        | Field::Long(_)
        | Field::UByte(_)
        | Field::UShort(_)
        | Field::UInt(_)
        | Field::ULong(_) => field.to_string(),
        // As short as it reads back, and as tables have them.
        Field::Float16(value) => number(value.is_finite(), value.to_string()),
        Field::Float(value) => number(value.is_finite(), value.to_string()),
        Field::Double(value) => number(value.is_finite(), value.to_string()),
        Field::Str(text) => quoted(text),
        Field::Bytes(bytes) => match std::str::from_utf8(bytes.data()) {
            Ok(text) => quoted(text),
            Err(_) => "null".into(),
        },
        Field::Group(row) => object(row),
        Field::ListInternal(list) => {
            let elements: Vec<String> = list.elements().iter().map(json).collect();
            format!("[{}]", elements.join(","))
        }
        Field::MapInternal(map) => {
            let pairs = map.entries().iter();
            let pairs: Vec<String> = pairs
                .map(|(name, value)| format!("{}:{}", key(name), json(value)))
                .collect();
            format!("{{{}}}", pairs.join(","))
        }
        // Dates, times and decimals.
        other => quoted(&other.to_string()),
    }
}

/// The key of a map, which is a text in JSON.
fn key(field: &Field) -> String {
    match field {
        Field::Str(text) => quoted(text),
        other => quoted(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufRead;

    fn rows(bytes: Vec<u8>) -> Result<Vec<Value>> {
        let rows = ParquetRows::of(Path::new("a.parquet"), Bytes::from(bytes))?;
        let lines = rows.into_lines().lines();
        lines
            .map(|line| Ok(serde_json::from_str(&line?)?))
            .collect()
    }

    fn fixture(name: &str) -> std::path::PathBuf {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/data");
        fixtures.join(name)
    }

    #[test]
    fn rows_are_those_of_the_same_file_in_another_format() {
        let parquet = rows(std::fs::read(fixture("own/reviews.parquet")).expect("a file"));
        let json = std::fs::read_to_string(fixture("own/reviews.jsonl")).expect("a file");
        let json = json.lines().map(|line| {
            let mut row: Value = serde_json::from_str(line).expect("JSON");
            // Its lists have a number too, which those of parquet, of texts, have not.
            row["tags"].as_array_mut().expect("a list").truncate(1);
            row
        });
        assert_eq!(parquet.expect("rows"), json.collect::<Vec<_>>());
        let lists = rows(std::fs::read(fixture("ner/hub/test.parquet")).expect("a file"));
        let lists = lists.expect("rows");
        assert!(lists[0]["tokens"][0].is_string(), "{}", lists[0]);
    }

    #[test]
    fn values_keep_their_digits() {
        for (field, expected) in [
            (Field::Float(0.1), "0.1"),
            (Field::Double(1.0), "1"),
            (Field::Double(f64::NAN), "\"NaN\""),
            (Field::ULong(u64::MAX), "18446744073709551615"),
            (Field::Date(1), "\"1970-01-02\""),
            (Field::Str("a \"b\"\n".into()), r#""a \"b\"\n""#),
            (Field::Bytes(b"\xff".to_vec().into()), "null"),
            (Field::Null, "null"),
        ] {
            assert_eq!(json(&field), expected, "{field:?}");
        }
    }

    #[test]
    fn a_broken_file_is_an_error() {
        let whole = std::fs::read(fixture("own/reviews.parquet")).expect("a file");
        let cut = rows(whole[..whole.len() / 2].to_vec()).expect_err("no footer");
        assert!(cut.to_string().ends_with("; expected parquet"), "{cut}");
        // Flips within the pages: an error or other rows, but no panic.
        for at in (4..whole.len() / 2).step_by(7) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x55;
            let _ = rows(bytes);
        }
    }
}
