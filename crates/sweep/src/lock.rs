//! One owner per run folder.
//!
//! The file `lock` is held with an operating-system lock while a run is going on, so that a process releases it however
//! it ends. The file names the owner, for people and for plans.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// Owner of a run folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    pub pid: u32,
    pub host: String,
    /// Start of the process in the kernel's ticks since boot, and the boot: a pid that was used again differs.
    pub start: String,
}

/// A held lock. Dropping it releases the lock and removes the file.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    file: File,
}

impl Owner {
    /// This process.
    pub fn this() -> Self {
        let pid = std::process::id();
        Self {
            pid,
            host: host(),
            start: start_token(pid).unwrap_or_default(),
        }
    }

    /// Whether the owner still runs; `None` where that cannot be known, as on another host.
    pub fn alive(&self) -> Option<bool> {
        if self.host != host() || self.start.is_empty() {
            return None;
        }
        Some(start_token(self.pid).is_some_and(|start| start == self.start))
    }

    /// Reads the owner from a run folder's lock file, if there is one.
    pub fn read(folder: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(folder.join("lock")).ok()?;
        serde_json::from_str(&text).ok()
    }
}

impl Lock {
    /// Takes the lock of a run folder; `None` when another process (or thread) holds it.
    pub fn take(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join("lock");
        loop {
            let open = || {
                OpenOptions::new()
                    .read(true)
                    .write(true)
                    .create(true)
                    .truncate(false)
                    .open(&path)
            };
            let file = open().with_context(|| format!("{}: cannot open", path.display()))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => {
                    return Err(error).with_context(|| {
                        format!("{}: this file system gives no file locks", path.display())
                    });
                }
            }
            // The former owner removes the file as it releases the lock; a lock on a removed file guards nothing.
            if !same_file(&file, &path) {
                continue;
            }
            let mut lock = Self { path, file };
            lock.sign()
                .with_context(|| format!("{}: cannot write", lock.path.display()))?;
            return Ok(Some(lock));
        }
    }

    fn sign(&mut self) -> Result<()> {
        let owner = serde_json::to_string(&Owner::this())?;
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(owner.as_bytes())?;
        self.file.flush()?;
        Ok(())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed while still held, so that nobody takes a lock on a file that is about to go.
        let _ = std::fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}

#[cfg(unix)]
fn same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let inode = |meta: std::fs::Metadata| (meta.dev(), meta.ino());
    let held = file.metadata().map(inode).ok();
    held.is_some() && held == std::fs::metadata(path).map(inode).ok()
}

#[cfg(not(unix))]
fn same_file(_file: &File, path: &Path) -> bool {
    path.exists()
}

fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname")
        .or_else(|_| std::fs::read_to_string("/etc/hostname"));
    name.map(|name| name.trim().to_string()).unwrap_or_default()
}

/// The boot and the moment within it at which a process started; `None` when there is no such process (or no /proc).
fn start_token(pid: u32) -> Option<String> {
    let mut stat = String::new();
    File::open(format!("/proc/{pid}/stat"))
        .ok()?
        .read_to_string(&mut stat)
        .ok()?;
    // The command name, in parentheses, may hold spaces; the start is the 22nd field, the 20th after it.
    let after_name = &stat[stat.rfind(')')? + 1..];
    let start = after_name.split_whitespace().nth(19)?;
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(format!("{}:{start}", boot.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_has_one_holder_at_a_time() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let first = Lock::take(folder.path()).expect("lock").expect("free");
        assert!(Lock::take(folder.path()).expect("lock").is_none());
        assert_eq!(Owner::read(folder.path()), Some(Owner::this()));
        drop(first);
        assert!(!folder.path().join("lock").exists());
        assert!(Lock::take(folder.path()).expect("lock").is_some());
    }

    #[test]
    fn the_lock_of_a_dead_process_is_taken_over() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let dead = Owner {
            start: "an earlier boot".to_string(),
            ..Owner::this()
        };
        std::fs::write(
            folder.path().join("lock"),
            serde_json::to_string(&dead).expect("json"),
        )
        .expect("write");
        assert_eq!(
            Owner::read(folder.path()).expect("owner").alive(),
            Some(false)
        );
        let lock = Lock::take(folder.path()).expect("lock");
        assert!(lock.is_some());
        assert_eq!(Owner::read(folder.path()), Some(Owner::this()));
    }

    #[test]
    fn only_this_host_knows_whether_an_owner_lives() {
        assert_eq!(Owner::this().alive(), Some(true));
        let elsewhere = Owner {
            host: "elsewhere".to_string(),
            ..Owner::this()
        };
        assert_eq!(elsewhere.alive(), None);
    }

    #[test]
    fn ten_thousand_races_have_one_winner_each() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let inside = std::sync::atomic::AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    use std::sync::atomic::Ordering::SeqCst;
                    for _ in 0..2_500 {
                        if let Some(lock) = Lock::take(folder.path()).expect("lock") {
                            assert_eq!(inside.fetch_add(1, SeqCst), 0, "two holders at once");
                            inside.fetch_sub(1, SeqCst);
                            drop(lock);
                        }
                    }
                });
            }
        });
    }
}
