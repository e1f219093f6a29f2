//! Errors that are not the work's own: of the file system, or of another version of the program.

use std::fmt;
use std::io::{self, ErrorKind};

/// A file of a later version of this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewerVersion {
    /// Schema version of the file.
    pub found: String,
    /// Newest one that this program knows.
    pub known: u32,
}

impl fmt::Display for NewerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "found schema version `{}`, expected at most `{}`: a newer totune wrote it; use that one here, or another folder with this one",
            self.found, self.known
        )
    }
}

impl std::error::Error for NewerVersion {}

/// Advice on an error of the file system; `None` for errors of other kinds.
pub fn storage_advice(error: &anyhow::Error) -> Option<&'static str> {
    let error = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<io::Error>())?;
    match error.kind() {
        ErrorKind::StorageFull => {
            Some("free some space and run the same command again; what is done stays")
        }
        ErrorKind::QuotaExceeded => Some(
            "remove files or ask for a larger quota, and run the same command again; what is done stays",
        ),
        ErrorKind::ReadOnlyFilesystem => Some(
            "make the file system writable, or choose another folder, and run the same command again; what is done stays",
        ),
        // EIO, which has no kind of its own. A library that adds a path to an error keeps its number only in the text.
        _ if cfg!(unix)
            && (error.raw_os_error() == Some(5) || error.to_string().contains("(os error 5)")) =>
        {
            Some(
                "check the disk or the connection to it, and run the same command again; what is done stays",
            )
        }
        ErrorKind::StaleNetworkFileHandle => {
            Some("run the same command again when the file server answers; what is done stays")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_full_disk_a_quota_and_a_disk_that_fails_have_advice() {
        let advice = |code| {
            let error = anyhow::Error::new(io::Error::from_raw_os_error(code));
            storage_advice(&error.context("runs/a: cannot write"))
        };
        assert!(advice(28).unwrap().starts_with("free some space"));
        assert!(advice(122).unwrap().contains("quota"));
        assert!(advice(30).unwrap().contains("writable"));
        assert!(advice(5).unwrap().contains("check the disk"));
        assert_eq!(advice(2), None);
        let of_path = format!("{} at path \"a\"", io::Error::from_raw_os_error(5));
        let wrapped = anyhow::Error::new(io::Error::other(of_path));
        assert!(storage_advice(&wrapped).unwrap().contains("check the disk"));
        assert_eq!(storage_advice(&anyhow!("c: found 0")), None);
    }
}
