//! Numbered versions of a file, of which the newest two are kept.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use totune_disk::write_atomically;

/// Number of versions kept: the newest, and the one before it.
const KEPT: usize = 2;

/// The versions of a file in a folder, named `<stem>-<number>.safetensors`, with eight digits or more.
#[derive(Debug, Clone)]
pub struct Versions {
    folder: PathBuf,
    stem: &'static str,
}

impl Versions {
    /// Versions of the file `stem` in `folder`, which must exist before one is written.
    pub fn new(folder: &Path, stem: &'static str) -> Self {
        Self {
            folder: folder.to_path_buf(),
            stem,
        }
    }

    /// Writes a version, as [`write_atomically`] does, and removes those that are older than the one before it.
    ///
    /// # Errors
    /// When it cannot be written completely, such as on a full disk; earlier versions are kept.
    pub fn write(&self, number: usize, bytes: &[u8]) -> Result<PathBuf> {
        let name = format!("{}-{number:08}.safetensors", self.stem);
        let path = self.folder.join(name);
        write_atomically(&path, bytes)?;
        for (_, old) in self.list()?.iter().rev().skip(KEPT) {
            remove(old)?;
        }
        Ok(path)
    }

    /// Lists numbers and files of all versions, the oldest first.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn list(&self) -> Result<Vec<(usize, PathBuf)>> {
        let shown = self.folder.display();
        let entries =
            fs::read_dir(&self.folder).with_context(|| format!("{shown}: cannot be listed"))?;
        let mut versions = Vec::new();
        for entry in entries {
            let entry = entry.with_context(|| format!("{shown}: cannot be listed"))?;
            let path = entry.path();
            versions.extend(self.number(&path).map(|number| (number, path)));
        }
        versions.sort();
        Ok(versions)
    }

    /// Removes all versions.
    ///
    /// # Errors
    /// When the folder cannot be listed, or a file not be removed.
    pub fn remove_all(&self) -> Result<()> {
        self.list()?.iter().try_for_each(|(_, path)| remove(path))
    }

    /// Number of a version from its path; none for another file.
    pub fn number(&self, path: &Path) -> Option<usize> {
        let name = path.file_name()?.to_str()?;
        let number = name.strip_prefix(self.stem)?.strip_prefix('-')?;
        number.strip_suffix(".safetensors")?.parse().ok()
    }
}

/// Removes a version; another process may have been quicker.
fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed.with_context(|| format!("{}: cannot be removed", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_two_are_kept_by_number_and_other_files_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("step-1.txt"), "not ours").unwrap();
        fs::write(folder.path().join("other-00000001.safetensors"), "nor this").unwrap();
        let versions = Versions::new(folder.path(), "step");
        assert_eq!(versions.list().unwrap(), []);
        for number in [9, 10, 100_000_000] {
            versions.write(number, b"bytes").unwrap();
        }
        let numbers = |versions: &Versions| -> Vec<usize> {
            let list = versions.list().unwrap();
            list.into_iter().map(|(number, _)| number).collect()
        };
        assert_eq!(numbers(&versions), [10, 100_000_000]);
        versions.remove_all().unwrap();
        assert_eq!(numbers(&versions), [0; 0]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
