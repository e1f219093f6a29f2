//! Command-line arguments, and the command that handles them.

use std::ffi::OsString;
use std::time::Instant;

use anyhow::Result;
use clap::error::ErrorKind;
use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::command::{
    bench, collect, compare, completions, curves, data, doctor, encoders, experiment, init, papers,
    predict, pretrain, report, reproduce, submit, sweep, train,
};
use crate::context::Context;
use crate::global::{Global, LogFormat};
use crate::signals::exit_code;
use crate::{exit, print};

/// Freeze a pretrained encoder, fine-tune it, train its top layers, or train a head first?
/// Reproduces papers that argue about this.
#[derive(Debug, Parser)]
#[command(name = "totune", version, after_help = format!("{EXAMPLES}\n\n{}", exit::HELP), arg_required_else_help = true)]
pub struct Args {
    /// Options of every command.
    #[command(flatten)]
    pub global: Global,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  totune compare reviews.csv            which strategy for your own data
  totune reproduce hart2020 fixture     a whole paper on tiny committed data, offline
  totune reproduce hart2020 small       real data, a small real encoder
  totune report hart2020 small          tables and figures again, without training
  totune curves wang2023 cola small     time against score, one line per strategy
  totune train reviews.toml --save m    a model of your own, for totune and for transformers
  totune predict m new.csv              its predictions
  totune init my-project                a folder for experiments of your own
  totune doctor                         what this machine has and lacks";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    Compare(compare::Compare),
    Reproduce(reproduce::Reproduce),
    Report(report::Report),
    Curves(curves::Curves),
    #[command(subcommand)]
    Sweep(sweep::Sweep),
    Collect(collect::Collect),
    Papers(papers::Papers),
    Train(train::Train),
    Predict(predict::Predict),
    Evaluate(predict::Evaluate),
    Pretrain(pretrain::Pretrain),
    #[command(subcommand)]
    Data(data::Data),
    #[command(subcommand)]
    Encoders(encoders::Encoders),
    #[command(subcommand)]
    Experiment(experiment::Experiment),
    Init(init::Init),
    Doctor(doctor::Doctor),
    Submit(submit::Submit),
    Bench(bench::Bench),
    Completions(completions::Completions),
    BenchWorker(bench::BenchWorker),
}

impl Args {
    /// The arguments of a command line.
    ///
    /// # Errors
    /// What clap has to say of them, which may be the help that they ask for.
    pub fn of(words: Vec<OsString>) -> Result<Self, clap::Error> {
        let command = Self::command().mut_args(without_empty_variable);
        let matches = command
            .try_get_matches_from(&words)
            .map_err(|error| without_variables(error, &words))?;
        let mut args = Self::from_arg_matches(&matches)?;
        args.global.words = words;
        Ok(args)
    }

    /// Runs the given command in a program that started at `start`.
    pub fn run(self, start: Instant) -> Result<u8> {
        if self.global.log_format == LogFormat::Json {
            print::use_json();
        }
        self.global.start_threads()?;
        totune_model::fused::check_environment()?;
        // Commands that work even where no project can be found.
        let command = match self.command {
            Command::Completions(command) => return command.run(Self::command()),
            Command::Init(command) => return command.run(),
            Command::Doctor(command) => return command.run(&self.global),
            Command::Predict(command) => return command.run(&self.global).map(exit_code),
            Command::Evaluate(command) => return command.run(&self.global).map(exit_code),
            command => command,
        };
        let context = Context::new(self.global)?;
        let code = match command {
            Command::Compare(command) => command.run(&context, start),
            Command::Reproduce(command) => command.run(&context),
            Command::Report(command) => command.run(&context),
            Command::Curves(command) => command.run(&context),
            Command::Sweep(command) => command.run(&context),
            Command::Collect(command) => command.run(&context),
            Command::Papers(command) => command.run(&context),
            Command::Train(command) => command.run(&context),
            Command::Pretrain(command) => command.run(&context),
            Command::Data(command) => command.run(&context),
            Command::Encoders(command) => command.run(&context),
            Command::Experiment(command) => command.run(&context),
            Command::Submit(command) => command.run(&context),
            Command::Bench(command) => command.run(&context),
            Command::BenchWorker(command) => command.run(&context),
            Command::Completions(_)
            | Command::Doctor(_)
            | Command::Init(_)
            | Command::Predict(_)
            | Command::Evaluate(_) => {
                unreachable!("handled above")
            }
        };
        code.map(exit_code)
    }
}

/// The same error of a command line for which no environment variable is set. clap takes options whose values come from
/// one for given ones: they would stand in the usage as if they were required, and `totune` alone would print no help.
fn without_variables(error: clap::Error, words: &[OsString]) -> clap::Error {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    ) {
        return error; // these name the variables
    }
    let command = Args::command().mut_args(|arg| arg.env(None::<&str>));
    command.try_get_matches_from(words).err().unwrap_or(error)
}

/// An empty environment variable counts as unset: clap would ask for the value of an option that was not given.
fn without_empty_variable(arg: Arg) -> Arg {
    let value = arg.get_env().and_then(std::env::var_os);
    if value.is_some_and(|value| value.is_empty()) {
        arg.env(None::<&str>)
    } else {
        arg
    }
}
