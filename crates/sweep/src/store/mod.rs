//! `runs/`: one folder per run id, written in an order that makes a finished run recognisable. They lie in folders named
//! by the first two digits of the id, so that no folder has too many entries.
//!
//! `spec.json` comes first, and the tables are published last and once (`publication.rs`); a folder without readable
//! tables was interrupted. One process at a time works in a folder, under a lease (`lease/`).

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use serde::Serialize;
use totune_data::sha256_hex;
use totune_disk::{create_folder, write_atomically};
use totune_record::{NewerVersion, RunRow, Tables, Versions};

use crate::RunSpec;
use crate::spec::Sources;

pub(crate) mod ended_runs;
pub(crate) mod lease;
pub(crate) mod phases;
mod publication;

pub use phases::Phases;

use ended_runs::{DATASET, EndedRun, EndedRuns, TOKENIZER, WEIGHTS};
use lease::{Hold, Holder, LEASES, Lease};
use publication::{ATTEMPTS, RESULTS};

/// File of a run folder with its settings.
const SPEC: &str = "spec.json";

/// File of a run folder with the facts from the cards at the time of the run.
const CARDS: &str = "cards.json";

/// Key of the checksum in that file.
const CHECKSUM: &str = "sha256";

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
    ended: Arc<EndedRuns>,
}

/// A run folder that this process owns until it drops the claim.
#[derive(Debug)]
pub(crate) struct Claim {
    folder: PathBuf,
    lease: Lease,
    /// Round of results that the work is for.
    round: u64,
}

impl Store {
    /// The store in `root`, which need not exist yet.
    pub fn new(root: PathBuf) -> Self {
        let ended = Arc::new(EndedRuns::new(root.join("ended")));
        Self { root, ended }
    }

    /// The folder of one run: `runs/ab/ab…`; directly in `runs/` if an earlier version of this program made it.
    pub fn folder(&self, id: &str) -> PathBuf {
        let earlier = self.root.join(id);
        if earlier.is_dir() {
            return earlier;
        }
        let group = id.get(..2).unwrap_or(id);
        self.root.join(group).join(id)
    }

    /// The ids of all runs that have a folder.
    pub fn ids(&self) -> HashSet<String> {
        let names = |folder: &Path| -> Vec<String> {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
            names.collect()
        };
        let is_id = |name: &String| name.len() == 16 && name.chars().all(|c| c.is_ascii_hexdigit());
        let (runs, groups): (Vec<String>, Vec<String>) =
            names(&self.root).into_iter().partition(is_id);
        let groups = groups.into_iter().filter(|name| name.len() == 2);
        let below = groups.flat_map(|name| names(&self.root.join(name)));
        runs.into_iter().chain(below.filter(is_id)).collect()
    }

    /// The folder with cached activations of frozen layers.
    pub(crate) fn states(&self) -> PathBuf {
        self.root.join("activations")
    }

    /// State of a run, and the reason for it.
    pub fn state(&self, id: &str) -> (State, String) {
        self.state_after(id, self.ended_run(id).as_ref())
    }

    /// Like [`Store::state`], with what [`Store::ended_run`] has said.
    pub(crate) fn state_after(
        &self,
        id: &str,
        ended: Option<&Result<Arc<EndedRun>>>,
    ) -> (State, String) {
        let ended = ended.map(state_of_ended);
        if let Some(done @ (State::Done, _)) = ended {
            return done;
        }
        let folder = self.folder(id);
        if !folder.is_dir() {
            return (State::Missing, "not started".to_string());
        }
        let why = match (Holder::of(&folder), ended) {
            (Some(holder), _) if holder.hold != Hold::Free => {
                let why = format!("{} is at it", holder.owner.describe());
                return (State::Running, why);
            }
            (_, Some(ended)) => return ended,
            (Some(holder), None) => {
                format!("started by {}, which has ended", holder.owner.describe())
            }
            (None, None) => "started and not finished".to_string(),
        };
        let checkpoints = checkpoints_in(&folder).list();
        let checkpoint = match checkpoints {
            Ok(found) if !found.is_empty() => "; there is a checkpoint",
            _ => "",
        };
        (State::Interrupted, why + checkpoint)
    }

    /// State of a run by its published results alone; `None` where it has none.
    pub(crate) fn ended(&self, id: &str) -> Option<(State, String)> {
        self.ended_run(id).as_ref().map(state_of_ended)
    }

    /// Number of attempts at a run that have published results.
    pub(crate) fn rounds(&self, id: &str) -> Result<u64> {
        publication::last_round(&self.folder(id))
    }

