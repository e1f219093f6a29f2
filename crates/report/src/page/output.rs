//! A folder that appears whole: written next to its place, then swapped in.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use totune_disk::{create_folder, sync_folder, unique_name};

use crate::tables::rendered::RenderedTable;

/// A folder under construction. Dropped before [`Staged::publish`], it is removed.
#[derive(Debug)]
pub(crate) struct Staged {
    target: PathBuf,
    temporary: PathBuf,
    files: Vec<PathBuf>,
}

impl Staged {
    /// An empty folder that will take the place of `target`.
    pub(crate) fn new(target: &Path) -> Result<Self> {
        let name = target
            .file_name()
            .context("a report folder has a name")?
            .to_string_lossy();
        let temporary = target.with_file_name(format!(".{name}.{}.tmp", unique_name()));
        let staged = Self {
            target: target.to_owned(),
            temporary,
            files: vec![],
        };
        create_folder(&staged.temporary)?;
        Ok(staged)
    }

    /// Writes a file at a path relative to the folder.
    pub(crate) fn write(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        self.write_with(name, |path| Ok(fs::write(path, bytes)?))
    }

    /// Writes a table as Markdown, LaTeX and CSV.
    pub(crate) fn write_table(&mut self, table: &RenderedTable) -> Result<()> {
        let file = |ending: &str| format!("tables/{}.{ending}", table.heading.id);
        self.write(&file("md"), table.markdown().as_bytes())?;
        self.write(&file("tex"), table.latex().as_bytes())?;
        self.write(&file("csv"), table.csv.text().as_bytes())
    }

    /// Has `write` put a file at a path relative to the folder.
    pub(crate) fn write_with(
        &mut self,
        name: &str,
        write: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<()> {
        let path = self.temporary.join(name);
        let context = || format!("{}: could not be written", self.target.join(name).display());
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(context)?;
        }
        write(&path).with_context(context)?;
        fs::File::open(&path)
            .and_then(|file| file.sync_all())
            .with_context(context)?;
        self.files.push(self.target.join(name));
        Ok(())
    }

    /// Puts the folder in its place and returns its files; what was there before is gone.
    pub(crate) fn publish(mut self) -> Result<Vec<PathBuf>> {
        let old = self.temporary.with_extension("old");
        remove(&old)?;
        let had_old = self.target.exists();
        let context = || format!("{}: could not be put in place", self.target.display());
        if had_old {
            fs::rename(&self.target, &old).with_context(context)?;
        }
        if let Err(error) = fs::rename(&self.temporary, &self.target) {
            if had_old {
                // Back to how it was; the first error is the one to report.
                let _ = fs::rename(&old, &self.target);
            }
            return Err(error).with_context(context);
        }
        if let Some(folder) = self.target.parent() {
            sync_folder(folder)?;
        }
        remove(&old)?;
        Ok(std::mem::take(&mut self.files))
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // After `publish` there is nothing here to remove.
        let _ = remove(&self.temporary);
    }
}

fn remove(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)
            .with_context(|| format!("{}: could not be removed", folder.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_folder_replaces_the_old_one_whole() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("small");
        fs::create_dir(&target).unwrap();
        fs::write(target.join("old.txt"), "old").unwrap();
        let mut staged = Staged::new(&target).unwrap();
        staged.write("tables/new.txt", b"new").unwrap();
        assert!(target.join("old.txt").exists());
        let files = staged.publish().unwrap();
        assert_eq!(files, [target.join("tables/new.txt")]);
        assert!(!target.join("old.txt").exists());
        check_only(root.path(), "small");
    }

    #[test]
    fn an_unfinished_folder_leaves_no_trace() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("small");
        fs::create_dir(&target).unwrap();
        let mut staged = Staged::new(&target).unwrap();
        staged.write("a.txt", b"a").unwrap();
        drop(staged);
        assert!(!target.join("a.txt").exists());
        check_only(root.path(), "small");
    }

    #[track_caller]
    fn check_only(folder: &Path, name: &str) {
        let found: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(found, [name]);
    }
}
