//! `totune doctor`: what this machine has, what is missing, and what to do about it.

use std::env;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Args;
use totune_sweep::Project;

use crate::args::Global;
use crate::exit;

/// Say what this machine has, what is missing, and what to do about it
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  totune doctor\n  totune doctor --json")]
pub struct Doctor {
    /// Print JSON, for programs
    #[arg(long)]
    pub json: bool,
}

impl Doctor {
    /// Looks at everything; the exit code says whether all is well.
    pub fn run(self, global: &Global) -> Result<ExitCode> {
        let here = env::current_dir().context("the current folder is gone")?;
        let root = match &global.project {
            Some(root) => root.clone(),
            None => Project::find(&here).map_or(here, |project| project.root),
        };
        let well = crate::doctor::doctor(
            &root,
            global.data.as_deref(),
            global.encoders.as_deref(),
            self.json,
        )?;
        Ok(ExitCode::from(if well {
            exit::OK
        } else {
            exit::SOME_FAILED
        }))
    }
}
