//! Signals: the first Ctrl-C, or a request to end, stops the sweep at its next step; a second Ctrl-C ends the process at
//! once; a closed pipe ends it quietly.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::flag;

use crate::exit;

/// Signals by which a scheduler asks a process to end: SLURM sends SIGTERM before it kills, and either of the others
/// ahead of that where `--signal` says so.
const REQUESTS: [i32; 3] = [SIGTERM, SIGUSR1, SIGUSR2];

/// Set by a request to end.
static REQUESTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

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
    let register = || {
        // Order matters: the shutdown looks at the flag before this signal sets it.
        flag::register_conditional_shutdown(SIGINT, exit::STOPPED.into(), stop.clone())?;
        flag::register(SIGINT, stop.clone())?;
        for signal in REQUESTS {
            flag::register(signal, requested.clone())?;
            flag::register(signal, stop.clone())?;
        }
        Ok::<_, std::io::Error>(())
    };
    register().context("cannot listen for signals")?;
    Ok(stop)
}

/// The exit code of a process whose command returned `code`: a request to end has one of its own.
pub fn exit_code(code: u8) -> u8 {
    let requested = REQUESTED.get();
    let requested = requested.is_some_and(|requested| requested.load(Ordering::Relaxed));
    match code {
        exit::STOPPED if requested => exit::REQUEUE,
        code => code,
    }
}
