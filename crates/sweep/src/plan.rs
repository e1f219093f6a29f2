//! Which runs there are, how far each has come, and which would run now.

use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;

use crate::{Project, RunSpec, State, Store, suggest};

/// All runs of a paper and profile, with their states.
#[derive(Debug, Serialize)]
pub struct Plan {
    /// Paper.
    pub paper: String,
    /// Profile.
    pub profile: String,
    /// Every run that was selected, in the order of the experiment files.
    pub runs: Vec<PlannedRun>,
}

/// One run of a plan.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PlannedRun {
    /// Run id.
    pub id: String,
    /// What tells it from its neighbours, for people.
    pub label: String,
    /// How far it has come.
    pub state: State,
    /// Whether `sweep run` would run it now.
    pub will_run: bool,
    /// Why it would run, or why not.
    pub why: String,
    /// What it is.
    pub spec: RunSpec,
}

/// A part of a plan.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Only these run ids (or unambiguous beginnings of them); all when empty.
    pub only: Vec<String>,
    /// Only this share of the runs.
    pub shard: Option<Shard>,
    /// Run again what failed.
    pub retry_failed: bool,
}

/// Every N-th run, starting with the i-th: `2/4` is the second of four shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Which shard, counted from 1.
    pub index: usize,
    /// Of how many.
    pub of: usize,
}

impl FromStr for Shard {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let parse = || -> Option<Self> {
            let (index, of) = text.split_once('/')?;
            Some(Self {
                index: index.trim().parse().ok()?,
                of: of.trim().parse().ok()?,
            })
        };
        let shard =
            parse().with_context(|| format!("`{text}` is no shard; expected i/N such as 1/4"))?;
        ensure!(
            shard.index >= 1 && shard.index <= shard.of,
            "shard {text}: expected i between 1 and N"
        );
        Ok(shard)
    }
}

impl Plan {
    /// Expands every experiment of the paper that has the profile, and looks up how far each run has come.
    pub fn new(
        project: &Project,
        store: &Store,
        paper: &str,
        profile: &str,
        selection: &Selection,
    ) -> Result<Self> {
        let specs = select(expand(project, paper, profile)?, selection)?;
        let runs = specs
            .into_iter()
            .map(|(id, spec)| planned(store, id, spec, selection.retry_failed))
            .collect();
        Ok(Self {
            paper: paper.to_string(),
            profile: profile.to_string(),
            runs,
        })
    }

    /// The runs that would run now.
    pub fn to_run(&self) -> Vec<&PlannedRun> {
        self.runs.iter().filter(|run| run.will_run).collect()
    }

    /// How many runs are in each state.
    pub fn count(&self, state: State) -> usize {
        self.runs.iter().filter(|run| run.state == state).count()
    }
}

/// All specs of a paper's profile with their ids.
fn expand(project: &Project, paper: &str, profile: &str) -> Result<Vec<(String, RunSpec)>> {
    let experiments = project.experiments(paper)?;
    let mut profiles: Vec<&str> = experiments
        .iter()
        .flat_map(|experiment| experiment.profiles())
        .collect();
    profiles.sort_unstable();
    profiles.dedup();
    if !profiles.contains(&profile) {
        bail!(
            "{paper}: {}",
            suggest::unknown("profile", profile, &profiles)
        );
    }
    let mut specs = Vec::new();
    for experiment in experiments
        .iter()
        .filter(|experiment| experiment.profiles().contains(&profile))
    {
        specs.extend(
            experiment
                .expand(profile)?
                .into_iter()
                .map(|spec| (spec.id(), spec)),
        );
    }
    Ok(specs)
}

fn select(specs: Vec<(String, RunSpec)>, selection: &Selection) -> Result<Vec<(String, RunSpec)>> {
    for wanted in &selection.only {
        let found = specs
            .iter()
            .filter(|(id, _)| id.starts_with(wanted.as_str()))
            .count();
        ensure!(
            found > 0,
            "no run {wanted} in this plan; `totune sweep plan` lists the ids"
        );
        ensure!(
            found == 1,
            "{found} runs begin with {wanted}; expected more of the id"
        );
    }
    let wanted = |id: &str| {
        selection.only.is_empty()
            || selection
                .only
                .iter()
                .any(|only| id.starts_with(only.as_str()))
    };
    let in_shard = |at: usize| {
        selection
            .shard
            .is_none_or(|shard| at % shard.of == shard.index - 1)
    };
    let numbered = specs.into_iter().enumerate();
    Ok(numbered
        .filter(|(at, (id, _))| wanted(id) && in_shard(*at))
        .map(|(_, run)| run)
        .collect())
}

fn planned(store: &Store, id: String, spec: RunSpec, retry_failed: bool) -> PlannedRun {
    let (state, why) = store.state(&id);
    let will_run = match state {
        State::Missing | State::CutOff => true,
        State::Failed => retry_failed,
        State::Done | State::Running => false,
    };
    let why = match state {
        State::Failed if !retry_failed => format!("{why}; --retry-failed runs it again"),
        _ => why,
    };
    PlannedRun {
        label: spec.label(),
        id,
        state,
        will_run,
        why,
        spec,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_written_i_of_n() {
        assert_eq!(
            "2/4".parse::<Shard>().expect("parses"),
            Shard { index: 2, of: 4 }
        );
        for wrong in ["0/4", "5/4", "2", "a/b", "1/0"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
