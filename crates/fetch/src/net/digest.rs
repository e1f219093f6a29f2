//! Hashes of files: SHA-256, and the SHA-1 that git gives a file.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha1::Sha1;
use sha2::{Digest as _, Sha256 as Sha256Hasher};

use super::error::{Error, Result};
use crate::Sha256;

/// A hash that a file must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Digest {
    /// Its SHA-256.
    Sha256(String),
    /// Its name as a git blob: the SHA-1 of `blob <length>\0` and the bytes. The Hub has nothing better for files that
    /// are not in LFS; it protects against faults, but no longer against attackers.
    GitBlob(String),
}

impl Digest {
    /// The hash that an ETag of the Hub is: 64 digits for a file in LFS, 40 for one in git.
    pub fn of_etag(etag: &str) -> Option<Self> {
        let hex = etag
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        match etag.len() {
            64 if hex => Some(Self::Sha256(etag.to_string())),
            40 if hex => Some(Self::GitBlob(etag.to_string())),
            _ => None,
        }
    }

    /// The same kind of hash of the file at `path`.
    pub fn of_file(&self, path: &Path) -> Result<Self> {
        match self {
            Self::Sha256(_) => sha256_of(path).map(Self::Sha256),
            Self::GitBlob(_) => git_blob_of(path).map(Self::GitBlob),
        }
    }
}

impl From<&Sha256> for Digest {
    fn from(sha256: &Sha256) -> Self {
        Self::Sha256(sha256.as_str().to_string())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sha256(digits) => write!(f, "sha-256 {digits}"),
            Self::GitBlob(digits) => write!(f, "git blob {digits}"),
        }
    }
}

/// SHA-256 of the file at `path`.
pub fn sha256_of(path: &Path) -> Result<String> {
    let mut hasher = Sha256Hasher::new();
    read_all(path, |_| (), |bytes| hasher.update(bytes))?;
    Ok(hex(&hasher.finalize()))
}

fn git_blob_of(path: &Path) -> Result<String> {
    let hasher = std::cell::RefCell::new(Sha1::new());
    read_all(
        path,
        |length| hasher.borrow_mut().update(format!("blob {length}\0")),
        |bytes| hasher.borrow_mut().update(bytes),
    )?;
    Ok(hex(&hasher.into_inner().finalize()))
}

/// SHA-256 of a stream of bytes.
pub struct Hashing(Sha256Hasher);

impl Hashing {
    /// The hash of no bytes yet.
    pub fn new() -> Self {
        Self(Sha256Hasher::new())
    }

    /// These bytes pass.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// All has passed.
    pub fn finish(self) -> String {
        hex(&self.0.finalize())
    }
}

fn read_all(path: &Path, begin: impl FnOnce(u64), mut each: impl FnMut(&[u8])) -> Result<()> {
    let read = || -> io::Result<()> {
        let mut file = File::open(path)?;
        begin(file.metadata()?.len());
        let mut buffer = vec![0; 1 << 20];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(length) => each(&buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    };
    read().map_err(|error| Error::disk(path, "read", &error))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_sha256sum_and_git() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x");
        std::fs::write(&path, "hello\n").expect("written");
        // `printf 'hello\n' | sha256sum` and `printf 'hello\n' | git hash-object --stdin`.
        let sha256 = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
        let blob = "ce013625030ba8dba906f756967f9e9ca394464a";
        for digits in [sha256, blob] {
            let digest = Digest::of_etag(digits).expect("a hash");
            assert_eq!(digest.of_file(&path).expect("read"), digest);
        }
        assert_eq!(Digest::of_etag("5d41402abc4b2a76b9719d911017c592-2"), None);
    }
}
