//! One process at a time for each file.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::error::{Error, Result};
use super::place;

/// A lock that is held until it is dropped, or its process ends in whatever way.
///
/// On Unix it is `flock`, as in Python's filelock, so that both wait for each other.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for the lock at `path`; `waiting` is called once if it is taken.
    ///
    /// Where the file system knows no locks there is none: files are verified before they get their names, so two
    /// processes then cost time and nothing else.
    pub fn wait(path: &Path, stop: &AtomicBool, waiting: impl FnOnce()) -> Result<Self> {
        place::make_folder(path.parent().unwrap_or(Path::new(".")))?;
        let open = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path);
        let file = open.map_err(|error| Error::disk(path, "opened", &error))?;
        let mut waiting = Some(waiting);
        loop {
            match file.try_lock() {
                Ok(()) | Err(TryLockError::Error(_)) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) => {}
            }
            if stop.load(Ordering::Relaxed) {
                return Err(Error::stopped());
            }
            if let Some(say) = waiting.take() {
                say();
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}
