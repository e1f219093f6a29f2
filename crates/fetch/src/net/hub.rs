//! The Hub's files, in the cache that Python's tools share.
//!
//! ```text
//! models--owner--name/
//!   blobs/<etag>                    the bytes; the ETag is their SHA-256, or git's SHA-1 for small files
//!   snapshots/<commit>/<path>       a relative link to the blob
//!   .no_exist/<commit>/<path>       empty: the commit has no such file
//! .locks/models--owner--name/<etag>.lock
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use super::digest::Digest;
use super::error::{Error, Kind, Result};
use super::http::Reply;
use super::lock::Lock;
use super::place;
use super::progress::Event;
use super::status;
use super::transfer::{FileRequest, Transfer};
use crate::{Below, Download, Repo, RepoKind, Revision, Sha256};

/// One file of the Hub, and its place in the cache.
#[derive(Debug)]
pub struct HubPlace<'a> {
    cache: &'a Path,
    kind: RepoKind,
    repo: &'a Repo,
    revision: &'a Revision,
    path: &'a Below,
    sha256: Option<&'a Sha256>,
    size: Option<u64>,
}

/// The Hub's description of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// Name of the blob.
    pub etag: String,
    /// Its size in bytes.
    pub size: Option<u64>,
}

/// The state of a file in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cached {
    /// It is there; with the hash that it agrees with, if one is known.
    Whole(Option<Digest>),
    /// It is there, and its bytes are not those expected: the hash found, and the one expected.
    Wrong(Digest, Digest),
    /// It is not there.
    Missing,
}

