//! `totune doctor`: state of this machine, missing parts, and how to install them.

use std::env;

use anyhow::{Context as _, Result};
use clap::Args;
use totune_doctor::{Examination, Grid, table};
use totune_sweep::Project;

use crate::command::selection::profile;
use crate::exit;
use crate::global::Global;
use crate::print;
use crate::shipped;

/// Say what this machine has, what is missing, and what to do about it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune doctor
  totune doctor hart2020 small      what this grid needs, what of it is missing, and how to get it
  totune doctor --json

Exit code 0: the grid can run; without one, the fixture profile. What other work needs may still be
missing.
Exit code 1: it cannot run.")]
pub struct Doctor {
    /// Paper, such as hart2020; without one, everything is looked at
    pub paper: Option<String>,
    /// Profile: fixture, mini, small, base or paper [default: paper, or the only one that there is]
    pub profile: Option<String>,
    /// Print JSON, for programs
    #[arg(long)]
    pub json: bool,
}

impl Doctor {
    /// Checks everything; the exit code says whether the grid can run, or without one the fixture profile.
    pub fn run(self, global: &Global) -> Result<u8> {
        let here = env::current_dir().context("the current folder is gone")?;
        // A named folder that is no project is a finding, not an error.
        let project = Project::find(global.project.as_deref().unwrap_or(&here));
        // Neither is a cache that cannot be written: then the cards of the project are all there are.
        let shipped = shipped::folder(&project.root);
        let (shipped, unwritten) = match shipped {
            Ok(shipped) => (shipped, None),
            Err(error) => (None, Some(error)),
        };
        let project = project.over(shipped);
        let grid = self.paper.as_deref();
        let grid = grid.map(|paper| {
            let profile = profile(&project, paper, self.profile.as_deref())?;
            Grid::of(&project, paper, &profile)
        });
        let grid = match (grid.transpose(), &unwritten) {
            (Err(error), None) => return Err(error),
            (grid, _) => grid.unwrap_or_default(),
        };
        let roots = global.roots(&project.root);
        let mut examination = Examination::new(&project, &roots, grid.as_ref());
        if let Some(error) = &unwritten {
            examination = examination.without_shipped_files(error);
        }
        if self.json {
            print::json(&examination)?;
        } else {
            let plain = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            print!("{}", table(&examination, plain));
        }
        Ok(if examination.well {
            exit::OK
        } else {
            exit::SOME_FAILED
        })
    }
}
