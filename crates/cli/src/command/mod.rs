//! One file for each command.

use std::process::ExitCode;

use anyhow::Result;

use crate::args::{Args, Command};
use crate::context::Context;

pub mod bench;
pub mod collect;
pub mod curves;
pub mod data;
pub mod doctor;
pub mod encoders;
pub mod fetch;
pub mod papers;
pub mod pretrain;
pub mod report;
pub mod reproduce;
pub mod submit;
pub mod sweep;

/// Runs what was typed.
pub fn run(args: Args) -> Result<ExitCode> {
    // `doctor` answers where no project can be found, too.
    if let Command::Doctor(command) = args.command {
        return command.run(&args.global);
    }
    let context = Context::new(args.global)?;
    let code = match args.command {
        Command::Reproduce(command) => command.run(&context),
        Command::Report(command) => command.run(&context),
        Command::Curves(command) => command.run(&context),
        Command::Sweep(command) => command.run(&context),
        Command::Collect(command) => command.run(&context),
        Command::Papers(command) => command.run(&context),
        Command::Pretrain(command) => command.run(&context),
        Command::Data(command) => command.run(&context),
        Command::Encoders(command) => command.run(&context),
        Command::Submit(command) => command.run(&context),
        Command::Bench(command) => command.run(&context),
        Command::Doctor(_) => unreachable!("handled above"),
    };
    code.map(ExitCode::from)
}
