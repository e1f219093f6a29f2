//! Archives: the members that a card declares are unpacked, into a folder of their own, and nothing else is.
//!
//! Entries are read as streams and written by this module; no library unpacks. Every name is checked, links and
//! devices are refused, and files, bytes and their ratio to the archive are counted while they are read, since what
//! an archive says of its sizes is a claim.

mod gz;
mod sink;
mod tar;
mod zip;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use super::error::{Error, Kind, Result};
use super::place;
use crate::card::leaves;
use crate::{ArchiveFormat, Below, Member, Unpack};
use sink::Sink;

/// A file out of an archive, whole, and not yet in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unpacked {
    /// Its place below the root.
    pub to: Below,
    /// Its path now.
    pub staged: PathBuf,
    /// SHA-256.
    pub sha256: String,
    /// Bytes.
    pub size: u64,
}

/// The kind of an archive's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntryKind {
    File,
    Folder,
    /// A link, a device, a pipe.
    Other,
}

/// Unpacks the archive at `path` into the folder `staging`, which is made anew.
pub fn unpack(
    path: &Path,
    rules: &Unpack,
    staging: &Path,
    stop: &AtomicBool,
) -> Result<Vec<Unpacked>> {
    let _ = std::fs::remove_dir_all(staging);
    place::make_folder(staging)?;
    let mut sink = Sink::new(path, rules, staging, stop)?;
    match rules.format {
        ArchiveFormat::Zip => zip::read(path, &mut sink)?,
        ArchiveFormat::Tar => tar::read(tar::open(path)?, &mut sink)?,
        ArchiveFormat::TarGz => tar::read(gz::open(path)?, &mut sink)?,
        ArchiveFormat::Gz => gz::read(path, &mut sink)?,
    }
    sink.finish()
}

/// The places of an archive's entries, one by one.
struct Names<'a> {
    archive: &'a Path,
    rules: &'a Unpack,
    entries: u64,
    seen: HashSet<String>,
    missing: Vec<&'a Member>,
}

impl<'a> Names<'a> {
    fn new(archive: &'a Path, rules: &'a Unpack) -> Self {
        Self {
            archive,
            rules,
            entries: 0,
            seen: HashSet::new(),
            missing: rules.members.iter().collect(),
        }
    }

    /// The place of an entry, and the member it is; none if it is not wanted.
    fn place(
        &mut self,
        raw: &[u8],
        kind: EntryKind,
    ) -> Result<Option<(Below, Option<&'a Member>)>> {
        self.entries += 1;
        if self.entries > self.rules.max_files {
            return Err(self.error(&format!(
                "more than {} entries; expected at most that many",
                self.rules.max_files
            )));
        }
        let all = self.rules.members.is_empty();
        let Ok(text) = std::str::from_utf8(raw) else {
            // What has no member's name is nothing to anyone.
            return if all {
                Err(self.refuse(&String::from_utf8_lossy(raw), "its name is not UTF-8"))
            } else {
                Ok(None)
            };
        };
        // `tar c .` writes `./` before each name, and every writer a `/` behind a folder's.
        let name = text.strip_prefix("./").unwrap_or(text);
        if kind == EntryKind::Folder && name.is_empty() {
            return Ok(None);
        }
        let name = if kind == EntryKind::Folder {
            name.strip_suffix('/').unwrap_or(name)
        } else {
            name
        };
        let member = self
            .rules
            .members
            .iter()
            .find(|member| member.path.as_str() == name);
        if !all && member.is_none() {
            return Ok(None);
        }
        if let Some(why) = leaves(name) {
            return Err(self.refuse(text, why));
        }
        match kind {
            EntryKind::Other => {
                return Err(self.refuse(text, "it is a link or a device; expected a file"));
            }
            EntryKind::Folder if all => return Ok(None),
            EntryKind::Folder => return Err(self.refuse(text, "it is a folder; expected a file")),
            EntryKind::File => {}
        }
        // Names that differ only in case are one file on some systems.
        if !self.seen.insert(name.to_lowercase()) {
            return Err(self.refuse(text, "it is there twice; expected once"));
        }
        self.missing.retain(|missing| missing.path.as_str() != name);
        let to = match (member, &self.rules.to) {
            (Some(member), _) => member.to.clone(),
            (None, Some(folder)) => Below::try_from(format!("{folder}/{name}"))
                .map_err(|why| self.refuse(text, &why))?,
            (None, None) => return Err(self.refuse(text, "the card does not say where it goes")),
        };
        Ok(Some((to, member)))
    }

    fn refuse(&self, entry: &str, why: &str) -> Error {
        let entry: String = entry.chars().take(200).collect();
        self.error(&format!("entry `{}`: {why}", entry.escape_debug()))
    }

    fn error(&self, why: &str) -> Error {
        Error::new(
            Kind::Archive,
            format!(
                "{}: {why}; nothing of it was put into place",
                self.archive.display()
            ),
        )
    }

    fn finish(&self) -> Result<()> {
        match self.missing.first() {
            None => Ok(()),
            Some(member) => Err(self.refuse(
                member.path.as_str(),
                "it is not in the archive, and the card lists it",
            )),
        }
    }
}

#[cfg(test)]
mod tests;
