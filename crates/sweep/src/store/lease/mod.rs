//! One owner per run folder at a time, on any file system that has hard links; no lock of the system is used.
//!
//! `leases/<n>` is the n-th owner of a folder, and the highest number owns it. A process takes a free folder by linking a
//! file of its own to the next number, which exactly one can do. The owner renews its own file every few seconds; a
//! lease is free when its owner gave it back, has ended (known on the same host only), or has not renewed it for
//! `stale` seconds. Those are counted by whoever waits, on its own monotonic clock, from the moment it saw the file
//! change last: clocks of different machines are never compared. Nobody writes or removes a file of another owner.
//!
//! A lease saves work and guards nothing: an owner that was stopped for longer than `stale` seconds and continues finds
//! a higher number when it asks ([`Lease::is_ours`]). Between that question and its next step it may lose the lease all
//! the same, so results are made safe by their publication (`publication.rs`), not by the lease. A checkpoint is written
//! only by an owner that is still the last one; one written all the same is a whole state of the same run.

mod owner;
mod watch;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

pub(crate) use owner::Owner;

/// Time between two renewals of a lease of this process.
pub(crate) fn renewal() -> Result<Duration> {
    Ok(between_renewals(stale_after()?))
}

/// Time between two renewals of a lease that is free after `stale` seconds without one.
fn between_renewals(stale: f64) -> Duration {
    Duration::from_secs_f64(stale / 10.0)
}

/// Seconds without renewal after which a lease is free, unless `TOTUNE_LEASE` says otherwise: longer than caches of file
/// systems (60 s), the grace of a scheduler (30 s) and a server that hangs for a while.
const STALE: f64 = 300.0;

/// Interval at which a silent lease is read again.
const LOOK: Duration = Duration::from_secs(1);

/// Folder of a run folder with its leases.
pub(crate) const LEASES: &str = "leases";

/// A lease as its owner writes it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Record {
    owner: Owner,
    /// Name of the file that the owner renews.
    file: String,
    /// Seconds without renewal after which others may take over.
    stale: f64,
    /// Number of renewals.
    renewed: u64,
    /// Whether the owner has given it back.
    released: bool,
}

/// A held lease. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Lease {
    leases: PathBuf,
    number: u64,
    record: Record,
    renewal: Option<(Sender<()>, JoinHandle<u64>)>,
}

/// The present owner of a folder.
#[derive(Debug)]
pub(crate) struct Holder {
    pub owner: Owner,
    pub hold: Hold,
}

/// Validity of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    /// Its owner was seen to renew it.
    Alive,
    /// Its owner may be at work, and was not seen to renew it yet.
    Silent,
    /// Given back, or its owner has ended or fallen silent.
    Free,
}

impl Holder {
    /// The owner in the folder's last lease; `None` without one.
    pub fn of(folder: &Path) -> Option<Self> {
        let leases = folder.join(LEASES);
        let number = latest(&leases).ok().flatten()?;
        Self::numbered(&leases, number)
    }

    /// The owner in one lease of the folder `leases`; `None` where that cannot be read.
    fn numbered(leases: &Path, number: u64) -> Option<Self> {
        let taken = fs::read(leases.join(number.to_string())).ok()?;
        let first: Record = serde_json::from_slice(&taken).ok()?;
        let path = leases.join(&first.file);
        let now = fs::read(&path).unwrap_or_default();
        let released = serde_json::from_slice(&now).is_ok_and(|record: Record| record.released);
        let hold = match (released, first.owner.alive()) {
            (true, _) | (_, Some(false)) => Hold::Free,
            // A process of this host may be there and stopped, so that does not suffice.
            _ => watch::hold(&path, &now, first.stale),
        };
        Some(Self {
            owner: first.owner,
            hold,
        })
    }
}