impl<'a> HubPlace<'a> {
    /// The place of a file of the Hub in `cache`; the download states its size and hash.
    pub fn new(
        cache: &'a Path,
        download: &'a Download,
        (kind, repo, revision, path): (RepoKind, &'a Repo, &'a Revision, &'a Below),
    ) -> Self {
        Self {
            cache,
            kind,
            repo,
            revision,
            path,
            sha256: download.sha256.as_ref(),
            size: download.size,
        }
    }

    /// `models--owner--name`.
    fn folder_name(&self) -> String {
        let kind = match self.kind {
            RepoKind::Model => "models",
            RepoKind::Dataset => "datasets",
        };
        format!("{kind}--{}", self.repo.as_str().replace('/', "--"))
    }

    fn folder(&self) -> PathBuf {
        self.cache.join(self.folder_name())
    }

    /// The path under which programs find the file.
    pub fn pointer(&self) -> PathBuf {
        self.path
            .under(&self.folder().join("snapshots").join(self.revision.as_str()))
    }

    fn blob(&self, etag: &str) -> PathBuf {
        self.folder().join("blobs").join(etag)
    }

    fn no_exist(&self) -> PathBuf {
        self.path
            .under(&self.folder().join(".no_exist").join(self.revision.as_str()))
    }

    /// The address at `endpoint`.
    pub fn address(&self, endpoint: &str) -> String {
        let prefix = match self.kind {
            RepoKind::Model => "",
            RepoKind::Dataset => "datasets/",
        };
        let path: Vec<String> = self.path.parts().map(quote).collect();
        format!(
            "{endpoint}/{prefix}{}/resolve/{}/{}",
            self.repo,
            self.revision,
            path.join("/")
        )
    }

    /// Checks the cache, without the network. A blob from another commit with the same bytes counts.
    pub fn look(&self) -> Result<Cached> {
        let pointer = self.pointer();
        if pointer.is_file() {
            return self.check(&pointer);
        }
        if let Some(sha256) = self.sha256 {
            let blob = self.blob(sha256.as_str());
            if blob.is_file() && self.check(&blob)? == Cached::Whole(Some(sha256.into())) {
                self.point(sha256.as_str())?;
                return Ok(Cached::Whole(Some(sha256.into())));
            }
        }
        Ok(Cached::Missing)
    }

    /// Holds the file at `path` against the card, or else against the name of the blob it is.
    fn check(&self, path: &Path) -> Result<Cached> {
        let target = fs::canonicalize(path).map_err(|error| Error::disk(path, "read", &error))?;
        let blob = target
            .parent()
            .is_some_and(|folder| folder.ends_with("blobs"));
        let name = target
            .file_name()
            .and_then(|name| name.to_str())
            .filter(|_| blob);
        let named = name.and_then(Digest::of_etag);
        // Where a card has a hash it decides; a cache without links has no other.
        let Some(expected) = self.sha256.map(Digest::from).or(named) else {
            return Ok(Cached::Whole(None));
        };
        let found = expected.of_file(&target)?;
        Ok(if found == expected {
            Cached::Whole(Some(expected))
        } else {
            Cached::Wrong(found, expected)
        })
    }

    /// An error if the Hub has answered before that the commit has no such file.
    pub fn check_exists(&self) -> Result<()> {
        if self.no_exist().is_file() {
            return Err(Error::new(
                Kind::NotFound,
                format!(
                    "{}: {} has no `{}`, as an earlier answer in the cache says",
                    self.repo, self.revision, self.path
                ),
            ));
        }
        Ok(())
    }

    /// Requests the name and size of the blob from the Hub.
    pub fn describe(&self, transfer: &Transfer<'_>) -> Result<Described> {
        let address = self.address(&transfer.settings.endpoint);
        let reply = transfer.ask(self.path.as_str(), &address)?;
        let commit = reply.header("x-repo-commit");
        if reply.status == 404
            && commit == Some(self.revision.as_str())
            && reply.header("x-error-code") == Some("EntryNotFound")
        {
            place::write(&self.no_exist(), b"")?;
        }
        if !(200..400).contains(&reply.status) {
            return Err(status::error(transfer.client, &address, &reply));
        }
        if commit != Some(self.revision.as_str()) {
            let found = commit.map_or_else(
                || "no commit".to_string(),
                |commit| format!("commit `{}`", super::http::shown(commit)),
            );
            return Err(Error::new(
                Kind::Protocol,
                format!(
                    "{address}: the answer names {found}; expected {}; is HF_ENDPOINT a Hub?",
                    self.revision
                ),
            ));
        }
        let described = self.described(&address, &reply)?;
        self.agree(&address, &described)?;
        Ok(described)
    }

    fn described(&self, address: &str, reply: &Reply) -> Result<Described> {
        let etag = reply
            .header("x-linked-etag")
            .or_else(|| reply.header("etag"))
            .unwrap_or_default();
        // As Python names blobs.
        let etag = etag
            .trim_start_matches(['W', '/'])
            .trim_matches('"')
            .to_string();
        let fit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if etag.is_empty() || etag.len() > 128 || !etag.bytes().all(fit) {
            return Err(Error::new(
                Kind::Protocol,
                format!("{address}: the answer has no ETag that can name a file"),
            ));
        }
        let linked = reply
            .header("x-linked-size")
            .and_then(|size| size.parse().ok());
        Ok(Described {
            etag,
            size: linked.or_else(|| reply.length().filter(|_| reply.status == 200)),
        })
    }

    /// The card and the Hub must mean the same file.
    fn agree(&self, address: &str, described: &Described) -> Result<()> {
        let wrong = |found: String, expected: String| {
            Err(Error::new(
                Kind::Wrong,
                format!("{address}: the Hub has {found}; the card expects {expected}"),
            ))
        };
        if let (Some(Digest::Sha256(found)), Some(expected)) =
            (Digest::of_etag(&described.etag), self.sha256)
            && found != expected.as_str()
        {
            return wrong(format!("sha-256 {found}"), expected.to_string());
        }
        match (described.size, self.size) {
            (Some(found), Some(expected)) if found != expected => {
                wrong(format!("{found} bytes"), expected.to_string())
            }
            _ => Ok(()),
        }
    }

    /// Downloads the file into the cache, and returns the bytes that came over the wire for it.
    pub fn fetch(
        &self,
        transfer: &Transfer<'_>,
        name: &str,
        accept_unverified: bool,
    ) -> Result<u64> {
        let described = self.describe(transfer)?;
        let named = Digest::of_etag(&described.etag);
        if named.is_none() && self.sha256.is_none() && !accept_unverified {
            return Err(Error::new(
                Kind::Unverified,
                format!(
                    "{name}: the Hub gives no hash for it, and the card has none; add `sha256`, or accept it as it comes"
                ),
            ));
        }
        let lock = self
            .cache
            .join(".locks")
            .join(self.folder_name())
            .join(format!("{}.lock", described.etag));
        let _lock = Lock::wait(&lock, transfer.stop, || {
            transfer.progress.hear(&Event::Waiting { file: name })
        })?;
        let blob = self.blob(&described.etag);
        let digests: Vec<Digest> = named
            .into_iter()
            .chain(self.sha256.map(Digest::from))
            .collect();
        // Another process may have brought it while this one waited, or another commit has the same bytes.
        let there = blob.is_file() && agrees(&blob, &digests)?;
        let mut bytes = 0;
        if !there {
            let address = self.address(&transfer.settings.endpoint);
            let wish = FileRequest {
                file: name,
                addresses: &[address],
                digests,
                size: self.size.or(described.size),
            };
            let partial = self.blob(&format!("{}.totune.incomplete", described.etag));
            let received = transfer.run(&wish, partial)?;
            bytes = received.bytes;
            received.partial.publish(&blob)?;
        }
        self.point(&described.etag)?;
        Ok(bytes)
    }

    /// Makes the snapshot's file a link to the blob, or the blob itself if there are no links.
    fn point(&self, etag: &str) -> Result<()> {
        let pointer = self.pointer();
        let up = self.path.parts().count() + 1;
        let target = PathBuf::from("../".repeat(up)).join("blobs").join(etag);
        if place::link(&target, &pointer).is_ok() {
            return Ok(());
        }
        place::copy(&self.blob(etag), &pointer)
    }
}

fn agrees(path: &Path, digests: &[Digest]) -> Result<bool> {
    for expected in digests {
        if expected.of_file(path)? != *expected {
            return Ok(false);
        }
    }
    Ok(!digests.is_empty())
}

/// A part of a path, as an address has it.
fn quote(part: &str) -> String {
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    let each = part.bytes().map(|byte| {
        if plain(byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    });
    each.collect()
}