    /// Whether a run that had no results when the plan was made has been done since.
    pub(crate) fn done_since(&self, id: &str) -> bool {
        publication::is_done(&self.folder(id))
    }

    /// Facts of a run that has ended; `None` where it has no published results. The tables are read once, and then as
    /// often as there are new ones.
    pub(crate) fn ended_run(&self, id: &str) -> Option<Result<Arc<EndedRun>>> {
        let folder = self.folder(id);
        let is_still = |stamp: &str| publication::is_still(&folder, stamp, &[CARDS]);
        if let Some(known) = self.ended.get(id, is_still) {
            return Some(Ok(known));
        }
        let stamp = publication::stamp(&folder, &[CARDS]);
        let published = publication::published(&folder).transpose()?;
        let read = || -> Result<Arc<EndedRun>> {
            published?;
            let cards = self.cards(id)?;
            let row = &self.tables(id)?.runs[0];
            Ok(Arc::new(EndedRun::of(row, read_by(row, cards))))
        };
        let run = read();
        if let (Some(stamp), Ok(run)) = (stamp, &run) {
            self.ended.insert(id, stamp, Arc::clone(run));
        }
        Some(run)
    }

    /// Has the tables of a run read again, since they turned out to be damaged.
    pub(crate) fn forget(&self, id: &str) {
        self.ended.forget(id);
    }

    /// Refuses a run with results of a newer version of the program, which must not give way to those of this one.
    pub(crate) fn refuse_newer(&self, id: &str) -> Result<()> {
        match self.tables(id) {
            Err(error) if error.is::<NewerVersion>() => Err(error),
            _ => Ok(()),
        }
    }

    /// The facts from the cards at the time of a run; none where they were not recorded.
    ///
    /// # Errors
    /// When the file is damaged.
    pub(crate) fn cards(&self, id: &str) -> Result<Sources> {
        let path = self.folder(id).join(CARDS);
        let bytes = match std::fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Sources::new()),
            read => read.with_context(|| format!("{}: cannot be read", path.display()))?,
        };
        let mut cards: Sources = serde_json::from_slice(&bytes)
            .with_context(|| format!("{}: the file is damaged", path.display()))?;
        // Files of earlier versions have no checksum.
        if let Some(expected) = cards.remove(CHECKSUM) {
            ensure!(
                checksum(&cards) == expected,
                "{}: its checksum is wrong: the file is damaged",
                path.display()
            );
        }
        Ok(cards)
    }

    /// Whether this process may yet have to take over a run that another one was at: it has no results, and its owner was
    /// not seen to renew its lease.
    pub fn may_be_left(&self, id: &str) -> bool {
        let is_renewed = || {
            let holder = Holder::of(&self.folder(id));
            holder.is_some_and(|holder| holder.hold == Hold::Alive)
        };
        !self.done_since(id) && !is_renewed()
    }

    /// Time in which an owner that is at work renews its lease.
    ///
    /// # Errors
    /// When `TOTUNE_LEASE` is no number of seconds.
    pub fn renewal(&self) -> Result<Duration> {
        lease::renewal()
    }

    /// The owner at work on a run, such as `process 17 on node-3, slurm 1234_7`.
    pub fn owner(&self, id: &str) -> Option<String> {
        let holder = Holder::of(&self.folder(id))?;
        (holder.hold != Hold::Free).then(|| holder.owner.describe())
    }

    /// Phases of the wall time of a run; `None` where no single process did all of it.
    pub fn phases(&self, id: &str) -> Option<Phases> {
        Phases::read(&self.folder(id))
    }

    /// The rows of a finished run.
    pub fn tables(&self, id: &str) -> Result<Tables> {
        let folder = self.folder(id);
        let published = publication::published(&folder)?;
        let tables = Tables::read(published.as_ref().unwrap_or(&folder))?;
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
        let Some(claim) = self.claim_folder(id, Lease::wait)? else {
            return Ok(false);
        };
        // Another process may have done it in the meantime.
        if let Some((State::Done, _)) = self.ended(id) {
            return Ok(false);
        }
        let spec = tables.runs[0].spec.clone() + "\n";
        write_atomically(&claim.folder.join(SPEC), spec.as_bytes())?;
        claim.finish(tables)
    }

    /// Takes a run's folder for this process; `None` when another process holds it.
    pub(crate) fn claim(&self, spec: &RunSpec) -> Result<Option<Claim>> {
        self.claim_folder(&spec.id(), Lease::take)
    }

    fn claim_folder(
        &self,
        id: &str,
        take: impl FnOnce(&Path) -> Result<Option<Lease>>,
    ) -> Result<Option<Claim>> {
        self.refuse_newer(id)?;
        let folder = self.folder(id);
        create_folder(&folder)?;
        let Some(lease) = take(&folder)? else {
            return Ok(None);
        };
        let round = publication::last_round(&folder)? + 1;
        Ok(Some(Claim {
            folder,
            lease,
            round,
        }))
    }
}

