//! The text of a file of any length, which passes through in pieces: decompressed, as UTF-8, cut into lines, records or the
//! elements of an array.

use super::delimited::Scan as Records;
use super::json_array::Scan as Elements;
use super::parquet_rows::ParquetRows;
use super::{FormatError, Quotes, Unit};
use crate::contents::{encoding, no_character, reader, uncompressed};
use anyhow::{Context, Result};
use encoding_rs::{Decoder, DecoderResult, UTF_8};
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

/// The fewest bytes to read at a time.
const PIECE: usize = 1 << 16;

/// A text that is read from its beginning to its end, of which a piece is in memory.
///
/// Lines, records and elements come with the line they begin on, counted from one. Each is cut by the rules of the formats
/// that are read as a whole.
pub struct TextStream {
    /// The name of the file in errors.
    path: PathBuf,
    bytes: Box<dyn Read>,
    /// The expected kind of bytes, for errors that do not say it.
    expected: Option<&'static str>,
    /// The unit that it is counted in.
    unit: Unit,
    decoder: Decoder,
    /// The decoded text; from `at` on it has not been handed out yet.
    text: String,
    at: usize,
    /// The line at `at`.
    line: usize,
    /// True if `text` has the end of the file.
    ended: bool,
    /// For an array: true once it has begun, and once it has ended.
    array: (bool, bool),
}

/// The result of a step, and the byte and the line that it reached.
type Step<T> = (Result<T, (usize, String)>, usize, usize);

impl TextStream {
    /// The text of `bytes`, which came from `path`; its ending tells the compression, and `label` names an encoding.
    /// Without a label the encoding is that of the byte order mark, or else UTF-8.
    ///
    /// # Errors
    /// When the encoding is unknown, or the file does not begin like a compressed file.
    pub fn new(path: &Path, bytes: impl BufRead + 'static, label: Option<&str>) -> Result<Self> {
        let decoder = match label {
            Some(label) => encoding(label)
                .context("--encoding")?
                .new_decoder_with_bom_removal(),
            None => UTF_8.new_decoder(),
        };
        let (bytes, expected) = reader(path, bytes)?;
        Ok(Self {
            path: path.to_path_buf(),
            bytes,
            expected: Some(expected),
            unit: Unit::Line,
            decoder,
            text: String::new(),
            at: 0,
            line: 1,
            ended: false,
            array: (false, false),
        })
    }

    /// The rows of the parquet file `path`, a JSON object on each line, and the names of its columns.
    ///
    /// # Errors
    /// When it is no parquet file.
    pub fn parquet(path: &Path) -> Result<(Self, Vec<String>)> {
        let rows = ParquetRows::open(path)?;
        let columns = rows.columns().to_vec();
        // Without the ending of a compression, which is undone by now.
        let mut stream = Self::new(&uncompressed(path), rows.into_lines(), None)?;
        stream.path = path.to_path_buf();
        stream.expected = None;
        stream.unit = Unit::Row;
        Ok((stream, columns))
    }

