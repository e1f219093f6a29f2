//! Verified files on their way into place.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use super::{Allow, Fetcher};
use crate::net::archive::{self, Unpacked};
use crate::net::digest::sha256_of;
use crate::net::error::{Error, Kind, Result};
use crate::net::job::{Job, Receipt};
use crate::net::place;
use crate::net::progress::{Event, Progress};

impl Fetcher {
    /// Puts a whole and verified file, or its members, below the root.
    pub(super) fn put(
        &self,
        job: &Job,
        allow: Allow,
        from: &Path,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<Vec<PathBuf>> {
        let name = job.name();
        if let Some(to) = &job.download.to {
            let sha256 = sha256_of(from)?;
            self.check_known(job, to.as_str(), &sha256)?;
            let path = to.under(&job.root);
            job.note(&Receipt {
                files: [(to.to_string(), sha256)].into(),
            })?;
            place::copy(from, &path)?;
            return Ok(vec![path]);
        }
        let Some(rules) = &job.download.unpack else {
            return Ok(Vec::new());
        };
        progress.hear(&Event::Unpacking { file: &name });
        let staging = job.own(".unpacked");
        let placed = archive::unpack(from, rules, &staging, stop)
            .and_then(|files| self.place_all(job, allow, &files));
        let _ = std::fs::remove_dir_all(&staging);
        placed
    }

    /// Moves the files of an archive into place, once all of them are permitted there.
    fn place_all(&self, job: &Job, allow: Allow, files: &[Unpacked]) -> Result<Vec<PathBuf>> {
        for file in files {
            self.check_known(job, file.to.as_str(), &file.sha256)?;
            let path = file.to.under(&job.root);
            if path.is_file() && !allow.replacing {
                let found = sha256_of(&path)?;
                if found != file.sha256 {
                    return Err(in_the_way(&path, &format!("sha-256 {found}"), &file.sha256));
                }
            }
        }
        // The note is first: should the process end between two files, it says what the rest must be.
        let each = files
            .iter()
            .map(|file| (file.to.to_string(), file.sha256.clone()));
        job.note(&Receipt {
            files: each.collect(),
        })?;
        for file in files {
            place::publish(&file.staged, &file.to.under(&job.root))?;
        }
        Ok(files.iter().map(|file| file.to.under(&job.root)).collect())
    }

    /// Checks the hash of the file at `to` against what the card says elsewhere.
    fn check_known(&self, job: &Job, to: &str, found: &str) -> Result<()> {
        match job
            .known
            .get(to)
            .filter(|expected| expected.as_str() != found)
        {
            None => Ok(()),
            Some(expected) => Err(Error::new(
                Kind::Wrong,
                format!(
                    "{}: `{to}`: sha-256 {found}; the card expects {expected}",
                    job.origin(&self.settings.endpoint)
                ),
            )),
        }
    }
}

pub(super) fn in_the_way(path: &Path, found: &str, expected: &str) -> Error {
    Error::new(
        Kind::InTheWay,
        format!(
            "{}: {found}; expected {expected}; move it away, or allow it to be replaced",
            path.display()
        ),
    )
}
