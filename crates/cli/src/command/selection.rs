//! Arguments that name a paper's profile, and options that select runs of its plan.

use anyhow::Result;
use clap::Args;
use totune_sweep::{Plan, Project, Selection, Shard};

use crate::context::Context;

/// The profile of commands that name none, where a paper has several.
const DEFAULT: &str = "paper";

/// A paper and one of its profiles.
#[derive(Debug, Args)]
pub struct PaperProfile {
    /// Paper, such as hart2020
    paper: String,
    /// Profile: fixture, mini, small, base or paper [default: paper, or the only one that there is]
    profile: Option<String>,
}

impl PaperProfile {
    /// The paper and its profile.
    ///
    /// # Errors
    /// When no profile is named, and the paper is unknown or an experiment cannot be read.
    pub fn named(&self, project: &Project) -> Result<(String, String)> {
        let profile = profile(project, &self.paper, self.profile.as_deref())?;
        Ok((self.paper.clone(), profile))
    }
}

/// The named profile of a paper; without a name the only one that the paper has, or `paper`.
///
/// # Errors
/// When none is named, and the paper is unknown or an experiment cannot be read.
pub fn profile(project: &Project, paper: &str, named: Option<&str>) -> Result<String> {
    if let Some(named) = named {
        return Ok(named.to_string());
    }
    let all = project.profiles(paper)?;
    Ok(match all.as_slice() {
        [only] => only.clone(),
        _ => DEFAULT.to_string(),
    })
}

/// Options that name a part of a grid.
#[derive(Debug, Args)]
pub struct NamedRuns {
    /// Only this experiment, trials of its search included; may be given several times
    #[arg(long = "experiment", value_name = "NAME")]
    experiments: Vec<String>,
    /// Only this arm, a strategy or setting that an experiment compares; may be given several times
    #[arg(long = "arm", value_name = "NAME")]
    arms: Vec<String>,
    /// Only runs on this dataset; may be given several times
    #[arg(long = "dataset", value_name = "NAME")]
    datasets: Vec<String>,
}

impl NamedRuns {
    /// The selection of a plan.
    pub fn selection(&self) -> Selection {
        Selection {
            experiments: self.experiments.clone(),
            arms: self.arms.clone(),
            datasets: self.datasets.clone(),
            ..Selection::default()
        }
    }

    /// Each option with its values.
    fn options(&self) -> [(&'static str, &[String]); 3] {
        [
            ("--experiment", &self.experiments),
            ("--arm", &self.arms),
            ("--dataset", &self.datasets),
        ]
    }
}

/// Selection of runs.
#[derive(Debug, Args)]
pub struct RunSelection {
    /// The grid.
    #[command(flatten)]
    of: PaperProfile,
    /// Only the run with this id or unambiguous prefix of it; may be given several times
    #[arg(long, value_name = "RUN-ID")]
    only: Vec<String>,
    /// Part of the grid.
    #[command(flatten)]
    named: NamedRuns,
    /// Only the i-th of N shards of the runs
    #[arg(long, value_name = "i/N")]
    pub shard: Option<Shard>,
    /// Rerun failed runs
    #[arg(long)]
    retry_failed: bool,
}

impl RunSelection {
    /// The selected runs.
    pub fn plan(&self, context: &Context) -> Result<Plan> {
        let (paper, profile) = self.named(context)?;
        Plan::new(context.places(), &paper, &profile, &self.selection())
    }

    /// The paper and its profile.
    pub fn named(&self, context: &Context) -> Result<(String, String)> {
        self.of.named(&context.project)
    }

    /// The selection on a command line, as arguments.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![self.of.paper.clone()];
        arguments.extend(self.of.profile.clone());
        let only: (&str, &[String]) = ("--only", &self.only);
        for (name, values) in [only].into_iter().chain(self.named.options()) {
            arguments.extend(
                values
                    .iter()
                    .flat_map(|value| [name.to_string(), value.clone()]),
            );
        }
        if self.retry_failed {
            arguments.push("--retry-failed".to_string());
        }
        arguments
    }

    /// Whether runs of the grid may be left out.
    pub fn is_part(&self) -> bool {
        let mut named = self.named.options().into_iter();
        self.shard.is_some() || !self.only.is_empty() || named.any(|(_, values)| !values.is_empty())
    }

    /// The selection of a plan.
    pub fn selection(&self) -> Selection {
        Selection {
            only: self.only.clone(),
            shard: self.shard,
            retry_failed: self.retry_failed,
            ..self.named.selection()
        }
    }
}
