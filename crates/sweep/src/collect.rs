//! Merges finished runs into the tables that reports read.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use totune_record::{RunRow, Tables};

use crate::inputs::one_hash;
use crate::{Plan, PlannedRun, Project, Roots, RunSpec, State, Store};

/// What was collected.
#[derive(Debug, Clone)]
pub struct Collected {
    /// The folder with the three tables.
    pub folder: PathBuf,
    /// How many runs they hold.
    pub runs: usize,
    /// How many of those failed or ran out of memory.
    pub failed: usize,
    /// How many runs of the plan they do not hold.
    pub absent: usize,
    /// How many runs there cannot be, because no trial of their search has a score.
    pub unresolvable: usize,
}

/// Merges the runs of a plan into `results/<paper>/<profile>/`, sorted, so that the same runs give the same bytes.
///
/// Only runs of the current plan are taken. Unless `partial`, every one of them must be there: tables that were
/// complete are not replaced by ones with holes. Runs made from other files than the cards describe now are refused.
pub fn collect(
    project: &Project,
    store: &Store,
    roots: &Roots,
    plan: &Plan,
    partial: bool,
) -> Result<Collected> {
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
    let mut tables = Tables::default();
    for run in &runs {
        let mut of_run = store.tables(&run.id)?;
        // Of an earlier schema, or with an earlier name of its arm: the plan says the same in today's words.
        of_run.runs[0].spec = run.spec.canonical_json();
        tables.extend(of_run);
    }
    refuse_stale(project, roots, &tables.runs)?;
    tables.sort();
    let folder = project.results(&plan.paper, &plan.profile);
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("{}: cannot create", folder.display()))?;
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

/// Refuses runs that read other bytes than they would read now.
///
/// A dataset that is not on this machine cannot be compared, nor a checkpoint whose card pins no hash.
fn refuse_stale(project: &Project, roots: &Roots, runs: &[RunRow]) -> Result<()> {
    let datasets = project.datasets()?;
    let encoders = project.encoders()?;
    let mut hashes = BTreeMap::new();
    let mut stale = Vec::new();
    for run in runs {
        let spec = RunSpec::read(&run.spec)
            .with_context(|| format!("run {}: its spec cannot be read", run.run_id))?;
        let splits = spec.split.splits();
        let read = format!("{} {}", run.dataset, splits.join(" "));
        if !hashes.contains_key(&read) {
            let card = datasets.find(&run.dataset)?;
            let here = card.missing(&roots.data, &splits).is_none();
            let load = |split: &&str| Ok(card.load_split(&roots.data, split)?.hash);
            let hash = here
                .then(|| splits.iter().map(load).collect::<Result<Vec<_>>>())
                .transpose()?
                .map(|hashes| one_hash(&hashes));
            hashes.insert(read.clone(), hash);
        }
        if differs(&run.dataset_hash, hashes[&read].as_deref()) {
            stale.push(format!("{}: dataset `{}`", run.run_id, run.dataset));
        }
        if !run.encoder.is_empty() && !run.checkpoint_hash.is_empty() {
            // A checkpoint may circulate in several formats, each with a hash of its own.
            let pinned = &encoders.find(&run.encoder)?.sha256;
            if pinned.is_empty() || pinned.values().any(|hash| *hash == run.checkpoint_hash) {
                continue;
            }
            stale.push(format!("{}: encoder `{}`", run.run_id, run.encoder));
        }
    }
    let shown: String = stale
        .iter()
        .take(5)
        .map(|line| format!("\n  {line}"))
        .collect();
    ensure!(
        stale.is_empty(),
        "{} runs were made from other files than the cards describe now; remove their folders below runs/ and run them \
         again:{shown}{}",
        stale.len(),
        if stale.len() > 5 { "\n  …" } else { "" }
    );
    Ok(())
}

fn differs(recorded: &str, now: Option<&str>) -> bool {
    !recorded.is_empty() && now.is_some_and(|now| now != recorded)
}
