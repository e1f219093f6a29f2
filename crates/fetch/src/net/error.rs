//! Errors of fetching, sorted by what a user or a script can do about them.

use std::fmt;
use std::io;
use std::path::Path;

/// An error of fetching.
#[derive(Debug)]
pub struct Error {
    /// The sort of it.
    pub kind: Kind,
    message: String,
}

/// Sorts of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The network is needed and must not be used.
    Offline,
    /// The server requires a login or an agreement: 401, 403, or a gated repository.
    Denied,
    /// There is nothing at the address.
    NotFound,
    /// The server did not answer, broke off, or was overloaded, in every attempt.
    Network,
    /// The server's answer makes no sense: a loop of redirects, a range that was not requested, headers that are
    /// missing.
    Protocol,
    /// The bytes received, or those on disk, are not the ones expected.
    Wrong,
    /// No hash is known for the bytes, and the user has not accepted that.
    Unverified,
    /// A file that is not this download is in its place.
    InTheWay,
    /// An archive has an entry that must not be unpacked, or is damaged.
    Archive,
    /// There is no space left.
    DiskFull,
    /// Another error of reading or writing files.
    Disk,
    /// A stop was requested.
    Stopped,
}

/// The result of fetching.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// A fault of the file system at `path`, while something was `done` to it.
    pub(crate) fn disk(path: &Path, done: &str, error: &io::Error) -> Self {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        let full = matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge);
        let kind = if full { Kind::DiskFull } else { Kind::Disk };
        Self::new(
            kind,
            format!("{}: cannot be {done}: {error}", path.display()),
        )
    }

    pub(crate) fn stopped() -> Self {
        Self::new(Kind::Stopped, "interrupted; the same command resumes")
    }

    /// Returns whether no other attempt and no other address can help.
    pub(crate) fn is_final(&self) -> bool {
        use Kind::{Archive, Disk, DiskFull, InTheWay, Offline, Stopped, Unverified};
        matches!(
            self.kind,
            Archive | Disk | DiskFull | InTheWay | Offline | Stopped | Unverified
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
