//! `totune curves`: time against score, drawn from stored results.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use totune_report::{CurvesRequest, curves};
use totune_toml::near;

use crate::context::Context;
use crate::exit;
use crate::print;

/// Draw time against score: one line per strategy, from stored results
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune curves wang2023 mnli
  totune curves wang2023 rte small --log-time
  totune curves wang2023 cola small --where experiment=tables --metric matthews
  totune curves mine reviews --group last-2 --group full --json

The lines are means over runs with their range, with a marker at each epoch; a table says what each
strategy reaches and when. Writes curves.svg and .png, the table as Markdown, LaTeX and CSV, and
every score of every run as CSV.")]
pub struct Curves {
    /// Paper, or any other folder of results/
    paper: String,
    /// Task of its report.toml such as mnli, or a dataset that was run
    task: String,
    /// Profile [default: paper, small or fixture, the first that has results]
    profile: Option<String>,
    /// Only runs with this value in their spec or row, such as work.training.batch-size=1; may be
    /// given several times
    #[arg(long = "where", value_name = "KEY=VALUE", value_parser = condition)]
    conditions: Vec<(String, String)>,
    /// Only this group of report.toml, or this strategy, such as last-2; may be given several times
    #[arg(long, value_name = "NAME")]
    group: Vec<String>,
    /// Metric [default: that of the task]
    #[arg(long)]
    metric: Option<String>,
    /// Split [default: test]
    #[arg(long)]
    split: Option<String>,
    /// Show time on a logarithmic axis
    #[arg(long)]
    log_time: bool,
    /// Folder for the files [default: reports/<paper>/<profile>/curves/<task>, which git ignores]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print the table as JSON, for programs
    #[arg(long)]
    json: bool,
}

/// Parses `key=value`.
fn condition(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_string(), value.trim().to_string()))
        }
        _ => Err("expected KEY=VALUE, such as experiment=batch".to_string()),
    }
}

impl Curves {
    /// Draws, and prints the table and the path of the picture.
    pub fn run(self, context: &Context) -> Result<u8> {
        let profile = match self.profile {
            Some(profile) => profile,
            None => first_with_results(context, &self.paper)?,
        };
        let written = curves(&CurvesRequest {
            project_root: context.project.root.clone(),
            shipped: context.project.shipped(),
            paper: self.paper,
            profile: profile.clone(),
            task: self.task,
            conditions: self.conditions,
            groups: self.group,
            metric: self.metric,
            split: self.split,
            log_time: self.log_time,
            out: self.out,
        })?;
        if self.json {
            print::json(&written.summary)?;
            return Ok(exit::OK);
        }
        if profile == "fixture" {
            println!("FIXTURE: synthetic data and a random encoder; nothing below is a result");
        }
        println!("{}", written.text.trim_end());
        println!();
        println!("{}", written.folder.join("curves.png").display());
        Ok(exit::OK)
    }
}

/// The first profile with results, for a command that names none; the error lists what exists instead.
fn first_with_results(context: &Context, paper: &str) -> Result<String> {
    let project = &context.project;
    for profile in ["paper", "small", "fixture"] {
        let results = project.results(paper, profile);
        if results.join("runs.parquet").is_file() {
            return Ok(profile.to_string());
        }
    }
    let results = project.root.join("results");
    let others = project.profiles_with_results(paper);
    match others.as_slice() {
        [] => {}
        [only] => return Ok(only.clone()),
        several => bail!("{paper}: name a profile, found: {}", several.join(", ")),
    }
    if project.papers()?.iter().any(|known| known == paper) {
        bail!("{paper}: no results yet; `totune reproduce {paper} fixture` makes some");
    }
    let known = folders(&results)
        .into_iter()
        .filter(|name| !project.profiles_with_results(name).is_empty())
        .collect::<Vec<_>>();
    let near = match near(paper, known.iter().map(String::as_str)) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => String::new(),
    };
    let found = if known.is_empty() {
        "nothing".to_string()
    } else {
        known.join(", ")
    };
    bail!("results: there is no `{paper}`, found: {found}{near}")
}

/// Names of the folders in one, sorted; none where it does not exist.
fn folders(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
