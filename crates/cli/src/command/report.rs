//! `totune report`: tables, figures and verdicts from the stored results.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;
use totune_report::Request;
use totune_sweep::read_results;

use crate::command::selection::PaperProfile;
use crate::context::Context;
use crate::exit;

/// Write tables, figures and verdicts again from the stored results, without training
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  totune report hart2020 small

Reads results/<paper>/<profile>/ and writes reports/<paper>/<profile>/, and reports/index.html over
all reports. The same results give the same bytes.")]
pub struct Report {
    /// The grid.
    #[command(flatten)]
    of: PaperProfile,
}

impl Report {
    /// Writes the report and prints the path of its page.
    pub fn run(self, context: &Context) -> Result<u8> {
        // Refuses an unknown paper or profile with the list of those that exist.
        let project = &context.project;
        let (paper, profile) = self.of.named(project)?;
        project.experiments_with(&paper, &profile)?;
        println!("{}", write(context, &paper, &profile)?.display());
        Ok(exit::OK)
    }
}

/// Writes the report of a paper's profile; returns the path of its page.
pub fn write(context: &Context, paper: &str, profile: &str) -> Result<PathBuf> {
    let results = context.project.results(paper, profile);
    ensure!(
        results.join("runs.parquet").is_file(),
        "{}: no results there; {}`totune reproduce {paper} {profile}` makes them",
        context.shown(&results),
        match context.project.profiles_with_results(paper).as_slice() {
            [] => String::new(),
            others => format!("there are some of `{}`; ", others.join("`, `")),
        }
    );
    let request = Request {
        project_root: context.project.root.clone(),
        shipped: context.project.shipped(),
        paper: paper.to_string(),
        profile: profile.to_string(),
    };
    // Rows of earlier schemas, and of arms that have been renamed since, are converted to today's form.
    let rows = read_results(&context.project, paper, profile)?;
    Ok(totune_report::report_of(&request, Some(rows))?.index)
}
