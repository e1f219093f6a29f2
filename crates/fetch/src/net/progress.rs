//! Progress reports of downloads.

use std::time::Duration;

/// Receives the events of a download while it runs, and cannot change anything.
pub trait Progress: Sync {
    /// Something happened.
    fn hear(&self, event: &Event<'_>);
}

/// An event of a file's download; `file` is its display name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// Another process fetches the same file; it is waited for.
    Waiting {
        /// The file.
        file: &'a str,
    },
    /// A server is sent a request for the bytes from `done` on.
    Attempt {
        /// The file.
        file: &'a str,
        /// The address.
        address: &'a str,
        /// Bytes that are there already.
        done: u64,
        /// Counted from 1 for each address.
        attempt: u32,
    },
    /// Bytes came.
    Bytes {
        /// The file.
        file: &'a str,
        /// Bytes that are there now.
        done: u64,
        /// Bytes in all, where that is known.
        total: Option<u64>,
        /// Counted from 1 for each address.
        attempt: u32,
    },
    /// An attempt failed.
    Trouble {
        /// The file.
        file: &'a str,
        /// The reason.
        why: &'a str,
        /// The pause before the next attempt; none when the next address is tried, or none is left.
        pause: Option<Duration>,
    },
    /// All bytes are there, and their hash is computed.
    Verifying {
        /// The file.
        file: &'a str,
    },
    /// An archive is unpacked.
    Unpacking {
        /// The file.
        file: &'a str,
    },
}

/// Ignores all events.
pub struct Silent;

impl Progress for Silent {
    fn hear(&self, _event: &Event<'_>) {}
}

impl<F: Fn(&Event<'_>) + Sync> Progress for F {
    fn hear(&self, event: &Event<'_>) {
        self(event);
    }
}
