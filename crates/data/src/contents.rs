//! Decoded contents of files: decompression, by the endings `.zst` and `.gz`, and text in other encodings than UTF-8.

use anyhow::{Context, Result, ensure};
use encoding_rs::Encoding;
use flate2::bufread::MultiGzDecoder;
use std::borrow::Cow;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

/// The most bytes that a compressed file may decompress to: a few bytes can expand to any number.
const MOST: u64 = 4 << 30;

/// The compression of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Compression {
    Zstd,
    Gzip,
}

impl Compression {
    fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "zst" => Some(Self::Zstd),
            "gz" => Some(Self::Gzip),
            _ => None,
        }
    }

    fn expected(self) -> &'static str {
        match self {
            Self::Zstd => "whole zstd frames",
            Self::Gzip => "a whole gzip file",
        }
    }

    fn reader<'a>(self, mut bytes: impl BufRead + 'a) -> Result<Box<dyn Read + 'a>> {
        ensure!(!bytes.fill_buf()?.is_empty(), "found an empty file");
        Ok(match self {
            Self::Zstd => Box::new(zstd::Decoder::with_buffer(bytes)?),
            Self::Gzip => Box::new(MultiGzDecoder::new(bytes)),
        })
    }

    fn decompressed(self, bytes: &[u8], most: u64) -> Result<Vec<u8>> {
        let mut contents = Vec::new();
        self.reader(bytes)?
            .take(most + 1)
            .read_to_end(&mut contents)
            .context("found a truncated or corrupt frame")?;
        ensure!(
            contents.len() as u64 <= most,
            "found more than {most} bytes in it"
        );
        Ok(contents)
    }
}

/// The first bytes of files that are no text, and what they are.
const BINARY: [(&[u8], &str); 6] = [
    (b"PK\x03\x04", "an Excel or zip file"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel file"),
    (b"\x1f\x8b", "a file compressed with gzip"),
    (b"\x28\xb5\x2f\xfd", "a file compressed with zstd"),
    (b"\xfd7zXZ\0", "a file compressed with xz"),
    (b"%PDF-", "a PDF file"),
];

/// Refuses what is no text, by its first bytes: `start` came from `path`, decompressed where its name says so.
fn refuse_binary(path: &Path, start: &[u8]) -> Result<()> {
    let Some((magic, what)) = BINARY.iter().find(|(magic, _)| start.starts_with(magic)) else {
        return Ok(());
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let expected = match (magic[0], Compression::of(path)) {
        (0x1f, None) => format!("expected a name that ends in .gz, such as `{name}.gz`"),
        (0x28, None) => format!("expected a name that ends in .zst, such as `{name}.zst`"),
        (b'P' | 0xd0, _) => "expected text or parquet; save it as CSV".into(),
        _ => "expected text or parquet".into(),
    };
    anyhow::bail!("{}: found {what}, {expected}", path.display())
}

/// The contents of the file `bytes`, which came from `path`: its own bytes, or those that were compressed. Known kinds of
/// files that are neither text nor parquet are refused.
///
/// Several zstd frames in one file follow each other, as `cat a.zst b.zst` makes them; gzip files likewise.
pub(crate) fn contents<'a>(path: &Path, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>> {
    let contents = match Compression::of(path) {
        None => Cow::Borrowed(bytes),
        Some(compression) => {
            let expected = compression.expected();
            let contents = compression.decompressed(bytes, MOST);
            let contents =
                contents.with_context(|| format!("{}: expected {expected}", path.display()))?;
            Cow::Owned(contents)
        }
    };
    refuse_binary(path, &contents)?;
    Ok(contents)
}

/// Like [`contents`], for a file that is read piece by piece and may be of any length; with the expectation to name in
/// an error for a piece that cannot be read.
pub(crate) fn reader(
    path: &Path,
    mut bytes: impl BufRead + 'static,
) -> Result<(Box<dyn Read>, &'static str)> {
    let Some(compression) = Compression::of(path) else {
        let start = bytes
            .fill_buf()
            .with_context(|| format!("{}: cannot be read", path.display()))?;
        refuse_binary(path, start)?;
        return Ok((Box::new(bytes), "a file that can be read"));
    };
    let expected = compression.expected();
    let reader = compression.reader(bytes);
    let reader = reader.with_context(|| format!("{}: expected {expected}", path.display()))?;
    Ok((reader, expected))
}

/// The name that a file has without the ending of its compression.
pub fn uncompressed(path: &Path) -> PathBuf {
    match Compression::of(path) {
        Some(_) => path.with_extension(""),
        None => path.to_path_buf(),
    }
}

/// The encoding with this label, such as `windows-1252` or `shift_jis` (https://encoding.spec.whatwg.org/#names-and-labels).
///
/// # Errors
/// When there is none.
pub(crate) fn encoding(label: &str) -> Result<&'static Encoding> {
    Encoding::for_label(label.as_bytes()).with_context(|| {
        format!(
            "found `{label}`, expected an encoding such as `utf-8`, `windows-1252`, `utf-16le`, `shift_jis` or `gb18030`"
        )
    })
}

