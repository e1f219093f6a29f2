//! Folders: made with those above them, and filled before they appear.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::name::{temporary, unique_name};

/// Creates a folder with those above it that are missing, each of which has its name on the disk when this returns:
/// a file that is synchronised in a folder whose own name is lost in a power failure is lost with it.
///
/// # Errors
/// Names the folder that cannot be created or synchronised.
pub fn create_folder(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let above = folder_of(path);
    if above != path {
        create_folder(above)?;
    }
    match fs::create_dir(path) {
        // Another process may have been quicker.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
        created => created.with_context(|| format!("{}: cannot be created", path.display()))?,
    }
    sync_folder(above)
}

/// Puts the names in a folder on the disk.
///
/// # Errors
/// When the file system refuses, with the folder's name.
pub fn sync_folder(folder: &Path) -> Result<()> {
    synchronise(folder).with_context(|| format!("{}: could not be synchronised", folder.display()))
}

/// Checks that files can be made in the folder `path`, which may not exist yet.
///
/// # Errors
/// When it cannot be made or written.
pub fn check_writable(path: &Path) -> Result<()> {
    let nearest = path.ancestors().find(|folder| folder.exists());
    let nearest = nearest.unwrap_or(Path::new("."));
    ensure!(
        nearest.is_dir(),
        "{}: is a file, expected a folder",
        nearest.display()
    );
    let probe = nearest.join(format!(".{}.tmp", unique_name()));
    let tried = fs::create_dir(&probe).and_then(|()| fs::remove_dir(&probe));
    tried.with_context(|| format!("{}: cannot be written", path.display()))
}

/// The folder that a path lies in.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) => Path::new("."),
        None => path,
    }
}

#[cfg(unix)]
fn synchronise(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Does nothing: a folder cannot be opened as a file here, so the rename has to suffice.
#[cfg(not(unix))]
fn synchronise(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// Puts a folder on the disk with all that is in it.
fn synchronise_all(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            synchronise_all(&path)?;
        } else {
            File::open(&path)?.sync_all()?;
        }
    }
    synchronise(folder)
}

/// A folder that is being filled under a temporary name next to its own.
///
/// Dropped before [`PendingFolder::publish`], it is removed with all that is in it.
#[derive(Debug)]
pub struct PendingFolder {
    temporary: PathBuf,
    path: PathBuf,
    published: bool,
}

impl PendingFolder {
    /// An empty folder for `path`; folders above it are created.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn create(path: &Path) -> Result<Self> {
        let temporary = temporary(path)?;
        create_folder(&temporary).with_context(|| format!("{}: cannot be made", path.display()))?;
        Ok(Self {
            temporary,
            path: path.to_owned(),
            published: false,
        })
    }

    /// The folder, until it is published.
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Puts its files on the disk and gives it its name, which nothing or an empty folder has.
    ///
    /// # Errors
    /// When the disk refuses, or something is at its place.
    pub fn publish(mut self) -> Result<()> {
        let shown = || format!("{}: could not be put in place", self.path.display());
        synchronise_all(&self.temporary).with_context(shown)?;
        if cfg!(windows) && self.path.is_dir() {
            // Elsewhere a rename replaces an empty folder.
            fs::remove_dir(&self.path).with_context(shown)?;
        }
        fs::rename(&self.temporary, &self.path).with_context(shown)?;
        self.published = true;
        sync_folder(folder_of(&self.path))
    }
}

impl Drop for PendingFolder {
    fn drop(&mut self) {
        if !self.published {
            // The error that led here is the one worth telling.
            let _ = fs::remove_dir_all(&self.temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_created_with_those_above_it_and_only_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/c");
        create_folder(&path).unwrap();
        create_folder(&path).unwrap();
        assert!(path.is_dir());
        fs::write(folder.path().join("file"), "").unwrap();
        let error = create_folder(&folder.path().join("file/d")).unwrap_err();
        assert!(error.to_string().contains("file"), "{error}");
    }

    #[test]
    fn a_place_below_a_file_is_refused_and_a_new_one_leaves_no_trace() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("data.csv");
        fs::write(&file, "text,label\n").unwrap();
        let refused = check_writable(&file.join("model")).unwrap_err();
        let expected = "data.csv: is a file, expected a folder";
        assert!(refused.to_string().ends_with(expected), "{refused}");
        check_writable(&folder.path().join("new/model")).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_folder_that_takes_no_files_is_refused() {
        let refused = check_writable(Path::new("/proc/model")).unwrap_err();
        assert_eq!(refused.to_string(), "/proc/model: cannot be written");
    }

    #[test]
    fn a_filled_folder_takes_an_empty_place_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        let fill = || {
            let pending = PendingFolder::create(&path).unwrap();
            fs::write(pending.temporary().join("weights"), "new").unwrap();
            pending
        };
        drop(fill());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        fs::create_dir(&path).unwrap();
        fill().publish().unwrap();
        let error = fill().publish().unwrap_err();
        assert!(
            error
                .to_string()
                .contains("model: could not be put in place"),
            "{error}"
        );
        assert_eq!(fs::read_to_string(path.join("weights")).unwrap(), "new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
