//! Stored results, with the arms of today's experiments.

use std::collections::HashMap;

use anyhow::{Context, Result};
use serde_json::Value;
use totune_record::Tables;

use crate::{Project, RunSpec};

/// Which arm of which experiment a setting belongs to, for a paper and profile.
///
/// A spec of schema 1 names no arm, and an arm may have another name than when its runs were made. Both find theirs by
/// what the experiments' arms consist of today: two arms of one experiment never have the same settings.
#[derive(Debug, Clone)]
pub struct Arms(HashMap<String, String>);

impl Arms {
    /// The arms of every experiment of the paper that has the profile.
    pub fn of(project: &Project, paper: &str, profile: &str) -> Result<Self> {
        let mut arms = HashMap::new();
        for experiment in project.experiments(paper)? {
            if experiment.profiles().contains(&profile) {
                let runs = experiment.expand(profile)?;
                arms.extend(runs.into_iter().map(|run| (cell(&run), run.arm)));
            }
        }
        Ok(Self(arms))
    }

    /// The arm that a run is of; `None` where no experiment has its settings any more.
    pub fn find(&self, run: &RunSpec) -> Option<&str> {
        self.0.get(&cell(run)).map(String::as_str)
    }
}

/// What the runs of a cell have in common: everything but the seed, the arm's name, and the values that a search chose or
/// tried.
pub(crate) fn cell(run: &RunSpec) -> String {
    let mut run = run.clone();
    run.seed = 0;
    run.arm.clear();
    if let Some(experiment) = run.experiment.strip_suffix("-search") {
        run.experiment = experiment.to_string();
    }
    let mut value: Value =
        serde_json::from_str(&run.canonical_json()).expect("canonical JSON is JSON");
    for path in &run.search {
        if let Some(chosen) = value.pointer_mut(&format!("/{}", path.replace('.', "/"))) {
            *chosen = Value::Null;
        }
    }
    value.to_string()
}

/// The stored tables of a paper and profile, every run's spec in today's schema with the arm that it is of.
pub fn read_results(project: &Project, paper: &str, profile: &str) -> Result<Tables> {
    let mut tables = Tables::read(&project.results(paper, profile))?;
    let arms = Arms::of(project, paper, profile)?;
    for row in &mut tables.runs {
        let mut spec = RunSpec::read(&row.spec).with_context(|| format!("run {}", row.run_id))?;
        if let Some(arm) = arms.find(&spec) {
            spec.arm = arm.to_string();
        }
        row.spec = spec.canonical_json();
    }
    Ok(tables)
}

/// Writes the stored tables of a paper and profile again, as [`read_results`] reads them; how many runs they hold.
pub fn upgrade_results(project: &Project, paper: &str, profile: &str) -> Result<usize> {
    let tables = read_results(project, paper, profile)?;
    tables.write(&project.results(paper, profile))?;
    Ok(tables.runs.len())
}