/// The encoding that the byte order mark at the beginning of a text gives, where that is not UTF-8.
pub(crate) fn marked(bytes: &[u8]) -> Option<&'static str> {
    let (encoding, _) = Encoding::for_bom(bytes)?;
    (encoding != encoding_rs::UTF_8).then(|| encoding.name())
}

/// The bytes of a text as UTF-8. Without a `label` they stay as they are.
///
/// # Errors
/// When the label is unknown, or bytes are not a character in the encoding.
pub(crate) fn decoded<'a>(
    path: &Path,
    bytes: Cow<'a, [u8]>,
    label: Option<&str>,
) -> Result<Cow<'a, [u8]>> {
    let Some(label) = label else {
        return Ok(bytes);
    };
    let encoding = encoding(label)?;
    let text = match Encoding::for_bom(&bytes) {
        Some((found, length)) if found == encoding => &bytes[length..],
        _ => &bytes,
    };
    // A replacement character that the file itself has is one like any other.
    if let Some(text) = encoding.decode_without_bom_handling_and_without_replacement(text) {
        return Ok(Cow::Owned(text.into_owned().into_bytes()));
    }
    let (replaced, _) = encoding.decode_without_bom_handling(text);
    let before = replaced.split('\u{fffd}').next().unwrap_or_default();
    let line = 1 + before.bytes().filter(|byte| *byte == b'\n').count();
    anyhow::bail!(
        "{}: line {line}: {}",
        path.display(),
        no_character(encoding)
    )
}

