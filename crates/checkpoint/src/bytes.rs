//! The bytes of a file, mapped rather than read, and their hash.

use std::fs::File;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use memmap2::Mmap;
use sha2::{Digest, Sha256};

/// Bytes that many readers share. Those of a file are mapped: parts that are not used are not read from disk.
#[derive(Debug, Clone)]
pub struct Bytes(Arc<Storage>);

#[derive(Debug)]
enum Storage {
    Mapped(Mmap),
    Owned(Vec<u8>),
}

impl Bytes {
    /// Maps the file at `path`. It must not be changed in place while it is open; replacing it by renaming, as every
    /// writer here does, leaves the mapped bytes as they are.
    pub fn map(path: &Path) -> Result<Self> {
        let shown = path.display();
        let file = File::open(path).with_context(|| format!("{shown}: cannot be read"))?;
        let metadata = file
            .metadata()
            .with_context(|| format!("{shown}: cannot be read"))?;
        ensure!(metadata.is_file(), "{shown}: not a file");
        if metadata.len() == 0 {
            return Ok(Vec::new().into()); // nothing to map
        }
        // SAFETY: a read-only private mapping of a regular file. The caller must see to it that the file is not cut
        // short while it is mapped (see above), as for every reader of mapped weights.
        let mapped =
            unsafe { Mmap::map(&file) }.with_context(|| format!("{shown}: cannot be mapped"))?;
        Ok(Self(Arc::new(Storage::Mapped(mapped))))
    }

    /// SHA-256 in hexadecimal.
    pub fn sha256(&self) -> String {
        hex(&Sha256::digest(self))
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Storage::Owned(bytes)))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &*self.0 {
            Storage::Mapped(mapped) => mapped,
            Storage::Owned(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// One hash for many files, from the hash of each: SHA-256 of the hashes in hexadecimal, sorted, each followed by a
/// line feed. Neither the names of the files nor the order they are listed in matters. By hand:
/// `sha256sum FILES | cut -c1-64 | sort | sha256sum`.
pub(crate) fn joint_hash(mut hashes: Vec<String>) -> String {
    hashes.sort();
    let text: String = hashes.into_iter().map(|hash| hash + "\n").collect();
    hex(&Sha256::digest(text))
}
