//! The output of an archive's bytes: counted, hashed, capped.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::{EntryKind, Names, Unpacked};
use crate::net::digest::Hashing;
use crate::net::error::{Error, Result};
use crate::{Below, Member, Unpack};

/// A few small files may shrink to almost nothing without being a bomb.
const FREE_OF_RATIO: u64 = 1 << 20;

/// Takes the entries of one archive.
pub struct Sink<'a> {
    names: Names<'a>,
    staging: &'a Path,
    stop: &'a AtomicBool,
    left: u64,
    cap: u64,
    pub(super) rules: &'a Unpack,
    unpacked: Vec<Unpacked>,
}

impl<'a> Sink<'a> {
    pub fn new(
        archive: &'a Path,
        rules: &'a Unpack,
        staging: &'a Path,
        stop: &'a AtomicBool,
    ) -> Result<Self> {
        let found =
            std::fs::metadata(archive).map_err(|error| Error::disk(archive, "read", &error))?;
        let by_ratio = found
            .len()
            .saturating_mul(rules.max_ratio)
            .max(FREE_OF_RATIO);
        let cap = rules.max_bytes.min(by_ratio);
        Ok(Self {
            names: Names::new(archive, rules),
            staging,
            stop,
            left: cap,
            cap,
            rules,
            unpacked: Vec::new(),
        })
    }

    /// The place of an entry, and the member it is; none if it is not wanted.
    pub fn wanted(
        &mut self,
        raw: &[u8],
        kind: EntryKind,
    ) -> Result<Option<(Below, Option<&'a Member>)>> {
        self.names.place(raw, kind)
    }

    /// Writes the bytes of an entry to the staging folder.
    pub fn write(
        &mut self,
        name: &str,
        to: Below,
        member: Option<&'a Member>,
        declared: Option<u64>,
        content: &mut dyn Read,
    ) -> Result<()> {
        let staged = self.staging.join(format!("{}", self.unpacked.len()));
        let disk = |error: &io::Error| Error::disk(&staged, "written", error);
        let mut file = File::create_new(&staged).map_err(|error| disk(&error))?;
        let mut hash = Hashing::new();
        let mut size = 0;
        let mut buffer = vec![0; 256 << 10];
        loop {
            let length = match content.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.damaged(name, &error)),
            };
            self.count(name, length as u64)?;
            file.write_all(&buffer[..length])
                .map_err(|error| disk(&error))?;
            hash.update(&buffer[..length]);
            size += length as u64;
        }
        let sha256 = hash.finish();
        let expected = member.and_then(|member| member.size).or(declared);
        if let Some(expected) = expected.filter(|&expected| expected != size) {
            return Err(self
                .names
                .refuse(name, &format!("{size} bytes; expected {expected}")));
        }
        if let Some(expected) = member
            .and_then(|member| member.sha256.as_ref())
            .filter(|e| e.as_str() != sha256)
        {
            return Err(self
                .names
                .refuse(name, &format!("sha-256 {sha256}; expected {expected}")));
        }
        self.unpacked.push(Unpacked {
            to,
            staged: PathBuf::from(&staged),
            sha256,
            size,
        });
        Ok(())
    }

    /// Checks the bytes unpacked so far against the limit.
    fn count(&mut self, name: &str, bytes: u64) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::stopped());
        }
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                let Unpack {
                    max_bytes,
                    max_ratio,
                    ..
                } = self.rules;
                let why = format!(
                    "the archive unpacks to more than {} bytes; expected at most {max_bytes}, and at most {max_ratio} times its size",
                    self.cap
                );
                Err(self.names.refuse(name, &why))
            }
        }
    }

    /// Bytes that may still be unpacked; readers of streams stop there even if they skip an entry.
    pub fn cap(&self) -> u64 {
        self.cap
    }

    /// The archive cannot be read on.
    pub fn damaged(&self, name: &str, error: &dyn std::fmt::Display) -> Error {
        self.names
            .refuse(name, &format!("the archive is damaged: {error}"))
    }

    pub fn finish(self) -> Result<Vec<Unpacked>> {
        self.names.finish()?;
        Ok(self.unpacked)
    }
}