/// The checkpoints in a run folder.
pub(crate) fn checkpoints_in(folder: &Path) -> Versions {
    Versions::new(folder, "checkpoint")
}

impl Claim {
    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether nobody has taken the run over since.
    pub fn is_ours(&self) -> Result<bool> {
        self.lease.is_ours()
    }

    /// Clears the files of an earlier owner, except its log, checkpoints, leases and results, and writes `spec.json` and
    /// the facts from the `cards`.
    pub fn begin(&self, spec: &RunSpec, cards: &Sources) -> Result<()> {
        let entries = std::fs::read_dir(&self.folder)
            .with_context(|| format!("{}: cannot list", self.folder.display()))?;
        let paths: Vec<PathBuf> = entries
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .collect();
        // Nobody else's lease or result is touched: an owner that was stopped and continues may still be using it.
        let kept = [LEASES, ATTEMPTS, RESULTS, LOG];
        for path in paths {
            let is_checkpoint = checkpoints_in(&self.folder).number(&path).is_some();
            if kept.iter().any(|kept| path.ends_with(kept)) || is_table(&path) || is_checkpoint {
                continue;
            }
            match std::fs::remove_file(&path) {
                // An owner that was stopped and continues may be quicker.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                removed => removed.with_context(|| format!("{}: cannot remove", path.display()))?,
            }
        }
        let mut cards = cards.clone();
        cards.insert(CHECKSUM.to_string(), checksum(&cards));
        let json = serde_json::to_string_pretty(&cards)? + "\n";
        write_atomically(&self.folder.join(CARDS), json.as_bytes())?;
        let json = spec.canonical_json() + "\n";
        write_atomically(&self.folder.join(SPEC), json.as_bytes())
    }

    /// SHA-256 of the facts from the cards that the run began with.
    pub fn cards_hash(&self) -> Result<String> {
        let path = self.folder.join(CARDS);
        let bytes = std::fs::read(&path);
        Ok(sha256_hex(&bytes.with_context(|| {
            format!("{}: cannot be read", path.display())
        })?))
    }

    /// Publishes the rows; false if another process has taken the run over, whose rows count then. A run that is done
    /// needs its checkpoints no more; one that failed may be rerun from them.
    pub fn finish(&self, tables: &Tables) -> Result<bool> {
        let is_published =
            self.is_ours()? && publication::publish(&self.folder, self.round, tables)?;
        let run = &tables.runs[0];
        if is_published && state_of(&run.status, &run.error).0 == State::Done {
            // Its results are there; what cannot be removed takes room and does no harm.
            let _ = checkpoints_in(&self.folder).remove_all();
        }
        Ok(is_published)
    }
}

/// SHA-256 of the facts from the cards.
fn checksum(cards: &Sources) -> String {
    sha256_hex(&serde_json::to_vec(cards).expect("plain data"))
}

/// Whether a file is a table that an earlier version published, which counts until there is another one.
fn is_table(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "parquet")
}

fn state_of_ended(ended: &Result<Arc<EndedRun>>) -> (State, String) {
    match ended {
        Ok(run) => state_of(&run.status, &run.error),
        Err(error) => (
            State::Interrupted,
            format!("its results cannot be read: {error:#}"),
        ),
    }
}

fn state_of(status: &str, error: &str) -> (State, String) {
    match status {
        "ok" => (State::Done, "finished".to_string()),
        "diverged" => (State::Done, format!("diverged: {error}")),
        status => (State::Failed, format!("{status}: {error}")),
    }
}

/// Hashes of what a run has read, and what the `cards` said then; without those that were not recorded.
fn read_by(row: &RunRow, cards: Sources) -> Sources {
    let mut read = cards;
    for (key, hash) in [
        (DATASET, &row.dataset_hash),
        (WEIGHTS, &row.checkpoint_hash),
        (TOKENIZER, &row.tokenizer_hash),
    ] {
        read.insert(key.to_string(), hash.clone());
    }
    read.retain(|_, was| !was.is_empty());
    read
}
