//! `totune bench scale`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use totune_bench::scale::{NAME, ScaleRequest, run};

use crate::context::Context;
use crate::exit;

/// Optimisation of this program, as cargo names it.
const OPT_LEVEL: &str = env!("TOTUNE_OPT_LEVEL");

/// Options of `totune bench scale`.
#[derive(Debug, Default, PartialEq, Args)]
#[command(next_help_heading = "Options of scale")]
pub(super) struct ScaleArgs {
    /// Numbers of runs, separated by commas [default: 1000,10000]
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    runs: Vec<u32>,
    /// Processes at work at the same time [default: 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    workers: Option<u16>,
}

impl ScaleArgs {
    /// Refuses these options where another benchmark is named.
    pub fn none(&self) -> Result<()> {
        ensure!(
            *self == Self::default(),
            "--runs and --workers: expected only with `{NAME}`"
        );
        Ok(())
    }

    /// Runs the benchmark and prints the path of its page.
    pub fn run(self, context: &Context, work: Option<PathBuf>, out: PathBuf) -> Result<u8> {
        let binary = std::env::current_exe().context("this program cannot be found")?;
        let root = &context.project.root;
        let totune = |project: &Path| {
            let mut command = Command::new(&binary);
            command.arg("--project").arg(project);
            command
        };
        let sizes = match self.runs.as_slice() {
            [] => vec![1000, 10_000],
            given => given.iter().map(|runs| *runs as usize).collect(),
        };
        let commit = totune_sweep::code(root);
        let commit = if commit.is_empty() {
            "unknown"
        } else {
            &commit
        };
        let page = run(&ScaleRequest {
            sizes,
            workers: usize::from(self.workers.unwrap_or(64)),
            work: work.unwrap_or_else(|| root.join("runs/bench-scale")),
            out,
            totune: &totune,
            build: format!("opt-level {OPT_LEVEL}, commit {commit}"),
        })?;
        println!("{}", page.display());
        Ok(exit::OK)
    }
}
