//! Facts of runs that have ended, kept in one file, so that a plan of many runs does not read the tables of each.
//!
//! Published results are never changed (`publication.rs`), so what was read of them holds as long as the file of their
//! round is the same. The file with the facts can be deleted at any time.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use totune_data::sha256_hex;
use totune_disk::write_atomically;
use totune_record::RunRow;

use crate::spec::Sources;

/// Keys of the sources that a row names.
pub(crate) const DATASET: &str = "dataset";
pub(crate) const WEIGHTS: &str = "weights";
pub(crate) const TOKENIZER: &str = "tokenizer";

/// Facts of a run that has ended, as far as a plan needs them.
///
/// `sources` has the hashes of its row under these keys, and what the cards said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct EndedRun {
    /// Status of its row.
    pub status: String,
    /// Error of its row.
    pub error: String,
    /// Seconds of training and evaluation.
    pub seconds: f64,
    /// Hashes of what it read, and facts from the cards at that time.
    pub sources: Sources,
}

/// The facts by run id, each with the stamp of the published round that it was read from.
#[derive(Debug)]
pub(crate) struct EndedRuns {
    file: PathBuf,
    known: OnceLock<RwLock<Facts>>,
    is_new: AtomicBool,
}

type Facts = HashMap<String, (String, Arc<EndedRun>)>;

/// First line of the file, before the SHA-256 of the rest; another one when [`EndedRun`] or its meaning changes.
const FORMAT: &str = "totune ended runs 2";

impl EndedRun {
    /// The facts of a row and the `sources` that its cards named.
    pub fn of(row: &RunRow, sources: Sources) -> Self {
        Self {
            status: row.status.clone(),
            error: row.error.clone(),
            seconds: row.train_seconds + row.eval_seconds,
            sources,
        }
    }
}

impl EndedRuns {
    /// The facts kept in `file`, which is read at the first use.
    pub fn new(file: PathBuf) -> Self {
        Self {
            file,
            known: OnceLock::new(),
            is_new: AtomicBool::new(false),
        }
    }

    fn known(&self) -> &RwLock<Facts> {
        self.known.get_or_init(|| {
            // Whatever is wrong with the file: without it the tables are read again.
            let text = fs::read_to_string(&self.file).unwrap_or_default();
            let (head, json) = text.split_once('\n').unwrap_or_default();
            let is_whole = head == self::head(json);
            let known = is_whole.then(|| serde_json::from_str(json).ok()).flatten();
            let known: HashMap<String, (String, EndedRun)> = known.unwrap_or_default();
            let shared = |(id, (stamp, run))| (id, (stamp, Arc::new(run)));
            RwLock::new(known.into_iter().map(shared).collect())
        })
    }

    /// The facts of a run, if those with their stamp are still its facts.
    pub fn get(&self, id: &str, is_still: impl FnOnce(&str) -> bool) -> Option<Arc<EndedRun>> {
        let known = self.known().read().unwrap_or_else(PoisonError::into_inner);
        let (stamp, run) = known.get(id)?;
        is_still(stamp).then(|| Arc::clone(run))
    }

    pub fn insert(&self, id: &str, stamp: String, run: Arc<EndedRun>) {
        let mut known = self.known().write().unwrap_or_else(PoisonError::into_inner);
        known.insert(id.to_string(), (stamp, run));
        self.is_new.store(true, Ordering::Relaxed);
    }

    /// Forgets a run whose tables turn out to be damaged.
    pub fn forget(&self, id: &str) {
        let mut known = self.known().write().unwrap_or_else(PoisonError::into_inner);
        if known.remove(id).is_some() {
            self.is_new.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for EndedRuns {
    fn drop(&mut self) {
        let Some(known) = self.known.get().filter(|_| *self.is_new.get_mut()) else {
            return;
        };
        let runs = known.read().unwrap_or_else(PoisonError::into_inner);
        // Of several processes the last one counts; without the file the tables are read again.
        let plain = runs.iter().map(|(id, (stamp, run))| (id, (stamp, &**run)));
        if let Ok(json) = serde_json::to_string(&plain.collect::<HashMap<_, _>>()) {
            let text = format!("{}\n{json}", head(&json));
            let _ = write_atomically(&self.file, text.as_bytes());
        }
    }
}

/// First line over the facts.
fn head(json: &str) -> String {
    format!("{FORMAT} {}", sha256_hex(json.as_bytes()))
}

/// Identity of a file that is never changed: another file in its place has another one. `None` where there is none.
pub(crate) fn stamp(path: &Path) -> Option<String> {
    let meta = fs::metadata(path).ok()?;
    let modified = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let name = path.file_name()?.to_str()?;
    Some(format!("{name} {} {}", modified.as_nanos(), inode(&meta)))
}

#[cfg(unix)]
fn inode(meta: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    meta.ino()
}

#[cfg(not(unix))]
fn inode(_meta: &fs::Metadata) -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(error: &str) -> Arc<EndedRun> {
        Arc::new(EndedRun {
            status: "ok".to_string(),
            error: error.to_string(),
            seconds: 1.5,
            sources: Sources::from([("dataset".to_string(), "1f".to_string())]),
        })
    }

    #[test]
    fn facts_count_as_long_as_their_round_is_the_same() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let file = folder.path().join("ended");
        let open = || EndedRuns::new(file.clone());
        let (first, round) = (open(), "1 17 4".to_string());
        let is = |of: &'static str| move |stamp: &str| stamp == of;
        assert_eq!(first.get("a", is("1 17 4")), None);
        first.insert("a", round.clone(), run("one"));
        first.insert("b", round.clone(), run("two"));
        drop(first);
        let second = open();
        assert_eq!(second.get("a", is("1 17 4")), Some(run("one")));
        assert_eq!(second.get("a", is("2 18 5")), None, "another round");
        second.forget("a");
        drop(second);
        assert_eq!(open().get("a", is("1 17 4")), None);
        assert_eq!(open().get("b", is("1 17 4")), Some(run("two")));

        let whole = fs::read_to_string(&file).expect("a file");
        for damaged in [&whole[..whole.len() - 1], &whole.replace("1.5", "9.5"), ""] {
            fs::write(&file, damaged).expect("a file");
            assert_eq!(open().get("b", is("1 17 4")), None, "{damaged}");
        }
    }

    #[test]
    fn another_file_in_the_place_has_another_stamp() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let [path, other] = ["1", "other"].map(|name| folder.path().join(name));
        assert_eq!(stamp(&path), None);
        fs::write(&path, "first").expect("a file");
        fs::write(&other, "other").expect("a file");
        let first = stamp(&path);
        assert_eq!(stamp(&path), first);
        fs::rename(&other, &path).expect("in its place");
        assert_ne!(stamp(&path), first);
    }
}
