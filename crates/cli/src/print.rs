//! `print!`, `println!` and `eprintln!`, for a standard output that may be full or closed (the standard library's panic there),
//! and for a standard error that a program reads.
//!
//! Declared first and with `#[macro_use]`, so that these are meant wherever this crate prints.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write, stderr, stdout};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use serde_json::{Value, json};

use crate::exit;

macro_rules! print {
    ($($what:tt)*) => { $crate::print::print(format_args!($($what)*)) };
}

macro_rules! println {
    () => { $crate::print::print(format_args!("\n")) };
    ($($what:tt)*) => { $crate::print::print(format_args!("{}\n", format_args!($($what)*))) };
}

macro_rules! eprintln {
    ($($what:tt)*) => { $crate::print::message(format_args!($($what)*)) };
}

/// True if standard error is JSON.
static JSON: AtomicBool = AtomicBool::new(false);

/// Severity of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Normal progress.
    Info,
    /// Something the user may want to know.
    Warning,
    /// A failure.
    Error,
}

/// Switches standard error to one JSON object per line.
pub fn use_json() {
    JSON.store(true, Ordering::Relaxed);
}

/// True if standard error is JSON.
pub fn is_json() -> bool {
    JSON.load(Ordering::Relaxed)
}

/// Writes to standard output, or ends the program.
pub fn print(what: Arguments) {
    let mut out = stdout().lock();
    if let Err(error) = out.write_fmt(what).and_then(|()| out.flush()) {
        end_unwritten(&error);
    }
}

/// Prints the help that was asked for, or what is wrong with the arguments; returns the exit code.
pub fn help(help: &clap::Error) -> u8 {
    if help.use_stderr() && is_json() {
        eprintln!("{}", help.to_string().trim_end());
        return exit::ERROR;
    }
    match help.print() {
        Err(error) if !help.use_stderr() => end_unwritten(&error),
        _ => help.exit_code().try_into().unwrap_or(exit::ERROR),
    }
}

/// Ends a program that cannot write to standard output: quietly when its reader has stopped, as `head` does, else with
/// a message.
fn end_unwritten(error: &io::Error) -> ! {
    if error.kind() == ErrorKind::BrokenPipe {
        exit::end(exit::OK);
    }
    eprintln!("error: cannot write to standard output: {error}");
    exit::end(exit::ERROR);
}

/// Whether something failed because the reader of standard output has stopped.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let of_io = |cause: &(dyn std::error::Error + 'static)| {
        let error = cause.downcast_ref::<io::Error>();
        error.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
    };
    error.chain().any(of_io)
}

/// Writes a message to standard error.
pub fn message(what: Arguments) {
    if !is_json() {
        // A reader that has gone away is no error, and a panic would be taken for one of the run.
        let _ = writeln!(stderr().lock(), "{what}");
        return;
    }
    let text = what.to_string();
    let (level, text) = match text.strip_prefix("error: ") {
        Some(error) => (Level::Error, error),
        None => (Level::Info, text.trim()),
    };
    event(level, "message", None, json!({ "message": text }));
}

/// Writes an event to standard error as one line of JSON.
pub fn event(level: Level, event: &str, run: Option<&str>, fields: Value) {
    #[derive(Serialize)]
    struct Event<'a> {
        time: String,
        level: Level,
        event: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        run: Option<&'a str>,
        #[serde(flatten)]
        fields: Value,
    }
    let line = Event {
        time: totune_sweep::timestamp(),
        level,
        event,
        run,
        fields,
    };
    let line = serde_json::to_string(&line).expect("an event has string keys");
    // As with text, a reader that has gone away is no error.
    let _ = writeln!(stderr().lock(), "{line}");
}

/// Prints `value` as JSON, over several lines.
///
/// # Errors
/// When it has no form in JSON.
pub fn json(value: &impl Serialize) -> serde_json::Result<()> {
    println!("{}", serde_json::to_string_pretty(value)?);
    Ok(())
}
