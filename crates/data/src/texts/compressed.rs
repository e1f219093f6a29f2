//! Files compressed with zstd, known by the ending `.zst`.

use anyhow::{Context, Result, ensure};
use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

/// The most bytes a compressed file may hold: a few bytes of zstd can stand for as many as one likes.
const MOST: u64 = 4 << 30;

/// The bytes that the file `bytes`, which came from `path`, stands for: its own, or those that were compressed.
///
/// Several zstd frames in one file follow each other, as `cat a.zst b.zst` makes them.
pub(super) fn contents<'a>(path: &Path, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>> {
    if path.extension().is_none_or(|ending| ending != "zst") {
        return Ok(Cow::Borrowed(bytes));
    }
    decompressed(bytes, MOST)
        .map(Cow::Owned)
        .with_context(|| format!("{}: expected whole zstd frames", path.display()))
}

fn decompressed(bytes: &[u8], most: u64) -> Result<Vec<u8>> {
    ensure!(!bytes.is_empty(), "found an empty file");
    let decoder = zstd::Decoder::with_buffer(bytes)?;
    let mut contents = Vec::new();
    decoder
        .take(most + 1)
        .read_to_end(&mut contents)
        .context("found a truncated or corrupt frame")?;
    ensure!(
        contents.len() as u64 <= most,
        "found more than {most} bytes in it"
    );
    Ok(contents)
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
        assert_eq!(read("a.txt", &frames), Ok(frames));
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
        let error = decompressed(&whole, 1000).expect_err("too much");
        assert_eq!(error.to_string(), "found more than 1000 bytes in it");
    }
}
