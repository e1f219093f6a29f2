//! Incomplete files, with the facts by which the rest of the same file can be requested.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::{Error, Result};
use super::http::Reply;
use super::place;

/// The bytes received so far, at `path`, and next to it as `path.json` their origin.
#[derive(Debug)]
pub struct Partial {
    path: PathBuf,
    /// The file that the bytes are the beginning of; none as long as there are no bytes.
    pub origin: Option<Origin>,
}

/// The server's description of the file when its first byte came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The address as the card has it, before redirects.
    pub address: String,
    /// The identity of the file that the card or the Hub expects; bytes of another one are not continued.
    pub wish: String,
    /// The ETag as it was sent.
    pub etag: Option<String>,
    /// `Last-Modified` as it was sent.
    pub modified: Option<String>,
    /// Bytes of the whole file.
    pub total: Option<u64>,
}

impl Origin {
    /// The origin that `reply` states.
    pub fn new(address: &str, wish: &str, reply: &Reply, total: Option<u64>) -> Self {
        Self {
            address: address.to_string(),
            wish: wish.to_string(),
            etag: reply.header("etag").map(str::to_string),
            modified: reply.header("last-modified").map(str::to_string),
            total,
        }
    }

    /// The value of `If-Range`: the version that the server must still have for the range to be of the same file.
    pub fn validator(&self) -> Option<&str> {
        let strong = self.etag.as_deref().filter(|etag| !etag.starts_with("W/"));
        strong.or(self.modified.as_deref())
    }

    /// Returns whether `reply` is of another version of the file.
    pub fn is_changed(&self, reply: &Reply) -> bool {
        let differs = |ours: &Option<String>, theirs: Option<&str>| matches!((ours, theirs), (Some(ours), Some(theirs)) if ours != theirs);
        match reply.header("etag") {
            Some(etag) if self.etag.is_some() => differs(&self.etag, Some(etag)),
            _ => differs(&self.modified, reply.header("last-modified")),
        }
    }
}

impl Partial {
    /// The partial file at `path`, if it is the beginning of the wanted file; else an empty one.
    pub fn open(path: PathBuf, wish: &str) -> Self {
        let mut partial = Self { path, origin: None };
        let text = fs::read(partial.note()).unwrap_or_default();
        partial.origin = serde_json::from_slice(&text)
            .ok()
            .filter(|origin: &Origin| origin.wish == wish);
        if partial.origin.is_none() {
            partial.discard();
        }
        partial
    }

    /// The path of the bytes.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes so far.
    pub fn len(&self) -> u64 {
        let found = fs::metadata(&self.path).map_or(0, |found| found.len());
        self.origin.as_ref().map_or(0, |_| found)
    }

    /// Bytes of the whole file, where the server said how many.
    pub fn total(&self) -> Option<u64> {
        self.origin.as_ref().and_then(|origin| origin.total)
    }

    /// Starts anew with bytes of `origin`. The note comes first: bytes without one are never continued.
    pub fn begin(&mut self, origin: Origin) -> Result<File> {
        self.discard();
        let note = serde_json::to_vec(&origin).expect("a note is plain text and numbers");
        place::write(&self.note(), &note)?;
        self.origin = Some(origin);
        File::create_new(&self.path).map_err(|error| Error::disk(&self.path, "written", &error))
    }

    /// Continues after the last byte.
    pub fn go_on(&self) -> Result<File> {
        let open = || -> io::Result<File> {
            let mut file = File::options().write(true).open(&self.path)?;
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        };
        open().map_err(|error| Error::disk(&self.path, "written", &error))
    }

    /// Adds bytes to `file`.
    pub fn add(&self, file: &mut File, bytes: &[u8]) -> Result<()> {
        file.write_all(bytes)
            .map_err(|error| Error::disk(&self.path, "written", &error))
    }

    /// Forgets the bytes and the note.
    pub fn discard(&mut self) {
        self.origin = None;
        place::remove(&self.path);
        place::remove(&self.note());
    }

    /// Moves the whole and verified file to `to`.
    pub fn publish(self, to: &Path) -> Result<()> {
        place::publish(&self.path, to)?;
        place::remove(&self.note());
        Ok(())
    }

    fn note(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".json");
        PathBuf::from(name)
    }
}
