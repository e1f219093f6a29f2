//! `runs/`: one folder per run id, written in an order that makes a finished run recognisable.
//!
//! `spec.json` comes first and `runs.parquet` last; a folder without a readable `runs.parquet` was interrupted.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use serde::Serialize;
use totune_record::{RunRow, Tables, write_atomically};

use crate::RunSpec;
use crate::lock::{Lock, Owner};
use crate::spec::Sources;

/// File of a run folder with its settings.
const SPEC: &str = "spec.json";

/// File of a run folder with the facts from the cards at the time of the run.
pub(crate) const CARDS: &str = "cards.json";

/// File of a run folder with the log of every attempt.
pub(crate) const LOG: &str = "run.log";

/// State of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Its rows are there; a diverged run is done too, since it would diverge again.
    Done,
    /// Another process executes it.
    Running,
    /// It was started and never finished.
    Interrupted,
    /// Nothing of it is there.
    Missing,
    /// It ended with an error or out of memory, as its row says.
    Failed,
    /// Its settings are not known yet: trials of its search have not ended.
    Waiting,
    /// Its settings will not be known: no trial of its search has a score.
    Unresolvable,
}

/// The folder of all runs.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
}

/// A run folder that this process owns until it drops the claim.
#[derive(Debug)]
pub(crate) struct Claim {
    folder: PathBuf,
    _lock: Lock,
}

impl Store {
    /// The store in `root`, which need not exist yet.
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// The folder of one run.
    pub fn folder(&self, id: &str) -> PathBuf {
        self.root.join(id)
    }

    /// The folder with cached activations of frozen layers.
    pub(crate) fn states(&self) -> PathBuf {
        self.root.join("activations")
    }

    /// State of a run, and the reason for it.
    pub fn state(&self, id: &str) -> (State, String) {
        let folder = self.folder(id);
        if !folder.is_dir() {
            return (State::Missing, "not started".to_string());
        }
        let finished = folder.join("runs.parquet").is_file();
        if finished {
            match self.tables(id) {
                Ok(tables) => return finished_state(&tables),
                Err(error) => {
                    return (
                        State::Interrupted,
                        format!("its tables cannot be read: {error:#}"),
                    );
                }
            }
        }
        match Owner::read(&folder) {
            Some(owner) if owner.alive() != Some(false) => (
                State::Running,
                format!("process {} on {} is at it", owner.pid, owner.host),
            ),
            Some(owner) => (
                State::Interrupted,
                format!(
                    "started by process {} on {}, which has ended",
                    owner.pid, owner.host
                ),
            ),
            None => (State::Interrupted, "started and not finished".to_string()),
        }
    }

    /// The row of a run that has ended; none where it has not, or its table cannot be read.
    pub(crate) fn run_row(&self, id: &str) -> Option<RunRow> {
        let folder = self.folder(id);
        let is_there = folder.join("runs.parquet").is_file();
        let rows = is_there.then(|| Tables::read_runs(&folder).ok()).flatten();
        rows.and_then(|rows| rows.into_iter().next())
    }

    /// The rows of a finished run.
    pub fn tables(&self, id: &str) -> Result<Tables> {
        let folder = self.folder(id);
        let tables = Tables::read(&folder)?;
        let of = |folder: &Path| folder.display().to_string();
        match tables.runs.as_slice() {
            [run] if run.run_id == id => Ok(tables),
            [run] => Err(anyhow!(
                "{}: holds run {}; expected {id}",
                of(&folder),
                run.run_id
            )),
            runs => Err(anyhow!(
                "{}: holds {} run rows; expected 1",
                of(&folder),
                runs.len()
            )),
        }
    }

    /// Writes the folder of a finished run from its rows; false when another process holds it.
    pub(crate) fn put_back(&self, id: &str, tables: &Tables) -> Result<bool> {
        let Some(claim) = self.claim_folder(id)? else {
            return Ok(false);
        };
        let spec = tables.runs[0].spec.clone() + "\n";
        write_atomically(&claim.folder.join(SPEC), spec.as_bytes())?;
        claim.finish(tables)?;
        Ok(true)
    }

    /// Takes a run's folder for this process; `None` when another process holds it.
    pub(crate) fn claim(&self, spec: &RunSpec) -> Result<Option<Claim>> {
        self.claim_folder(&spec.id())
    }

    fn claim_folder(&self, id: &str) -> Result<Option<Claim>> {
        let folder = self.folder(id);
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("{}: cannot create", folder.display()))?;
        let Some(lock) = Lock::take(&folder)? else {
            return Ok(None);
        };
        Ok(Some(Claim {
            folder,
            _lock: lock,
        }))
    }
}

impl Claim {
    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Clears the files of an earlier owner and writes `spec.json` and the facts from the `cards`.
    pub fn begin(&self, spec: &RunSpec, cards: &Sources) -> Result<()> {
        let entries = std::fs::read_dir(&self.folder)
            .with_context(|| format!("{}: cannot list", self.folder.display()))?;
        let paths: Vec<PathBuf> = entries
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .collect();
        // The done marker goes first: with it gone the folder counts as interrupted, whatever else is still there.
        let marker = self.folder.join("runs.parquet");
        let leftovers = paths.iter().filter(|path| {
            !["lock", LOG, "runs.parquet"]
                .iter()
                .any(|kept| path.ends_with(kept))
        });
        for path in paths
            .iter()
            .filter(|path| **path == marker)
            .chain(leftovers)
        {
            std::fs::remove_file(path)
                .with_context(|| format!("{}: cannot remove", path.display()))?;
        }
        let said = serde_json::to_string_pretty(cards)? + "\n";
        write_atomically(&self.folder.join(CARDS), said.as_bytes())?;
        let json = spec.canonical_json() + "\n";
        write_atomically(&self.folder.join(SPEC), json.as_bytes())
    }

    /// Writes the rows, the done marker last.
    pub fn finish(&self, tables: &Tables) -> Result<()> {
        tables.write(&self.folder)
    }
}

fn finished_state(tables: &Tables) -> (State, String) {
    let run = &tables.runs[0];
    match run.status.as_str() {
        "ok" => (State::Done, "finished".to_string()),
        "diverged" => (State::Done, format!("diverged: {}", run.error)),
        status => (State::Failed, format!("{status}: {}", run.error)),
    }
}
