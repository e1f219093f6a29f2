//! One download of a card, and the places its files go to.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::digest::{Hashing, sha256_of};
use super::error::Result;
use super::hub::HubPlace;
use super::place;
use crate::{Below, Download, Sha256, Source, WebUrl};

/// A download, and the places of its files.
#[derive(Clone, Debug)]
pub struct Job {
    /// The download as the card describes it.
    pub download: Download,
    /// The folder that the card's places are below.
    pub root: PathBuf,
    /// The Hub's cache.
    pub cache: PathBuf,
    /// Folders that may have the repository's files under their plain names, such as `bert-base-uncased/`.
    pub folders: Vec<PathBuf>,
    /// SHA-256 of files below the root that the card states elsewhere, such as that of a dataset's split.
    pub known: BTreeMap<String, Sha256>,
}

/// A file that a job writes, and its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its path.
    pub path: PathBuf,
    /// Its SHA-256, if the card or an earlier fetch states it.
    pub sha256: Option<Sha256>,
}

/// The hashes that an earlier fetch found where the card has none: kept in the root, under `.fetch/`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// SHA-256 of each file, by its place below the root.
    pub files: BTreeMap<String, String>,
}

impl Job {
    /// The display name: the last part of the address, or the path in the repository.
    pub fn name(&self) -> String {
        match &self.download.source {
            Source::Urls(urls) => last_part(&urls[0]),
            Source::Hub { path, .. } => path.to_string(),
        }
    }

    /// The origin for display: the first address, or the repository, file and commit.
    pub fn origin(&self, endpoint: &str) -> String {
        match &self.download.source {
            Source::Urls(urls) => urls[0].to_string(),
            Source::Hub { .. } => self
                .hub_place()
                .map(|place| place.address(endpoint))
                .unwrap_or_default(),
        }
    }

    /// The place in the Hub's cache; none for a plain address.
    pub(super) fn hub_place(&self) -> Option<HubPlace<'_>> {
        match &self.download.source {
            Source::Urls(_) => None,
            Source::Hub {
                kind,
                repo,
                revision,
                path,
            } => Some(HubPlace::new(
                &self.cache,
                &self.download,
                (*kind, repo, revision, path),
            )),
        }
    }

    /// Returns whether the file stays in the Hub's cache and goes nowhere else.
    pub(super) fn stays_in_cache(&self) -> bool {
        self.download.to.is_none() && self.download.unpack.is_none()
    }

    /// The files below the root, as far as they can be named: all of an archive are known once it was unpacked.
    pub(super) fn outputs(&self) -> Option<Vec<Output>> {
        let receipt = self.receipt();
        let output = |to: &str, sha256: Option<&Sha256>| {
            let sha256 = sha256.or_else(|| self.known.get(to)).cloned();
            let noted = || Sha256::try_from(receipt.as_ref()?.files.get(to)?.clone()).ok();
            let path = Below::try_from(to.to_string()).ok()?.under(&self.root);
            Some(Output {
                path,
                sha256: sha256.or_else(noted),
            })
        };
        if let Some(to) = &self.download.to {
            return Some(vec![output(to.as_str(), self.download.sha256.as_ref())?]);
        }
        let unpack = self.download.unpack.as_ref()?;
        if !unpack.members.is_empty() {
            let each = unpack
                .members
                .iter()
                .map(|member| output(member.to.as_str(), member.sha256.as_ref()));
            return each.collect();
        }
        match (&receipt, unpack.format, &unpack.to) {
            (_, crate::ArchiveFormat::Gz, Some(to)) => Some(vec![output(to.as_str(), None)?]),
            (Some(receipt), ..) => receipt.files.keys().map(|to| output(to, None)).collect(),
            (None, ..) => None,
        }
    }

    /// Returns whether there is a hash that the download can be compared with.
    pub(super) fn is_verifiable(&self) -> bool {
        if self.download.sha256.is_some() || self.hub_place().is_some() {
            return true;
        }
        // Every file that comes out of an archive has a hash of its own.
        let members = self
            .download
            .unpack
            .as_ref()
            .map(|unpack| (&unpack.members, unpack.to.as_ref()));
        match members {
            Some((members, _)) if !members.is_empty() => members.iter().all(|member| {
                member.sha256.is_some() || self.known.contains_key(member.to.as_str())
            }),
            Some((_, Some(to))) => self.known.contains_key(to.as_str()),
            _ => self
                .download
                .to
                .as_ref()
                .is_some_and(|to| self.known.contains_key(to.as_str())),
        }
    }

    /// The hash the file must have, from the card's own words on the download or on its place.
    pub(super) fn sha256(&self) -> Option<&Sha256> {
        let by_place = || self.known.get(self.download.to.as_ref()?.as_str());
        self.download.sha256.as_ref().or_else(by_place)
    }

    /// A name for files of our own that no other download shares.
    pub(super) fn key(&self) -> String {
        let mut hash = Hashing::new();
        hash.update(format!("{:?}", self.download).as_bytes());
        hash.finish()[..24].to_string()
    }

    /// Partial files, locks and receipts, below the root so that they are on its file system.
    pub(super) fn own(&self, end: &str) -> PathBuf {
        self.root
            .join(".fetch")
            .join(format!("{}{end}", self.key()))
    }

    fn receipt(&self) -> Option<Receipt> {
        serde_json::from_slice(&std::fs::read(self.own(".receipt.json")).ok()?).ok()
    }

    /// Writes the receipt.
    pub(super) fn note(&self, receipt: &Receipt) -> Result<()> {
        let text = serde_json::to_vec_pretty(receipt).expect("a receipt is plain text");
        place::write(&self.own(".receipt.json"), &text)
    }
}

impl Output {
    /// Its hash now, if it is there.
    pub fn found(&self) -> Result<Option<String>> {
        if !self.path.is_file() {
            return Ok(None);
        }
        sha256_of(&self.path).map(Some)
    }
}

fn last_part(url: &WebUrl) -> String {
    let path = url.as_str().split(['?', '#']).next().unwrap_or_default();
    path.trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .to_string()
}
