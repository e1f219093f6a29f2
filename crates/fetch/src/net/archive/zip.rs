//! Zip files.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use zip::ZipArchive;

use super::{EntryKind, sink::Sink};
use crate::net::error::{Error, Result};

/// Hands each entry of the zip file at `path` to `sink`.
pub fn read(path: &Path, sink: &mut Sink<'_>) -> Result<()> {
    let file = File::open(path).map_err(|error| Error::disk(path, "read", &error))?;
    let mut archive =
        ZipArchive::new(BufReader::new(file)).map_err(|error| sink.damaged("", &error))?;
    // The central directory may list a name twice; the reader keeps the last, other programs the first.
    if archive.has_duplicate_names() {
        return Err(sink.damaged("", &"a name is there twice; expected once"));
    }
    for index in 0..archive.len() {
        // The name comes first: an entry that is not wanted may be encrypted or packed in any way.
        let (name, kind, size) = {
            let entry = archive
                .by_index_raw(index)
                .map_err(|error| sink.damaged("", &error))?;
            let format = entry.unix_mode().unwrap_or(0) & 0o170_000;
            let kind = match format {
                _ if entry.is_dir() => EntryKind::Folder,
                _ if entry.is_symlink() => EntryKind::Other,
                0 | 0o100_000 => EntryKind::File,
                _ => EntryKind::Other,
            };
            (entry.name_raw().to_vec(), kind, entry.size())
        };
        let Some((to, member)) = sink.wanted(&name, kind)? else {
            continue;
        };
        let shown = String::from_utf8_lossy(&name).into_owned();
        let mut entry = archive
            .by_index(index)
            .map_err(|error| sink.damaged(&shown, &error))?;
        sink.write(&shown, to, member, Some(size), &mut entry)?;
    }
    Ok(())
}
