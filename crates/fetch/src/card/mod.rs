//! The description of downloads in cards, as TOML.
//!
//! ```toml
//! # A file at an address, with other addresses to try in turn.
//! [[fetch]]
//! kind = "url"
//! url = "https://example.org/corpus/train.csv"
//! mirrors = ["https://example.net/train.csv"]
//! sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
//! size = 4
//! to = "corpus/train.csv"          # below the data root
//!
//! # An archive: these members of it, and nothing else.
//! [[fetch]]
//! kind = "url"
//! url = "https://example.org/corpus.zip"
//! [fetch.unpack]
//! format = "zip"
//! members = [
//!   { path = "corpus/dev.csv", to = "corpus/dev.csv" },
//!   { path = "corpus/test.csv", to = "corpus/test.csv" },
//! ]
//!
//! # Files of a repository on the Hub, at a pinned commit. Without `to` they stay in the Hub's cache.
//! [[fetch]]
//! kind = "hub-model"               # or "hub-dataset"
//! repo = "owner/name"
//! revision = "0123456789abcdef0123456789abcdef01234567"
//! files = [
//!   { path = "model.safetensors", size = 440449768 },
//!   { path = "vocab.txt" },
//! ]
//! ```

mod name;
mod unpack;

use serde::Deserialize;

#[cfg(feature = "net")]
pub(crate) use name::leaves;
pub use name::{Below, Repo, Revision, Sha256, WebUrl};
pub use unpack::{ArchiveFormat, Member, Unpack};

/// One entry `[[fetch]]` of a card.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Fetch {
    /// A file at a plain address.
    Url(UrlFetch),
    /// Files of a model repository on the Hub.
    HubModel(HubFetch),
    /// Files of a dataset repository on the Hub.
    HubDataset(HubFetch),
}

/// A file at a plain address.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawUrlFetch")]
pub struct UrlFetch {
    /// The address; `https`, or `http` where nothing else is offered.
    pub url: WebUrl,
    /// Other addresses of the same bytes, tried in this order after `url`.
    pub mirrors: Vec<WebUrl>,
    /// SHA-256 of the file.
    pub sha256: Option<Sha256>,
    /// Its size in bytes.
    pub size: Option<u64>,
    /// The bytes go to a file, or are unpacked.
    pub then: Then,
}

/// The handling of a file that was fetched from a plain address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Then {
    /// It goes to this place below the root: the key `to`.
    Keep(Below),
    /// It is unpacked below the root, and not kept: the key `unpack`.
    Unpack(Unpack),
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawUrlFetch {
    url: WebUrl,
    #[serde(default)]
    mirrors: Vec<WebUrl>,
    sha256: Option<Sha256>,
    size: Option<u64>,
    to: Option<Below>,
    unpack: Option<Unpack>,
}

impl TryFrom<RawUrlFetch> for UrlFetch {
    type Error = String;

    fn try_from(raw: RawUrlFetch) -> Result<Self, String> {
        let then = match (raw.to, raw.unpack) {
            (Some(to), None) => Then::Keep(to),
            (None, Some(unpack)) => Then::Unpack(unpack),
            (None, None) => {
                return Err(format!(
                    "{}: neither `to` nor `unpack`; expected one",
                    raw.url
                ));
            }
            (Some(_), Some(_)) => {
                return Err(format!("{}: both `to` and `unpack`; expected one", raw.url));
            }
        };
        Ok(Self {
            url: raw.url,
            mirrors: raw.mirrors,
            sha256: raw.sha256,
            size: raw.size,
            then,
        })
    }
}

/// Files of one repository on the Hub, all of one commit.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HubFetch {
    /// `owner/name`, or `name` for the few that have no owner.
    pub repo: Repo,
    /// The commit.
    pub revision: Revision,
    /// The files.
    pub files: Vec<HubFile>,
}

/// One file of a repository on the Hub.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HubFile {
    /// Path in the repository.
    pub path: Below,
    /// SHA-256 of the file. Without it, the file is compared with the hash that the Hub gives for the pinned commit.
    pub sha256: Option<Sha256>,
    /// Its size in bytes.
    pub size: Option<u64>,
    /// The place of a copy below the root. Without `to` and `unpack` the file stays in the Hub's cache.
    pub to: Option<Below>,
    /// The file is an archive, unpacked below the root.
    pub unpack: Option<Unpack>,
}

/// One file to fetch, whatever kind of entry it is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Download {
    /// The source of the bytes.
    pub source: Source,
    /// SHA-256 of the file.
    pub sha256: Option<Sha256>,
    /// Its size in bytes.
    pub size: Option<u64>,
    /// The place of the file below the root.
    pub to: Option<Below>,
    /// The members to unpack from it below the root.
    pub unpack: Option<Unpack>,
}

/// The source of a download's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// At any of these addresses, in the order in which they are tried.
    Urls(Vec<WebUrl>),
    /// In a repository on the Hub.
    Hub {
        /// Models and datasets have different addresses.
        kind: RepoKind,
        /// `owner/name`.
        repo: Repo,
        /// The commit.
        revision: Revision,
        /// Path in the repository.
        path: Below,
    },
}

/// The contents of a repository on the Hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepoKind {
    /// A model.
    Model,
    /// A dataset.
    Dataset,
}

impl Fetch {
    /// The files of this entry, one by one.
    pub fn downloads(&self) -> Vec<Download> {
        match self {
            Self::Url(fetch) => vec![fetch.download()],
            Self::HubModel(fetch) => fetch.downloads(RepoKind::Model),
            Self::HubDataset(fetch) => fetch.downloads(RepoKind::Dataset),
        }
    }
}

impl UrlFetch {
    fn download(&self) -> Download {
        let (to, unpack) = match &self.then {
            Then::Keep(to) => (Some(to.clone()), None),
            Then::Unpack(unpack) => (None, Some(unpack.clone())),
        };
        let urls = std::iter::once(&self.url).chain(&self.mirrors);
        Download {
            source: Source::Urls(urls.cloned().collect()),
            sha256: self.sha256.clone(),
            size: self.size,
            to,
            unpack,
        }
    }
}

impl HubFetch {
    fn downloads(&self, kind: RepoKind) -> Vec<Download> {
        let download = |file: &HubFile| Download {
            source: Source::Hub {
                kind,
                repo: self.repo.clone(),
                revision: self.revision.clone(),
                path: file.path.clone(),
            },
            sha256: file.sha256.clone(),
            size: file.size,
            to: file.to.clone(),
            unpack: file.unpack.clone(),
        };
        self.files.iter().map(download).collect()
    }
}

#[cfg(test)]
mod tests;
