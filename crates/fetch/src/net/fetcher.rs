//! What is there, what is missing, and bringing it.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use super::archive::{self, Unpacked};
use super::digest::{Digest, sha256_of};
use super::error::{Error, Kind, Result};
use super::http::Client;
use super::hub::Cached;
use super::job::{Job, Receipt};
use super::lock::Lock;
use super::place;
use super::progress::{Event, Progress, Silent};
use super::settings::Settings;
use super::transfer::{Transfer, Wish};
use crate::Source;

/// Brings files.
pub struct Fetcher {
    settings: Settings,
    client: OnceLock<Client>,
}

/// What a person may allow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allow {
    /// Bytes that nothing can be held against are taken as they come.
    pub unverified: bool,
    /// A file that is not the download may be replaced by it.
    pub replacing: bool,
}

/// What is there of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// All of it, and the bytes are right.
    Verified(Vec<PathBuf>),
    /// All of it, and nothing says what the bytes must be.
    Unverified(Vec<PathBuf>),
    /// A file is there that is not the one expected.
    Wrong {
        /// The file.
        path: PathBuf,
        /// What it hashes to.
        found: String,
        /// What it should hash to.
        expected: String,
    },
    /// At least one file is missing.
    Missing,
}

/// What a job brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    /// The files, all of them in place.
    pub files: Vec<PathBuf>,
    /// The address they are from; none when all was there already.
    pub from: Option<String>,
    /// Bytes that came over the wire.
    pub bytes: u64,
    /// SHA-256 of the download, where nothing said what it must be, so that it can go into the card.
    pub sha256: Option<String>,
}

