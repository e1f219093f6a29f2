//! Signals: the first Ctrl-C, a request to end or a closed terminal stops the sweep at its next step; a second Ctrl-C ends
//! the process at once; a closed pipe ends it quietly.

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::flag;

use crate::exit;

/// Signals by which a scheduler asks a process to end: SLURM sends SIGTERM before it kills, and either of the others
/// ahead of that where `--signal` says so.
const REQUESTS: [i32; 3] = [SIGTERM, SIGUSR1, SIGUSR2];

/// Set by a request to end.
static REQUESTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Set when the terminal is closed, or the connection to it breaks.
static HUNG_UP: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Ends the process quietly when the reader of its messages stops reading, as in `2>&1 | head`.
///
/// Rust ignores SIGPIPE, so that a write to a closed pipe returns an error, and `eprintln!` panics on it. Standard
/// output is handled in [`crate::print`].
pub fn end_with_the_reader() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let message = panic.payload_as_str().unwrap_or_default();
        if message.starts_with("failed printing to stderr") && message.contains("Broken pipe") {
            exit::end(exit::OK);
        }
        usual(panic);
    }));
}

/// A flag that the first signal sets.
///
/// Several requests to end are as one: the second may come while the first is obeyed, and must not cut that short.
pub fn stop_flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let requested = REQUESTED.get_or_init(Arc::default);
    let hung_up = HUNG_UP.get_or_init(Arc::default);
    let register = || {
        // Order matters: the shutdown looks at the flag before this signal sets it.
        flag::register_conditional_shutdown(SIGINT, exit::STOPPED.into(), stop.clone())?;
        flag::register(SIGINT, stop.clone())?;
        for signal in REQUESTS {
            flag::register(signal, requested.clone())?;
            flag::register(signal, stop.clone())?;
        }
        // `nohup` asks for work that outlives the terminal.
        if !is_ignored(SIGHUP) {
            flag::register(SIGHUP, hung_up.clone())?;
            flag::register(SIGHUP, stop.clone())?;
        }
        Ok::<_, std::io::Error>(())
    };
    register().context("cannot listen for signals")?;
    Ok(stop)
}

/// Whether this process ignores a signal, as the one that started it may have asked.
fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action it only writes the present one, to a place that is large enough for it; all zeros are
    // an action too, where it fails.
    let action = unsafe {
        libc::sigaction(signal, ptr::null(), action.as_mut_ptr());
        action.assume_init()
    };
    action.sa_sigaction == libc::SIG_IGN
}

/// The exit code of a process whose command returned `code`: a request to end has one of its own, and so has a closed
/// terminal.
pub fn exit_code(code: u8) -> u8 {
    let is_set = |flag: &OnceLock<Arc<AtomicBool>>| {
        let flag = flag.get();
        flag.is_some_and(|flag| flag.load(Ordering::Relaxed))
    };
    match code {
        // First, since a scheduler starts the process again for this one only.
        exit::STOPPED if is_set(&REQUESTED) => exit::REQUEUE,
        exit::STOPPED if is_set(&HUNG_UP) => exit::HUNG_UP,
        code => code,
    }
}
