//! Cached activations of frozen layers, shared by all runs and processes that agree on their dependencies.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use anyhow::{Context, Result};
use serde::Serialize;
use totune_adapt::{Activations, CacheFile, EntryLayer, FrozenPass, InputEncoding, StoredDtype};
use totune_data::sha256_hex;
use totune_model::{Architecture, Encoder};

use crate::store::lease::Lease;

/// Everything that cached activations depend on.
#[derive(Debug, Serialize)]
pub(crate) struct Key<'a> {
    pub checkpoint: &'a str,
    /// The network: all with random weights have the same checkpoint, and a corrected card another network.
    pub architecture: &'a Architecture,
    pub tokenizer: &'a str,
    pub dataset: &'a str,
    /// Hash over the indices of the rows whose activations are cached.
    pub rows: String,
    /// The name in the hash is that of files that were written earlier.
    #[serde(rename = "reading")]
    pub encoding: &'a InputEncoding,
    /// Dtype of the computation.
    pub computed: &'static str,
    pub start: EntryLayer,
    pub dtype: StoredDtype,
    /// The text of a pair, where each is encoded by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<&'static str>,
}

/// The folder with cached activations, and how many bytes it may hold.
#[derive(Debug)]
pub(crate) struct ActivationStore {
    folder: PathBuf,
    budget: u64,
    /// Activations in use, the latest last.
    open: Mutex<Vec<(String, Arc<Activations>)>>,
}

impl ActivationStore {
    pub fn new(folder: PathBuf, budget: u64) -> Self {
        Self {
            folder,
            budget,
            open: Mutex::default(),
        }
    }

    /// Returns the activations cached under `key`, or else those that `pass` computes; `None` where they would exceed the
    /// budget.
    ///
    /// If several processes need them at once, one computes, under a lease, and the others wait.
    ///
    /// The least recently used files are deleted to make room. One that another process still reads stays with it,
    /// since it is mapped.
    pub fn get<E: Encoder>(
        &self,
        key: &Key,
        pass: &FrozenPass<E>,
    ) -> Result<Option<Arc<Activations>>> {
        let size = pass.n_bytes() as u64;
        if size > self.budget {
            return Ok(None);
        }
        let name = serde_json::to_string(key).expect("a key is plain data");
        let name = sha256_hex(name.as_bytes())[..32].to_string();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = open.iter().position(|(other, _)| *other == name) {
            let found = open.remove(at);
            open.push(found.clone());
            return Ok(Some(found.1));
        }
        let mut in_use: u64 = open.iter().map(|(_, kept)| kept.n_bytes() as u64).sum();
        while in_use + size > self.budget && !open.is_empty() {
            in_use -= open.remove(0).1.n_bytes() as u64;
        }
        let path = self.folder.join(format!("{name}.states"));
        let owned = self.folder.join(format!("{name}.owner"));
        // Where the folder cannot be written to, nothing is shared, and each process computes for itself.
        let _lease = Lease::take_unless(&owned, || path.exists()).unwrap_or_default();
        let file = CacheFile::new(&self.folder, &name);
        if !path.exists() {
            let _ = make_room(&self.folder, self.budget - size, &file.unfinished());
        }
        let kept = Arc::new(file.get(pass)?);
        // Least recently used files are deleted first; one without a date of today is only deleted sooner.
        let _ = fs::File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        open.push((name, kept.clone()));
        Ok(Some(kept))
    }
}

/// Removes the oldest files of cached activations in `folder` until they take at most `budget` bytes. Those that a
/// process left unfinished count too, except for the one at `needed`, which is about to be finished, and those that another
/// process is writing.
fn make_room(folder: &Path, budget: u64, needed: &Path) -> Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let extension = path.extension();
        if path != needed
            && !is_written(&path)
            && extension.is_some_and(|extension| extension == "states" || extension == "part")
        {
            let about = entry.metadata();
            let about =
                about.with_context(|| format!("{}: cannot be looked at", path.display()))?;
            files.push((about.modified().ok(), about.len(), path));
        }
    }
    files.sort();
    let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
    for (_, size, path) in files {
        if total <= budget {
            break;
        }
        fs::remove_file(&path).with_context(|| format!("{}: cannot be removed", path.display()))?;
        total -= size;
    }
    Ok(())
}

/// Whether a process has locked an unfinished file, as its writer does.
fn is_written(path: &Path) -> bool {
    let file = fs::File::open(path);
    path.extension()
        .is_some_and(|extension| extension == "part")
        && file.is_ok_and(|file| matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_states_make_room() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (age, name) in [
            (3, "a.states"),
            (1, "b.part"),
            (2, "c.states"),
            (9, "d.lock"),
            (9, "e.part"),
        ] {
            let path = folder.path().join(name);
            fs::write(&path, [0; 100]).expect("a file");
            let then = SystemTime::now() - std::time::Duration::from_secs(age);
            let file = fs::File::options()
                .write(true)
                .open(&path)
                .expect("the file");
            file.set_modified(then).expect("a date");
        }
        let left = |budget| {
            make_room(folder.path(), budget, &folder.path().join("e.part")).expect("room");
            let mut names: Vec<String> = fs::read_dir(folder.path())
                .expect("the folder")
                .map(|entry| {
                    entry
                        .expect("an entry")
                        .file_name()
                        .into_string()
                        .expect("UTF-8")
                })
                .collect();
            names.sort();
            names.join(" ")
        };
        assert_eq!(left(300), "a.states b.part c.states d.lock e.part");
        assert_eq!(left(250), "b.part c.states d.lock e.part");
        assert_eq!(left(100), "b.part d.lock e.part");
        let writer = fs::File::open(folder.path().join("b.part")).expect("the file");
        writer.try_lock().expect("nobody else");
        assert_eq!(left(0), "b.part d.lock e.part");
        drop(writer);
        assert_eq!(left(0), "d.lock e.part");
    }
}