/// The message for bytes that are not a character in the encoding.
pub(crate) fn no_character(encoding: &'static Encoding) -> String {
    let name = encoding.name();
    format!("found bytes that are no character in {name}; expected another encoding (--encoding)")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compressed(text: &str) -> Vec<u8> {
        let mut encoder = zstd::Encoder::new(Vec::new(), 3).expect("an encoder");
        encoder.include_checksum(true).expect("a checksum");
        std::io::Write::write_all(&mut encoder, text.as_bytes()).expect("a frame");
        encoder.finish().expect("a frame")
    }

    fn read(name: &str, bytes: &[u8]) -> Result<Vec<u8>, String> {
        contents(Path::new(name), bytes)
            .map(Cow::into_owned)
            .map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn frames_follow_each_other_and_other_files_are_as_they_are() {
        let frames = [compressed("one\n"), compressed("two\n")].concat();
        assert_eq!(read("a.txt.zst", &frames), Ok(b"one\ntwo\n".to_vec()));
        assert_eq!(read("a.txt", b"one\n"), Ok(b"one\n".to_vec()));
    }

    #[test]
    fn files_that_are_no_text_are_named_by_their_first_bytes() {
        let zip = b"PK\x03\x04\x14\0".to_vec();
        let excel = "found an Excel or zip file, expected text or parquet; save it as CSV";
        for (name, bytes, expected) in [
            ("a.csv", zip.clone(), excel),
            (
                "a.csv.zst",
                compressed(&String::from_utf8_lossy(&zip)),
                excel,
            ),
            (
                "b/a.csv",
                compressed("one\n"),
                "found a file compressed with zstd, expected a name that ends in .zst, such as `a.csv.zst`",
            ),
            (
                "b/a.csv",
                b"\x1f\x8b\x08".to_vec(),
                "found a file compressed with gzip, expected a name that ends in .gz, such as `a.csv.gz`",
            ),
            (
                "a.csv",
                b"%PDF-1.7".to_vec(),
                "found a PDF file, expected text or parquet",
            ),
        ] {
            let expected = Err(format!("{name}: {expected}"));
            assert_eq!(read(name, &bytes), expected);
            let streamed = reader(Path::new(name), std::io::Cursor::new(bytes));
            let streamed = streamed.map(drop).map_err(|error| format!("{error:#}"));
            if Compression::of(Path::new(name)).is_none() {
                assert_eq!(streamed, expected.map(drop));
            }
        }
    }

    #[test]
    fn what_is_not_whole_frames_is_refused() {
        let whole = compressed(&"a line of text\n".repeat(500));
        let mut flipped = whole.clone();
        *flipped.last_mut().expect("a checksum") ^= 1;
        let cases = [
            (Vec::new(), "found an empty file"),
            (whole[..whole.len() - 5].to_vec(), "truncated or corrupt"),
            (flipped, "checksum"),
            (b"plain text".to_vec(), "Unknown frame descriptor"),
            ([&whole[..], b"more"].concat(), "truncated or corrupt"),
        ];
        for (bytes, expected) in cases {
            let error = read("a.zst", &bytes).expect_err(expected);
            assert!(
                error.starts_with("a.zst: expected whole zstd frames: found "),
                "{error}"
            );
            assert!(error.contains(expected), "{error}; expected {expected}");
        }
        let error = Compression::Zstd
            .decompressed(&whole, 1000)
            .expect_err("too much");
        assert_eq!(error.to_string(), "found more than 1000 bytes in it");
    }

    #[test]
    fn gzip_files_follow_each_other_and_truncated_ones_are_refused() {
        let gzip = |text: &str| {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
            std::io::Write::write_all(&mut encoder, text.as_bytes()).expect("written");
            encoder.finish().expect("a file")
        };
        let both = [gzip("one\n"), gzip("two\n")].concat();
        assert_eq!(read("a.csv.gz", &both), Ok(b"one\ntwo\n".to_vec()));
        let error = read("a.csv.gz", &both[..both.len() - 3]).expect_err("truncated");
        assert!(
            error.starts_with("a.csv.gz: expected a whole gzip file: found"),
            "{error}"
        );
        assert_eq!(uncompressed(Path::new("b/a.csv.gz")), Path::new("b/a.csv"));
        assert_eq!(uncompressed(Path::new("b/a.csv")), Path::new("b/a.csv"));
    }

    #[test]
    fn texts_in_other_encodings_become_utf_8() {
        let decode = |bytes: &[u8], label: &str| {
            decoded(Path::new("a.csv"), Cow::Borrowed(bytes), Some(label))
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
                .map_err(|error| error.to_string())
        };
        assert_eq!(decode(b"caf\xe9 \x80", "windows-1252"), Ok("café €".into()));
        assert_eq!(decode(b"caf\xe9", "latin1"), Ok("café".into()));
        assert_eq!(decode(b"\xff\xfea\0\xe9\0", "utf-16le"), Ok("aé".into()));
        assert_eq!(
            decode(b"fine\ncaf\xe9", "utf-8").expect_err("no UTF-8"),
            "a.csv: line 2: found bytes that are no character in UTF-8; expected another encoding (--encoding)"
        );
        let unknown = decode(b"", "latin-99").expect_err("no encoding");
        assert!(
            unknown.starts_with("found `latin-99`, expected an encoding"),
            "{unknown}"
        );
        assert_eq!(marked(b"\xff\xfea\0"), Some("UTF-16LE"));
        assert_eq!(marked(b"\xef\xbb\xbfa"), None);
    }
}
