//! The `totune` command: arguments, device choice, progress.
//!
//! The other crates do the computing; this one does not know how anything is computed.

// Naming the LibTorch devices is deprecated in burn 0.22, the last release that has them.
#![cfg_attr(feature = "tch", allow(deprecated))]

// Before all modules that print.
#[macro_use]
mod print;

mod args;
mod command;
mod context;
mod device;
mod download_progress;
mod exit;
mod global;
mod interval;
mod memory;
mod progress;
mod shipped;
mod signals;

use std::ffi::OsString;
use std::time::Instant;

use clap::CommandFactory;

/// Runs the command line of this process, and ends it with the exit code.
pub fn main() -> ! {
    run(std::env::args_os())
}

/// Runs a command line, of which the first word is the program's name, and ends the process with its exit code.
pub fn run(words: impl IntoIterator<Item = OsString>) -> ! {
    let start = Instant::now();
    memory::keep_freed_memory();
    signals::end_with_the_reader();
    let words: Vec<OsString> = words.into_iter().collect();
    exit::end(match args::Args::of(words.clone()) {
        Ok(args) => args.run(start).unwrap_or_else(|error| exit::report(&error)),
        Err(help) => {
            if global::wants_json(&words) {
                print::use_json();
            }
            print::help(&help)
        }
    })
}

/// All commands with their help, for the tests that check them.
pub fn command() -> clap::Command {
    args::Args::command()
}
