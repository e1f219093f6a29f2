//! `totune sweep`: planning, executing and timing runs, a file for each command; those of clusters are in
//! [`cluster`].

mod estimate;
mod plan;
mod profile;
mod restore;
mod run;
mod time;

use anyhow::Result;
use clap::Subcommand;

pub use self::plan::{counts, refuse_misfits, state};
pub(in crate::command) use self::run::is_silent;
pub use self::run::{Others, execute};

use self::plan::PlanArgs;
use self::profile::ProfileArgs;
use self::restore::RestoreArgs;
use self::run::RunArgs;
use self::time::TimeArgs;
use crate::command::cluster;
use crate::context::Context;

/// Plan runs and run them
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  totune sweep plan hart2020 small       what would run
  totune sweep run hart2020 small        run it; an interrupted sweep goes on where it was
  totune sweep restore hart2020 small    take the committed results as done")]
pub enum Sweep {
    Plan(PlanArgs),
    Run(RunArgs),
    Time(TimeArgs),
    Profile(ProfileArgs),
    Restore(RestoreArgs),
    Submit(cluster::SubmitArgs),
    Status(cluster::StatusArgs),
    Cancel(cluster::CancelArgs),
}

impl Sweep {
    /// Executes the command.
    pub fn run(self, context: &Context) -> Result<u8> {
        match self {
            Self::Plan(args) => args.run(context),
            Self::Run(args) => args.run(context),
            Self::Time(args) => args.run(context),
            Self::Profile(args) => args.run(context),
            Self::Restore(args) => args.run(context),
            Self::Submit(args) => args.run(context),
            Self::Status(args) => args.run(context),
            Self::Cancel(args) => args.run(context),
        }
    }
}
