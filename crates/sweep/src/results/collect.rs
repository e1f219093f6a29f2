//! Merges finished runs into the tables that reports read.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use totune_disk::create_folder;
use totune_model::EncoderCatalogue;
use totune_record::{GrowingTables, RunRow, Tables, write_missing};

use crate::{Places, Plan, PlannedRun, Project, RunSpec, State, Store, parallel};

/// Runs whose tables are in memory at once.
const RUNS_AT_ONCE: usize = 64;

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
/// replaced by incomplete ones. The specs of those that are not there stand next to the tables. Runs made from files that
/// have changed since are not in the plan.
///
/// # Errors
/// When runs are missing, when earlier tables have a run of the plan that the store lacks, which would be lost, when runs
/// read different files under one name, or a table cannot be read or written.
pub fn collect(places: Places, plan: &Plan, partial: bool) -> Result<Collected> {
    let Places { project, store, .. } = places;
    let there = |run: &&PlannedRun| matches!(run.state, State::Done | State::Failed);
    let mut runs: Vec<&PlannedRun> = plan.runs.iter().filter(there).collect();
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
    // In the order of their rows, so that tables grow in it.
    runs.sort_by(|a, b| a.id.cmp(&b.id));
    let folder = project.results(&plan.paper, &plan.profile);
    if absent > 0 {
        refuse_loss(plan, &folder)?;
    }
    create_folder(&folder)?;
    let merged = merge(project, store, &runs, &folder);
    if merged.is_err() {
        // Nothing is in it that was not there before: it goes only if it is empty.
        let _ = std::fs::remove_dir(&folder);
    }
    merged?;
    let missing = plan.runs.iter().filter(|run| !there(run));
    let missing = missing.filter(|run| run.state != State::Unresolvable);
    let mut missing: Vec<String> = missing.map(|run| run.spec.canonical_json()).collect();
    missing.sort();
    write_missing(&folder, &missing)?;
    let failed = runs.iter().filter(|run| run.state == State::Failed).count();
    Ok(Collected {
        folder,
        runs: runs.len(),
        failed,
        absent,
        unresolvable,
    })
}

/// Refuses to replace tables that have runs of the plan which the store lacks, as after runs on another machine.
fn refuse_loss(plan: &Plan, folder: &Path) -> Result<()> {
    if !folder.join("runs.parquet").is_file() {
        return Ok(());
    }
    let collected: HashSet<String> = Tables::read_ids(folder)?.into_iter().collect();
    let lacking = plan.runs.iter().filter(|run| {
        matches!(run.state, State::Missing | State::Interrupted) && collected.contains(&run.id)
    });
    let lacking: Vec<&PlannedRun> = lacking.collect();
    if let Some(first) = lacking.first() {
        let (paper, profile) = (&plan.paper, &plan.profile);
        bail!(
            "{} collected runs have no folder below runs/, such as {}, and would be lost; `totune sweep restore {paper} \
             {profile}` takes them over, or remove {} to collect without them",
            lacking.len(),
            first.id,
            folder.join("runs.parquet").display()
        );
    }
    Ok(())
}

/// Writes the tables of runs, in the order of their ids, into one folder; a part of them is in memory at a time.
fn merge(project: &Project, store: &Store, runs: &[&PlannedRun], folder: &Path) -> Result<()> {
    let mut merged = GrowingTables::begin(folder)?;
    let mut read_files = FilesRead::default();
    let encoders = project.encoders()?;
    for part in runs.chunks(RUNS_AT_ONCE) {
        let read = parallel::map(part.to_vec(), |run| -> Result<Tables> {
            let tables = store.tables(&run.id);
            let mut tables = tables.inspect_err(|_| store.forget(&run.id))?;
            // A run of an earlier schema, or with an earlier name of its arm: the plan has the same spec in today's words.
            tables.runs[0].spec = run.spec.canonical_json();
            Ok(tables)
        });
        for (run, tables) in part.iter().zip(read) {
            let tables = tables?;
            read_files.add(&encoders, &run.spec, &tables.runs[0])?;
            merged.add(tables)?;
        }
    }
    read_files.refuse_mixed()?;
    merged.finish()
}

/// Data and weights that runs have read: by name, the hashes, with a number of runs and one of them.
#[derive(Default)]
struct FilesRead(BTreeMap<String, BTreeMap<String, (usize, String)>>);

impl FilesRead {
    fn add(&mut self, encoders: &EncoderCatalogue, spec: &RunSpec, run: &RunRow) -> Result<()> {
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
            let by_hash = self.0.entry(what).or_default();
            let of_hash = by_hash.entry(hash.clone());
            of_hash.or_insert_with(|| (0, run.run_id.clone())).0 += 1;
        }
        Ok(())
    }

    /// Refuses runs that read different data or weights under one name. The plan leaves out what is stale, but only
    /// where the files are on this machine.
    fn refuse_mixed(&self) -> Result<()> {
        let Some((what, by_hash)) = self.0.iter().find(|(_, by_hash)| by_hash.len() > 1) else {
            return Ok(());
        };
        let such_as = |(runs, one): &(usize, String)| format!("{runs} runs such as {one}");
        let groups: Vec<String> = by_hash.values().map(such_as).collect();
        bail!(
            "{what}: the runs read different files under this name ({}), and none is here to tell which of them are stale",
            groups.join(", ")
        );
    }
}
