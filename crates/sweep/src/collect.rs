//! Merges finished runs into the tables that reports read.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use totune_record::{RunRow, Tables, create_folder};

use crate::{Places, Plan, PlannedRun, Project, RunSpec, State, parallel};

/// Summary of a collection.
#[derive(Debug, Clone)]
pub struct Collected {
    /// The folder with the three tables.
    pub folder: PathBuf,
    /// Number of runs in the tables.
    pub runs: usize,
    /// Number of those that failed or ran out of memory.
    pub failed: usize,
    /// Number of runs of the plan that are missing from the tables.
    pub absent: usize,
    /// Number of runs that cannot exist, because no trial of their search has a score.
    pub unresolvable: usize,
}

/// Merges the runs of a plan into `results/<paper>/<profile>/`, sorted, so that the same runs give the same bytes.
///
/// Only runs of the current plan are taken. Unless `partial`, every one of them must be there: complete tables are not
/// replaced by incomplete ones. Runs made from files that have changed since are not in the plan.
pub fn collect(places: Places, plan: &Plan, partial: bool) -> Result<Collected> {
    let Places { project, store, .. } = places;
    let there = |run: &&PlannedRun| matches!(run.state, State::Done | State::Failed);
    let runs: Vec<&PlannedRun> = plan.runs.iter().filter(there).collect();
    let unresolvable = plan.count(State::Unresolvable);
    let absent = plan.runs.len() - runs.len() - unresolvable;
    ensure!(
        !runs.is_empty(),
        "none of the {} runs has results yet; `totune sweep run` makes them",
        plan.runs.len()
    );
    if absent > 0 && !partial {
        bail!(
            "{absent} of {} runs have no results yet; `totune sweep run` makes them, --partial collects what is there",
            plan.runs.len()
        );
    }
    let read = parallel::map(runs.clone(), |run| -> Result<Tables> {
        let tables = store.tables(&run.id);
        let mut tables = tables.inspect_err(|_| store.forget(&run.id))?;
        // A run of an earlier schema, or with an earlier name of its arm: the plan has the same spec in today's words.
        tables.runs[0].spec = run.spec.canonical_json();
        Ok(tables)
    });
    let mut tables = Tables::default();
    for of_run in read {
        tables.extend(of_run?);
    }
    refuse_mixed(project, &tables.runs)?;
    tables.sort();
    let folder = project.results(&plan.paper, &plan.profile);
    create_folder(&folder)?;
    tables.write(&folder)?;
    let failed = runs.iter().filter(|run| run.state == State::Failed).count();
    Ok(Collected {
        folder,
        runs: runs.len(),
        failed,
        absent,
        unresolvable,
    })
}

/// Refuses runs that read different data or weights under one name. The plan leaves out what is stale, but only where the
/// files are on this machine.
fn refuse_mixed(project: &Project, runs: &[RunRow]) -> Result<()> {
    let encoders = project.encoders()?;
    let mut read: BTreeMap<String, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for run in runs {
        let spec = RunSpec::read(&run.spec)
            .with_context(|| format!("run {}: its spec cannot be read", run.run_id))?;
        let splits = spec.split.splits().join(" and ");
        let mut sources = vec![(
            format!("dataset `{}` ({splits})", run.dataset),
            &run.dataset_hash,
        )];
        // A checkpoint may circulate in several formats, each with a hash of its own.
        if !run.encoder.is_empty() && encoders.find(&run.encoder)?.sha256.is_empty() {
            sources.push((format!("encoder `{}`", run.encoder), &run.checkpoint_hash));
        }
        for (what, hash) in sources.into_iter().filter(|(_, hash)| !hash.is_empty()) {
            let of_hash = read.entry(what).or_default().entry(hash).or_default();
            of_hash.push(&run.run_id);
        }
    }
    if let Some((what, by_hash)) = read.iter().find(|(_, by_hash)| by_hash.len() > 1) {
        let such_as = |runs: &Vec<&str>| format!("{} runs such as {}", runs.len(), runs[0]);
        let groups: Vec<String> = by_hash.values().map(such_as).collect();
        bail!(
            "{what}: the runs read different files under this name ({}), and none is here to tell which of them are stale",
            groups.join(", ")
        );
    }
    Ok(())
}
