//! Ctrl-C and SIGTERM: the first asks the sweep to stop at its next step, the second ends the process at once.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit;

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
