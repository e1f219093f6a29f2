//! Signals: the first Ctrl-C or SIGTERM stops the sweep at its next step, the second ends the process at once; a closed
//! pipe ends it quietly.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit;

/// Ends the process quietly when the reader of its messages stops reading, as in `2>&1 | head`.
///
/// Rust ignores SIGPIPE, so that a write to a closed pipe returns an error, and `eprintln!` panics on it. Standard
/// output is handled in [`crate::print`].
pub fn end_with_the_reader() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let message = panic.payload_as_str().unwrap_or_default();
        if message.starts_with("failed printing to stderr") && message.contains("Broken pipe") {
            std::process::exit(exit::OK.into());
        }
        usual(panic);
    }));
}

/// A flag that the first signal sets.
pub fn stop_flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        let register = || {
            // Order matters: the shutdown looks at the flag before this signal sets it.
            flag::register_conditional_shutdown(signal, exit::STOPPED.into(), stop.clone())?;
            flag::register(signal, stop.clone())
        };
        register().context("cannot listen for Ctrl-C")?;
    }
    Ok(stop)
}
