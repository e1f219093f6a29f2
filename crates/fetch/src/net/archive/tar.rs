//! Tar files, as they are or within gzip.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use tar::{Archive, EntryType};

use super::{EntryKind, sink::Sink};
use crate::net::error::{Error, Result};

/// The tar file at `path`.
pub fn open(path: &Path) -> Result<impl Read> {
    let file = File::open(path).map_err(|error| Error::disk(path, "read", &error))?;
    Ok(BufReader::with_capacity(1 << 20, file))
}

/// Hands each entry of `stream` to `sink`.
pub fn read(stream: impl Read, sink: &mut Sink<'_>) -> Result<()> {
    // Skipped entries are unpacked too, so the stream as a whole is capped; headers and padding come on top.
    let room = sink
        .cap()
        .saturating_add(sink.rules.max_files.saturating_mul(1024))
        .saturating_add(1 << 20);
    let mut archive = Archive::new(Capped { stream, left: room });
    let entries = archive
        .entries()
        .map_err(|error| sink.damaged("", &error))?;
    for entry in entries {
        let mut entry = entry.map_err(|error| sink.damaged("", &error))?;
        let name = entry.path_bytes().into_owned();
        let kind = match entry.header().entry_type() {
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => EntryKind::File,
            EntryType::Directory => EntryKind::Folder,
            // Comments about the archive itself.
            EntryType::XGlobalHeader => continue,
            _ => EntryKind::Other,
        };
        let size = entry.size();
        if let Some((to, member)) = sink.wanted(&name, kind)? {
            sink.write(
                &String::from_utf8_lossy(&name),
                to,
                member,
                Some(size),
                &mut entry,
            )?;
        }
    }
    Ok(())
}

/// A stream that fails where it should have ended.
struct Capped<R> {
    stream: R,
    left: u64,
}

impl<R: Read> Read for Capped<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.stream.read(buffer)?;
        self.left = self
            .left
            .checked_sub(length as u64)
            .ok_or_else(|| io::Error::other("it unpacks to more bytes than the card allows"))?;
        Ok(length)
    }
}