impl Fetcher {
    /// A fetcher; nothing is opened before it is needed.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            client: OnceLock::new(),
        }
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What is there of `job`. Files are read and hashed; no socket is opened.
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

    /// Brings what is missing of `job`. What is there and right is left alone, and then no socket is opened.
    pub fn fetch(
        &self,
        job: &Job,
        allow: Allow,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<Fetched> {
        if let Some(files) = self.there(job, allow)? {
            return Ok(Fetched {
                files,
                ..Fetched::default()
            });
        }
        let name = job.name();
        if !job.is_verifiable() && !allow.unverified {
            return Err(Error::new(
                Kind::Unverified,
                format!(
                    "{}: the card has no sha256 for it, so nothing can tell the right file from another; \
                     to take it as it comes and see its hash, allow it",
                    job.origin(&self.settings.endpoint)
                ),
            ));
        }
        if job.stays_in_cache() {
            let hub = job
                .hub_place()
                .ok_or_else(|| Error::new(Kind::Unverified, format!("{name}: goes nowhere")))?;
            let bytes = self.cached(job, allow, progress, stop)?;
            let from = Some(job.origin(&self.settings.endpoint));
            return Ok(Fetched {
                files: vec![hub.pointer()],
                from,
                bytes,
                sha256: None,
            });
        }
        let lock = job.own(".lock");
        let _lock = Lock::wait(&lock, stop, || {
            progress.hear(&Event::Waiting { file: &name })
        })?;
        // Another process may have brought it while this one waited.
        if let Some(files) = self.there(job, allow)? {
            return Ok(Fetched {
                files,
                ..Fetched::default()
            });
        }
        match job.hub_place() {
            Some(hub) => {
                let bytes = self.cached(job, allow, progress, stop)?;
                let files = self.put(job, allow, &hub.pointer(), progress, stop)?;
                let from = Some(job.origin(&self.settings.endpoint));
                Ok(Fetched {
                    files,
                    from,
                    bytes,
                    sha256: None,
                })
            }
            None => self.plain(job, allow, progress, stop),
        }
    }

    /// The files of `job` if all are there; an error if one of them is another file and may not be replaced.
    fn there(&self, job: &Job, allow: Allow) -> Result<Option<Vec<PathBuf>>> {
        match self.look(job)? {
            State::Verified(files) | State::Unverified(files) => Ok(Some(files)),
            State::Missing => Ok(None),
            // The cache is ours to mend; what lies below the root may be a person's own.
            State::Wrong { .. } if allow.replacing || job.stays_in_cache() => Ok(None),
            State::Wrong {
                path,
                found,
                expected,
            } => Err(in_the_way(&path, &found, &expected)),
        }
    }

    /// Brings a file of the Hub into its cache.
    fn cached(
        &self,
        job: &Job,
        allow: Allow,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<u64> {
        let Some(hub) = job.hub_place() else {
            return Ok(0);
        };
        if matches!(hub.look()?, Cached::Whole(_)) {
            return Ok(0);
        }
        hub.check_exists()?;
        hub.fetch(
            &self.online(job, progress, stop)?,
            &job.name(),
            allow.unverified,
        )
    }

    /// Brings a file from a plain address.
    fn plain(
        &self,
        job: &Job,
        allow: Allow,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<Fetched> {
        let Source::Urls(urls) = &job.download.source else {
            return Ok(Fetched::default());
        };
        let addresses: Vec<String> = urls.iter().map(ToString::to_string).collect();
        let name = job.name();
        let wish = Wish {
            file: &name,
            addresses: &addresses,
            digests: job.sha256().map(Digest::from).into_iter().collect(),
            size: job.download.size,
        };
        let received = self
            .online(job, progress, stop)?
            .run(&wish, job.own(".incomplete"))?;
        let sha256 = if job.is_verifiable() {
            None
        } else {
            Some(sha256_of(received.partial.path())?)
        };
        let mut fetched = Fetched {
            from: Some(received.address),
            bytes: received.bytes,
            sha256,
            ..Fetched::default()
        };
        let mut partial = received.partial;
        if job.download.unpack.is_some() {
            let placed = self.put(job, allow, partial.path(), progress, stop);
            // Without a hash of its own the archive may be what is wrong, and is not to be gone on with.
            let suspect = |error: &Error| {
                wish.digests.is_empty() && matches!(error.kind, Kind::Archive | Kind::Wrong)
            };
            if placed.as_ref().map_or_else(suspect, |_| true) {
                partial.discard();
            }
            fetched.files = placed?;
        } else if let Some(to) = &job.download.to {
            let path = to.under(&job.root);
            if let Some(sha256) = &fetched.sha256 {
                job.note(&Receipt {
                    files: [(to.to_string(), sha256.clone())].into(),
                })?;
            }
            partial.publish(&path)?;
            fetched.files = vec![path];
        }
        Ok(fetched)
    }

    /// Puts a whole and verified file, or what is in it, below the root.
    fn put(
        &self,
        job: &Job,
        allow: Allow,
        from: &std::path::Path,
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

    /// Moves the files of an archive into place, once every one of them may go there.
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

    /// What the card says of the file at `to` elsewhere must hold, too.
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

    /// What it takes to use the network, unless it must not be used.
    fn online<'a>(
        &'a self,
        job: &Job,
        progress: &'a dyn Progress,
        stop: &'a AtomicBool,
    ) -> Result<Transfer<'a>> {
        if self.settings.offline {
            return Err(Error::new(
                Kind::Offline,
                format!(
                    "{}: not there, and offline (HF_HUB_OFFLINE or --offline); it is at {}",
                    job.name(),
                    job.origin(&self.settings.endpoint)
                ),
            ));
        }
        self.transfer(progress, stop)
    }

    fn transfer<'a>(
        &'a self,
        progress: &'a dyn Progress,
        stop: &'a AtomicBool,
    ) -> Result<Transfer<'a>> {
        if self.client.get().is_none() {
            let _ = self.client.set(Client::new(&self.settings)?);
        }
        let client = self
            .client
            .get()
            .ok_or_else(|| Error::new(Kind::Protocol, "no client"))?;
        Ok(Transfer {
            client,
            settings: &self.settings,
            progress,
            stop,
        })
    }
}

fn in_the_way(path: &std::path::Path, found: &str, expected: &str) -> Error {
    Error::new(
        Kind::InTheWay,
        format!(
            "{}: {found}; expected {expected}; move it away, or allow it to be replaced",
            path.display()
        ),
    )
}