impl Lease {
    /// Takes the lease of a folder; `None` when another process (or thread) holds it.
    ///
    /// # Errors
    /// When the file system refuses to write, or has no hard links.
    pub fn take(folder: &Path) -> Result<Option<Self>> {
        let leases = folder.join(LEASES);
        totune_disk::create_folder(&leases)?;
        let cannot = || format!("{}: cannot take a lease", leases.display());
        let last = latest(&leases).with_context(cannot)?.unwrap_or(0);
        if Holder::numbered(&leases, last).is_some_and(|holder| holder.hold != Hold::Free) {
            return Ok(None);
        }
        // The number follows the lease that was looked at: another one may have been taken since, and then this fails.
        let number = last + 1;
        let record = Record {
            owner: Owner::this(),
            file: format!("owner-{}", totune_disk::unique_name()),
            stale: stale_after()?,
            renewed: 0,
            released: false,
        };
        let own = leases.join(&record.file);
        let taken = record
            .write(&leases)
            .and_then(|()| link_once(&own, &leases.join(number.to_string())));
        if !matches!(taken, Ok(true)) {
            let _ = fs::remove_file(&own);
        }
        if !taken.with_context(cannot)? {
            return Ok(None);
        }
        let (sender, receiver) = mpsc::channel::<()>();
        let (mut renewed, folder) = (record.clone(), leases.clone());
        let every = between_renewals(record.stale);
        let renewal = std::thread::Builder::new()
            .name("lease".to_string())
            .spawn(move || {
                while receiver.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                    renewed.renewed += 1;
                    // A failure may pass; if it does not, others take over.
                    let _ = renewed.write(&folder);
                }
                renewed.renewed
            });
        Ok(Some(Self {
            leases,
            number,
            record,
            renewal: Some((sender, renewal.context("cannot start a thread")?)),
        }))
    }

    /// Takes the lease of a folder as [`Lease::take`] does, and first waits until it is known whether a silent owner
    /// still renews it.
    pub fn wait(folder: &Path) -> Result<Option<Self>> {
        loop {
            let lease = Self::take(folder)?;
            let is_silent = |holder: Holder| holder.hold == Hold::Silent;
            if lease.is_some() || !Holder::of(folder).is_some_and(is_silent) {
                return Ok(lease);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Takes the lease of a folder as soon as it is free; `None` once `done`, which another owner may have done.
    pub fn take_unless(folder: &Path, done: impl Fn() -> bool) -> Result<Option<Self>> {
        while !done() {
            if let Some(lease) = Self::take(folder)? {
                return Ok(Some(lease));
            }
            std::thread::sleep(LOOK);
        }
        Ok(None)
    }

    /// Whether nobody has taken the lease over since.
    pub fn is_ours(&self) -> Result<bool> {
        let last = latest(&self.leases)
            .with_context(|| format!("{}: cannot list", self.leases.display()))?;
        Ok(last == Some(self.number))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some((sender, renewal)) = self.renewal.take() {
            drop(sender);
            self.record.renewed = renewal.join().unwrap_or_default() + 1;
        }
        self.record.released = true;
        // If this fails, the lease ends with the process or goes stale.
        let _ = self.record.write(&self.leases);
    }
}

impl Record {
    /// Writes the owner's own file, whole at any time.
    fn write(&self, leases: &Path) -> io::Result<()> {
        let bytes = serde_json::to_vec(self)?;
        let pending = leases.join(format!(".{}", self.file));
        // Not synchronised: after a power loss nobody is at work, and a lease that cannot be read is free.
        let written =
            fs::write(&pending, bytes).and_then(|()| fs::rename(&pending, leases.join(&self.file)));
        if written.is_err() {
            let _ = fs::remove_file(&pending);
        }
        written
    }
}

/// Gives `own`, a file that nobody else links, the name `shared` as well; false where another file has it.
///
/// Over a network a link may be made and its confirmation lost, so the number of links decides.
pub(crate) fn link_once(own: &Path, shared: &Path) -> io::Result<bool> {
    match fs::hard_link(own, shared) {
        Ok(()) => Ok(true),
        Err(_) if n_links(own) == 2 => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
fn n_links(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    // Opened first, since attributes of an unopened file may be those of a cache.
    let file = fs::File::open(path).and_then(|file| file.metadata());
    file.map_or(0, |meta| meta.nlink())
}

#[cfg(not(unix))]
fn n_links(_path: &Path) -> u64 {
    0
}

/// The highest number among the files of a folder; `None` where there is none, or no folder.
pub(crate) fn latest(folder: &Path) -> io::Result<Option<u64>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    let mut last = None;
    for entry in entries {
        let number = entry?
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        last = last.max(number);
    }
    Ok(last)
}

/// Seconds without renewal after which leases of this process are free.
fn stale_after() -> Result<f64> {
    let Ok(text) = std::env::var("TOTUNE_LEASE") else {
        return Ok(STALE);
    };
    let seconds = text.trim().parse().ok();
    seconds
        .filter(|seconds| (1.0..=86_400.0).contains(seconds))
        .with_context(|| format!("TOTUNE_LEASE: found `{text}`, expected seconds from 1 to 86400"))
}

#[cfg(test)]
mod tests;
