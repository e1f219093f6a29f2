//! Stored results, with the arms of today's experiments and the number of trials behind searched settings.

use std::collections::{HashMap, HashSet};

use anyhow::{Context, Result};
use totune_record::{RunRow, StoredTables, Tables};

use crate::{Project, RunSpec};

/// The arm that each setting of each experiment belongs to, for a paper and profile.
///
/// A spec of schema 1 names no arm, and an arm may have been renamed since its runs were made. Both are matched by the
/// settings of the experiments' arms today: two arms of one experiment never have the same settings.
#[derive(Debug, Clone)]
pub struct Arms(HashMap<String, String>);

impl Arms {
    /// The arms of every experiment of the paper that has the profile.
    pub fn of(project: &Project, paper: &str, profile: &str) -> Result<Self> {
        let mut arms = HashMap::new();
        for experiment in project.experiments(paper)? {
            if experiment.profiles().contains(&profile) {
                let runs = experiment.expand(profile)?;
                arms.extend(runs.into_iter().map(|run| (run.cell(), run.arm)));
            }
        }
        Ok(Self(arms))
    }

    /// The arm of a run; `None` where no experiment has its settings any more.
    pub fn find(&self, run: &RunSpec) -> Option<&str> {
        self.0.get(&run.cell()).map(String::as_str)
    }
}

/// Number of settings tried for each cell, counted in stored runs, since specs from before schema 6 do not record it.
struct TrialCounts(HashMap<String, HashSet<String>>);

impl TrialCounts {
    fn of(specs: &[RunSpec]) -> Self {
        let mut settings: HashMap<String, HashSet<String>> = HashMap::new();
        for spec in specs.iter().filter(|spec| spec.is_trial()) {
            // Several seeds of one setting are one trial.
            let setting = RunSpec {
                seed: 0,
                ..spec.clone()
            };
            let of_cell = settings.entry(spec.cell()).or_default();
            of_cell.insert(setting.canonical_json());
        }
        Self(settings)
    }

    /// Number of trials of a run whose settings a search chose; `None` where none of the trials is stored, and for a
    /// run without a search.
    fn behind(&self, spec: &RunSpec) -> Option<usize> {
        let is_chosen = !spec.search.is_empty() && !spec.is_trial();
        let settings = is_chosen.then(|| self.0.get(&spec.cell())).flatten();
        settings.map(HashSet::len)
    }
}

/// The stored tables of a paper and profile, with every run's spec in today's schema, including its arm and the number
/// of trials that its settings were chosen from.
pub fn read_results(project: &Project, paper: &str, profile: &str) -> Result<StoredTables> {
    let mut tables = StoredTables::read(&project.results(paper, profile))?;
    upgrade(&mut tables.runs, &Arms::of(project, paper, profile)?)?;
    Ok(tables)
}

/// Rewrites the stored tables of a paper and profile with the specs of [`read_results`]; returns the number of runs in
/// them.
pub fn upgrade_results(project: &Project, paper: &str, profile: &str) -> Result<usize> {
    let folder = project.results(paper, profile);
    let mut tables = Tables::read(&folder)?;
    upgrade(&mut tables.runs, &Arms::of(project, paper, profile)?)?;
    tables.write(&folder)?;
    Ok(tables.runs.len())
}

fn upgrade(runs: &mut [RunRow], arms: &Arms) -> Result<()> {
    let read =
        |row: &RunRow| RunSpec::read(&row.spec).with_context(|| format!("run {}", row.run_id));
    let specs = runs.iter().map(read).collect::<Result<Vec<_>>>()?;
    let trials = TrialCounts::of(&specs);
    for (row, mut spec) in runs.iter_mut().zip(specs) {
        if let Some(arm) = arms.find(&spec) {
            spec.arm = arm.to_string();
        }
        spec.search_trials = spec.search_trials.or_else(|| trials.behind(&spec));
        row.spec = spec.canonical_json();
    }
    Ok(())
}
