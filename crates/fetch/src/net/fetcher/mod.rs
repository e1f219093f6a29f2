//! Fetching: checks what is there, and downloads what is missing.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use super::digest::{Digest, sha256_of};
use super::error::{Error, Kind, Result};
use super::http::Client;
use super::hub::Cached;
use super::job::{Job, Receipt};
use super::lock::Lock;
use super::progress::{Event, Progress};
use super::settings::Settings;
use super::transfer::{FileRequest, Transfer};
use crate::Source;

mod look;
mod place;

pub use look::State;

/// Downloads files.
pub struct Fetcher {
    settings: Settings,
    client: OnceLock<Client>,
}

/// Permissions of the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allow {
    /// Downloads without a known hash are accepted.
    pub unverified: bool,
    /// A file that is not the download may be replaced by it.
    pub replacing: bool,
}

/// The result of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    /// The files, all of them in place.
    pub files: Vec<PathBuf>,
    /// The address they are from; none when all was there already.
    pub from: Option<String>,
    /// Bytes that came over the wire.
    pub bytes: u64,
    /// SHA-256 of the download, if no hash was known for it, so that it can go into the card.
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

    /// Downloads what is missing of `job`. Files that are there and right stay as they are, and then no socket is
    /// opened.
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

    /// Downloads a file of the Hub into its cache.
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

    /// Downloads a file from a plain address.
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
        let wish = FileRequest {
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
            // Without a hash the archive itself may be wrong, so its bytes are discarded.
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

    /// A transfer over the network, unless the network must not be used.
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
