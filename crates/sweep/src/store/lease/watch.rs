//! Leases of other processes as this one has seen them change, timed on its own monotonic clock.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Hold;

/// A lease at its last change.
struct Sight {
    bytes: Vec<u8>,
    since: Instant,
    /// Whether it has changed since the first look.
    renewed: bool,
}

static SIGHTS: LazyLock<Mutex<HashMap<PathBuf, Sight>>> = LazyLock::new(Mutex::default);

/// Validity of the lease in `path`, whose `bytes` were just read and which is stale after `stale` seconds unchanged.
pub(super) fn hold(path: &Path, bytes: &[u8], stale: f64) -> Hold {
    let mut sights = SIGHTS.lock().unwrap_or_else(PoisonError::into_inner);
    let first = || Sight {
        bytes: bytes.to_vec(),
        since: Instant::now(),
        renewed: false,
    };
    let sight = sights.entry(path.to_path_buf()).or_insert_with(first);
    if sight.bytes != bytes {
        *sight = Sight {
            renewed: true,
            ..first()
        };
    }
    let stale = Duration::try_from_secs_f64(stale).unwrap_or(Duration::MAX);
    if sight.since.elapsed() >= stale {
        Hold::Free
    } else if sight.renewed {
        Hold::Alive
    } else {
        Hold::Silent
    }
}
