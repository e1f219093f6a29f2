//! Hashes of file contents, kept as long as neither the files nor the program change, so that a plan reads no large
//! file twice.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use totune_data::sha256_hex;
use totune_disk::write_atomically;

/// Hashes by files and hash method; written to a file on drop.
pub(crate) struct HashCache {
    /// `None` without a cache.
    file: Option<PathBuf>,
    kept: RefCell<StoredHashes>,
    is_new: Cell<bool>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct StoredHashes {
    /// The program: another one may read files differently.
    program: String,
    hashes: BTreeMap<String, String>,
    /// SHA-256 of the hashes: a changed one would make finished runs look stale.
    sha256: String,
}

impl StoredHashes {
    fn checksum(&self) -> String {
        sha256_hex(&serde_json::to_vec(&self.hashes).expect("plain data"))
    }
}

impl HashCache {
    /// Reads the hashes kept in the folder `cache`.
    pub fn open(cache: Option<&Path>) -> Self {
        let file = cache.map(|folder| folder.join("hashes.json"));
        let program = std::env::current_exe().map(|path| stamp(&path));
        let program = program.unwrap_or_default();
        let kept = || -> Option<StoredHashes> {
            let bytes = fs::read(file.as_ref()?).ok()?;
            serde_json::from_slice(&bytes).ok()
        };
        let is_usable =
            |kept: &StoredHashes| kept.program == program && kept.checksum() == kept.sha256;
        let kept = kept().filter(is_usable);
        Self {
            kept: RefCell::new(kept.unwrap_or(StoredHashes {
                program,
                ..StoredHashes::default()
            })),
            file,
            is_new: Cell::new(false),
        }
    }

    /// Hash that `read` returns for `files`, taken as `how` says; not computed again as long as the files are
    /// unchanged.
    pub fn hash(
        &self,
        how: &str,
        files: &[PathBuf],
        read: impl FnOnce() -> Result<String>,
    ) -> Result<String> {
        let stamps: Vec<String> = files.iter().map(|path| stamp(path)).collect();
        let key = sha256_hex(format!("{how}\n{}", stamps.join("\n")).as_bytes());
        if let Some(hash) = self.kept.borrow().hashes.get(&key) {
            return Ok(hash.clone());
        }
        let hash = read()?;
        let mut kept = self.kept.borrow_mut();
        kept.hashes.insert(key, hash.clone());
        self.is_new.set(true);
        Ok(hash)
    }
}

impl Drop for HashCache {
    fn drop(&mut self) {
        let Some(file) = self.file.as_ref().filter(|_| self.is_new.get()) else {
            return;
        };
        let mut kept = self.kept.borrow_mut();
        kept.sha256 = kept.checksum();
        // Without it the files are read again; that is no reason to fail.
        let folder = file.parent().map(fs::create_dir_all);
        if let (Some(Ok(())), Ok(json)) = (folder, serde_json::to_vec(&*kept)) {
            let _ = write_atomically(file, &json);
        }
    }
}

/// A file's path, size and time of change; only the path where it is not there.
fn stamp(path: &Path) -> String {
    let meta = fs::metadata(path).ok();
    let changed = meta.as_ref().and_then(|meta| meta.modified().ok());
    let changed = changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    format!(
        "{} {:?} {:?}",
        path.display(),
        meta.map(|meta| meta.len()),
        changed.map(|time| time.as_nanos())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_again_only_when_it_has_changed() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("data.csv");
        fs::write(&file, "a").expect("written");
        let cache = folder.path().join("cache");
        let reads = Cell::new(0);
        let hash = |how: &str| {
            let read = || {
                reads.set(reads.get() + 1);
                Ok(fs::read_to_string(&file)?)
            };
            let hashes = HashCache::open(Some(&cache));
            hashes
                .hash(how, std::slice::from_ref(&file), read)
                .expect("a hash")
        };
        assert_eq!(
            (hash("x"), hash("x"), reads.get()),
            ("a".into(), "a".into(), 1)
        );
        assert_eq!((hash("y"), reads.get()), ("a".into(), 2));
        fs::write(&file, "bc").expect("written");
        assert_eq!((hash("x"), reads.get()), ("bc".into(), 3));
        // A changed hash would make finished runs look stale.
        let kept = cache.join("hashes.json");
        let text = fs::read_to_string(&kept).expect("hashes");
        fs::write(&kept, text.replace("\"bc\"", "\"cc\"")).expect("damaged");
        assert_eq!((hash("x"), reads.get()), ("bc".into(), 4));
    }
}
