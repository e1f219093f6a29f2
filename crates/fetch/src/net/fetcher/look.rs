//! Checks of a job's files on disk.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use super::place::in_the_way;
use super::{Allow, Fetcher};
use crate::Source;
use crate::net::digest::sha256_of;
use crate::net::error::Result;
use crate::net::hub::Cached;
use crate::net::job::Job;
use crate::net::progress::Silent;

/// The state of a job's files on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// All of it, and the bytes are right.
    Verified(Vec<PathBuf>),
    /// All of it, and no hash is known for the bytes.
    Unverified(Vec<PathBuf>),
    /// A file is there that is not the one expected.
    Wrong {
        /// The file.
        path: PathBuf,
        /// Its hash.
        found: String,
        /// The hash it should have.
        expected: String,
    },
    /// At least one file is missing.
    Missing,
}

impl Fetcher {
    /// Checks the files of `job`. Files are read and hashed; no socket is opened.
    pub fn look(&self, job: &Job) -> Result<State> {
        if job.stays_in_cache() {
            return self.look_in_cache(job);
        }
        let Some(outputs) = job.outputs() else {
            return Ok(State::Missing);
        };
        let mut verified = true;
        let mut paths = Vec::new();
        for output in outputs {
            let Some(found) = output.found()? else {
                return Ok(State::Missing);
            };
            match &output.sha256 {
                Some(expected) if expected.as_str() != found => {
                    return Ok(State::Wrong {
                        path: output.path,
                        found: format!("sha-256 {found}"),
                        expected: expected.to_string(),
                    });
                }
                expected => verified &= expected.is_some(),
            }
            paths.push(output.path);
        }
        Ok(if verified {
            State::Verified(paths)
        } else {
            State::Unverified(paths)
        })
    }

    fn look_in_cache(&self, job: &Job) -> Result<State> {
        let Some(hub) = job.hub_place() else {
            return Ok(State::Missing);
        };
        match hub.look()? {
            Cached::Whole(Some(_)) => return Ok(State::Verified(vec![hub.pointer()])),
            Cached::Whole(None) => return Ok(State::Unverified(vec![hub.pointer()])),
            Cached::Wrong(found, expected) => {
                return Ok(State::Wrong {
                    path: hub.pointer(),
                    found: found.to_string(),
                    expected: expected.to_string(),
                });
            }
            Cached::Missing => {}
        }
        let Source::Hub { path, .. } = &job.download.source else {
            return Ok(State::Missing);
        };
        let plain = job
            .folders
            .iter()
            .map(|folder| path.under(folder))
            .find(|path| path.is_file());
        let Some(path) = plain else {
            return Ok(State::Missing);
        };
        match job.sha256() {
            None => Ok(State::Unverified(vec![path])),
            Some(expected) if sha256_of(&path)? == expected.as_str() => {
                Ok(State::Verified(vec![path]))
            }
            // A person's own copy under the same name is another file, and stays what it is.
            Some(_) => Ok(State::Missing),
        }
    }

    /// Size of the download, from the card, or else from the server unless offline.
    pub fn size(&self, job: &Job, stop: &AtomicBool) -> Option<u64> {
        if job.download.size.is_some() || self.settings.offline {
            return job.download.size;
        }
        let transfer = self.transfer(&Silent, stop).ok()?;
        match (job.hub_place(), &job.download.source) {
            (Some(hub), _) => hub.describe(&transfer).ok()?.size,
            (None, Source::Urls(urls)) => {
                let reply = transfer.ask(&job.name(), urls[0].as_str()).ok()?;
                reply
                    .length()
                    .filter(|_| reply.status == 200 && !reply.is_page())
            }
            (None, Source::Hub { .. }) => None,
        }
    }

    /// The files of `job` if all are there; an error if one of them is another file and may not be replaced.
    pub(super) fn there(&self, job: &Job, allow: Allow) -> Result<Option<Vec<PathBuf>>> {
        match self.look(job)? {
            State::Verified(files) | State::Unverified(files) => Ok(Some(files)),
            State::Missing => Ok(None),
            // The cache is ours to repair; files below the root may be the user's own.
            State::Wrong { .. } if allow.replacing || job.stays_in_cache() => Ok(None),
            State::Wrong {
                path,
                found,
                expected,
            } => Err(in_the_way(&path, &found, &expected)),
        }
    }
}