    /// Whole lines from where it stands, as many as a piece has, or all that are left; they stay where they are.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn head(&mut self) -> Result<&str, FormatError> {
        while !self.ended && self.text.len() - self.at < PIECE {
            self.more()?;
        }
        let head = &self.text[self.at..];
        Ok(match (self.ended, head.rfind('\n')) {
            (false, Some(end)) => &head[..end],
            _ => head,
        })
    }

    /// The next line without its end; nothing after the last one.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn line(&mut self) -> Result<Option<(usize, String)>, FormatError> {
        self.step(|text, at, line| {
            let rest = &text[at..];
            let end = rest.find('\n');
            let found = rest[..end.unwrap_or(rest.len())].trim_end_matches('\r');
            let found = (!rest.is_empty()).then(|| (line, found.to_string()));
            let next = end.map_or(text.len(), |end| at + end + 1);
            (Ok(found), next, line + 1)
        })
    }

    /// The fields of the next record of delimited text that is not a blank line; nothing after the last one.
    ///
    /// # Errors
    /// When it cannot be read, or its quotes are not those of RFC 4180.
    pub fn record(
        &mut self,
        separator: u8,
        quotes: Quotes,
    ) -> Result<Option<(usize, Vec<String>)>, FormatError> {
        self.step(|text, at, line| {
            let mut scan = Records {
                text,
                at,
                line,
                separator,
            };
            let mut fields = Vec::new();
            let found = scan.record(quotes, &mut fields);
            let owned = |line| (line, fields.into_iter().map(String::from).collect());
            (found.map(|line| line.map(owned)), scan.at, scan.line)
        })
    }

    /// The next element of the JSON array that the text is; nothing after the last one.
    ///
    /// # Errors
    /// When it cannot be read, or the text is no such array.
    pub fn element(&mut self) -> Result<Option<(usize, String)>, FormatError> {
        let (begun, ended) = self.array;
        if ended {
            return Ok(None);
        }
        let found = self.step(|text, at, line| {
            let mut scan = Elements { text, at, line };
            let found = scan.next(!begun);
            let owned = found.map(|found| found.map(|(line, text)| (line, text.to_string())));
            (owned, scan.at, scan.line)
        })?;
        self.array = (true, found.is_none());
        Ok(found)
    }

    /// Takes a step from where the text stands. One that came to the end of the piece is taken again with more text, since
    /// that may be where the piece was cut.
    fn step<T>(&mut self, step: impl Fn(&str, usize, usize) -> Step<T>) -> Result<T, FormatError> {
        loop {
            let (found, at, line) = step(&self.text, self.at, self.line);
            if at == self.text.len() && !self.ended {
                self.more()?;
                continue;
            }
            (self.at, self.line) = (at, line);
            return found.map_err(|(line, problem)| self.error(line, problem));
        }
    }

    /// Reads a piece, and forgets what was handed out.
    fn more(&mut self) -> Result<(), FormatError> {
        self.text.drain(..self.at);
        self.at = 0;
        // As much again as there is, so that a long record is not scanned again for each piece.
        let wanted = self.text.len().max(PIECE);
        let mut bytes = Vec::with_capacity(wanted);
        let read = self
            .bytes
            .by_ref()
            .take(wanted as u64)
            .read_to_end(&mut bytes);
        if let Err(error) = read {
            let problem = match self.expected {
                Some(expected) => format!("{error}; expected {expected}"),
                None => error.to_string(),
            };
            return Err(self.error_at_end(problem));
        }
        self.ended = bytes.len() < wanted;
        let most = self
            .decoder
            .max_utf8_buffer_length_without_replacement(bytes.len());
        self.text.reserve(most.unwrap_or(4 * wanted));
        let (result, _) =
            self.decoder
                .decode_to_string_without_replacement(&bytes, &mut self.text, self.ended);
        match result {
            DecoderResult::InputEmpty => Ok(()),
            DecoderResult::OutputFull => {
                unreachable!("as much was reserved as the decoder asks for")
            }
            DecoderResult::Malformed(..) => {
                Err(self.error_at_end(no_character(self.decoder.encoding())))
            }
        }
    }

    /// An error behind what has been decoded.
    fn error_at_end(&self, problem: String) -> FormatError {
        self.error(self.line + self.text.matches('\n').count(), problem)
    }

    fn error(&self, line: usize, problem: String) -> FormatError {
        FormatError {
            path: self.path.clone(),
            unit: self.unit,
            line,
            problem,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufReader, Write};

    /// Hands out a byte at a time, as the slowest pipe might.
    struct Drops(Vec<u8>, usize);

    impl Read for Drops {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let Some(byte) = self.0.get(self.1) else {
                return Ok(0);
            };
            buffer[0] = *byte;
            self.1 += 1;
            Ok(1)
        }
    }

    fn stream(name: &str, bytes: Vec<u8>, label: Option<&str>) -> Result<TextStream> {
        TextStream::new(Path::new(name), BufReader::new(Drops(bytes, 0)), label)
    }

    /// More than a piece, with quotes, line breaks and letters of several bytes wherever a piece may end.
    fn csv() -> String {
        let row = |i: usize| format!("{i},\"é \"\"{}\"\"\r\n, Ω\"\r\n", "x".repeat(i % 97));
        "n,text\r\n".to_string() + &(0..4000).map(row).collect::<String>()
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
        encoder.write_all(text).expect("written");
        encoder.finish().expect("a file")
    }

    fn records(mut stream: TextStream) -> Result<Vec<(usize, Vec<String>)>, FormatError> {
        let mut records = Vec::new();
        while let Some(record) = stream.record(b',', Quotes::Doubled)? {
            records.push(record);
        }
        Ok(records)
    }

    #[test]
    fn records_are_those_of_the_whole_text_however_it_is_stored() {
        let text = csv();
        let mut scan = Records {
            text: &text,
            at: 0,
            line: 1,
            separator: b',',
        };
        let (mut whole, mut fields) = (Vec::new(), Vec::new());
        while let Some(line) = scan.record(Quotes::Doubled, &mut fields).expect("a record") {
            whole.push((line, fields.iter().map(|field| field.to_string()).collect()));
        }
        assert_eq!((whole.len(), whole[4000].0), (4001, 8000));
        let utf_16: Vec<u8> = std::iter::once(0xfeff)
            .chain(text.encode_utf16())
            .flat_map(u16::to_le_bytes)
            .collect();
        let zstd = zstd::encode_all(text.as_bytes(), 1).expect("a frame");
        for (name, bytes, label) in [
            ("a.csv", text.clone().into_bytes(), None),
            ("a.csv", [b"\xef\xbb\xbf", text.as_bytes()].concat(), None),
            ("a.csv.gz", gzip(text.as_bytes()), Some("utf-8")),
            ("a.csv.zst", zstd, None),
            ("a.csv", utf_16.clone(), None),
            ("a.csv.gz", gzip(&utf_16), Some("utf-16le")),
        ] {
            let stream = stream(name, bytes, label).expect("a stream");
            assert!(
                records(stream).expect("records") == whole,
                "{name} {label:?}"
            );
        }
    }

    #[test]
    fn elements_and_lines_are_those_of_the_whole_text() {
        let objects: Vec<String> = (0..3000)
            .map(|i| format!("{{\"text\":\n \"{}]\\\"\"}}", "é".repeat(i % 89)))
            .collect();
        let text = format!(" [\n{}\n]\n\n", objects.join(" ,\n"));
        let mut elements = stream("a.json", text.clone().into_bytes(), None).expect("a stream");
        assert!(elements.head().expect("a head").starts_with(" [\n{"));
        for (i, object) in objects.iter().enumerate() {
            let expected = Some((2 + 2 * i, object.clone()));
            assert_eq!(elements.element().expect("an element"), expected);
        }
        for _ in 0..2 {
            assert_eq!(elements.element().expect("the end"), None);
        }
        let mut lines = stream("a.txt", text.clone().into_bytes(), None).expect("a stream");
        for (i, line) in text.lines().enumerate() {
            assert_eq!(
                lines.line().expect("a line"),
                Some((i + 1, line.to_string()))
            );
        }
        assert_eq!(lines.line().expect("the end"), None);
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_line() {
        let text = csv();
        let zipped = gzip(text.as_bytes());
        let half = zipped[..zipped.len() / 2].to_vec();
        let latin = [text.as_bytes(), b"caf\xe9,\n"].concat();
        let open = [text.as_bytes(), b"1,\"open\n"].concat();
        let behind = [b"1,\"a\"b\n", text.as_bytes()].concat();
        for (name, bytes, expected) in [
            ("a.csv.gz", half, "expected a whole gzip file"),
            (
                "a.csv",
                latin,
                "line 8002: found bytes that are no character in UTF-8",
            ),
            ("a.csv", open, "line 8002: a quoted field opens here"),
            ("a.csv", behind, "line 1: 'b' follows the quote"),
        ] {
            let stream = stream(name, bytes, None).expect("a stream");
            let error = records(stream).expect_err(expected).to_string();
            assert!(error.starts_with(&format!("{name}: line ")), "{error}");
            assert!(error.contains(expected), "{error}; expected {expected}");
        }
        let empty = stream("a.csv.gz", Vec::new(), None).err().expect("no file");
        assert_eq!(
            format!("{empty:#}"),
            "a.csv.gz: expected a whole gzip file: found an empty file"
        );
        let unknown = stream("a.csv", Vec::new(), Some("latin-99")).err();
        let unknown = format!("{:#}", unknown.expect("no encoding"));
        assert!(
            unknown.starts_with("--encoding: found `latin-99`"),
            "{unknown}"
        );
    }
}
