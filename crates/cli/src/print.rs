//! `print!` and `println!` for standard output that may be full or closed: the standard library's panic there.
//!
//! Declared first and with `#[macro_use]`, so that these are meant wherever this crate prints.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write, stdout};

use crate::exit;

macro_rules! print {
    ($($what:tt)*) => { $crate::print::print(format_args!($($what)*)) };
}

macro_rules! println {
    () => { $crate::print::print(format_args!("\n")) };
    ($($what:tt)*) => { $crate::print::print(format_args!("{}\n", format_args!($($what)*))) };
}

/// Writes to standard output, or ends the program: quietly when whoever reads it has stopped, as `head` does, else with a message.
pub fn print(what: Arguments) {
    let mut out = stdout().lock();
    let Err(error) = out.write_fmt(what).and_then(|()| out.flush()) else {
        return;
    };
    if error.kind() == ErrorKind::BrokenPipe {
        std::process::exit(exit::OK.into());
    }
    eprintln!("error: cannot write to standard output: {error}");
    std::process::exit(exit::ERROR.into());
}
