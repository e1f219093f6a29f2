//! `totune doctor`: state of this machine, missing parts, and how to install them.

use std::env;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Args;
use totune_doctor::{Examination, table};
use totune_sweep::Project;

use crate::exit;
use crate::global::Global;
use crate::shipped;

/// Say what this machine has, what is missing, and what to do about it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune doctor
  totune doctor --json

Exit code 0: the fixture profile can run; what other work needs may still be missing, and is listed.
Exit code 1: the fixture profile cannot run.")]
pub struct Doctor {
    /// Print JSON, for programs
    #[arg(long)]
    pub json: bool,
}

impl Doctor {
    /// Checks everything; the exit code says whether the fixture profile can run.
    pub fn run(self, global: &Global) -> Result<ExitCode> {
        let here = env::current_dir().context("the current folder is gone")?;
        // A named folder that is no project is a finding, not an error.
        let project = Project::find(global.project.as_deref().unwrap_or(&here));
        let shipped = shipped::folder(&project.root)?;
        let project = project.over(shipped);
        let examination = Examination::new(&project, &global.roots(&project.root));
        if self.json {
            println!("{}", serde_json::to_string_pretty(&examination)?);
        } else {
            let plain = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            print!("{}", table(&examination, plain));
        }
        let code = if examination.well {
            exit::OK
        } else {
            exit::SOME_FAILED
        };
        Ok(ExitCode::from(code))
    }
}
