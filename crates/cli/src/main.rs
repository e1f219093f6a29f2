//! The `totune` command: arguments, device choice, progress.
//!
//! What a command computes lives in the other crates; this one does not know how anything is computed.

// Naming the LibTorch devices is deprecated in burn 0.22, the last release that has them.
#![cfg_attr(feature = "tch", allow(deprecated))]

mod args;
mod bench;
mod command;
mod context;
mod device;
mod doctor;
mod download_progress;
mod exit;
mod memory;
mod progress;
mod signals;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    memory::keep_freed_memory();
    signals::end_with_the_reader();
    let args = args::Args::parse();
    match command::run(args) {
        Ok(code) => code,
        Err(error) => exit::report(&error),
    }
}
