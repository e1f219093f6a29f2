//! Files that appear whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, ensure};

/// Writes `bytes` to `path` so that a reader sees the old file or the new one, and nothing between.
///
/// The bytes go to a temporary file next to `path`, which is synchronised, read back and compared, then renamed; the
/// folder is synchronised last. When anything fails, the old file is as it was and the temporary file is gone. The
/// folder must exist.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    Pending::write(path, bytes)?.publish()
}

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

/// The folder that a path lies in.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) => Path::new("."),
        None => path,
    }
}

/// A name of letters, digits and dashes that no other call returns, in this process or in another one that shares the
/// file system: pids recur, on other machines and in every container.
pub fn unique_name() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    static PROCESS: LazyLock<u64> = LazyLock::new(|| {
        let mut hasher = RandomState::new().build_hasher();
        // The keys of RandomState come from the system's randomness; the rest is for systems that have none.
        hasher.write_u32(process::id());
        hasher.finish()
    });
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    format!("{:016x}-{number}", *PROCESS)
}

/// A file written and verified under a temporary name, not yet visible under its own.
///
/// Dropped before [`Pending::publish`], it removes its temporary file.
#[derive(Debug)]
pub(crate) struct Pending {
    temporary: PathBuf,
    path: PathBuf,
    published: bool,
}

impl Pending {
    /// Writes, synchronises and verifies the temporary file.
    pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<Self> {
        Self::write_with(path, bytes, |file, bytes| file.write_all(bytes))
    }

    /// Like [`Pending::write`], with the act of writing passed in, so that a test can fill the disk.
    fn write_with(
        path: &Path,
        bytes: &[u8],
        put: impl FnOnce(&mut File, &[u8]) -> io::Result<()>,
    ) -> Result<Self> {
        let mut file = Unverified::create(path)?;
        file.put(|file| put(file, bytes))?;
        file.verify(|file| holds(file, bytes))
    }

    /// The file, until it is published.
    pub(crate) fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// The name it is to have.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file its name, and makes the name last.
    pub(crate) fn publish(mut self) -> Result<()> {
        fs::rename(&self.temporary, &self.path)
            .with_context(|| format!("{}: could not be put in place", self.path.display()))?;
        self.published = true;
        sync_folder(folder_of(&self.path))
    }
}

/// A file under a temporary name that is being written.
///
/// Dropped, it removes the file.
pub(crate) struct Unverified {
    file: File,
    pending: Pending,
}

impl Unverified {
    /// An empty file for `path`, in the same folder.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let name = path
            .file_name()
            .with_context(|| {
                format!(
                    "{}: expected a path that ends in a file name",
                    path.display()
                )
            })?
            .to_string_lossy();
        let temporary = path.with_file_name(format!(".{name}.{}.tmp", unique_name()));
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&temporary)
            .with_context(|| format!("{}: could not be written", path.display()))?;
        let pending = Pending {
            temporary,
            path: path.to_owned(),
            published: false,
        };
        Ok(Self { file, pending })
    }

    /// Writes at its end.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.put(|file| file.write_all(bytes))
    }

    fn put(&mut self, act: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
        act(&mut self.file).with_context(|| unwritten(&self.pending))
    }

    /// Synchronises the file, and has it compared with what was written.
    pub(crate) fn verify(
        self,
        is_same: impl FnOnce(&mut File) -> io::Result<bool>,
    ) -> Result<Pending> {
        let Self { file, pending } = self;
        file.sync_all().with_context(|| unwritten(&pending))?;
        drop(file);
        let same = File::open(&pending.temporary)
            .and_then(|mut file| is_same(&mut file))
            .with_context(|| format!("{}: could not be read back", pending.path.display()))?;
        ensure!(
            same,
            "{}: read back bytes that differ from those written; what was there before is untouched",
            pending.path.display()
        );
        Ok(pending)
    }
}

fn unwritten(pending: &Pending) -> String {
    format!(
        "{}: could not be written; what was there before is untouched",
        pending.path.display()
    )
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.published {
            // The error that led here is the one worth telling.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Returns true if a file has exactly these bytes, without reading all of it at once.
fn holds(file: &mut File, bytes: &[u8]) -> io::Result<bool> {
    let mut found = vec![0; 1 << 20];
    for expected in bytes.chunks(found.len()) {
        let found = &mut found[..expected.len()];
        match file.read_exact(found) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            read => read?,
        }
        if found != expected {
            return Ok(false);
        }
    }
    Ok(file.read(&mut [0])? == 0)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_appears_with_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        write_atomically(&folder.path().join("a.txt"), b"new").unwrap();
        check_folder(folder.path(), &[("a.txt", "new")]);
    }

    #[test]
    fn an_old_file_is_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        fs::write(&path, "something older and longer").unwrap();
        write_atomically(&path, b"new").unwrap();
        check_folder(folder.path(), &[("a.txt", "new")]);
    }

    #[test]
    fn a_disk_that_fills_up_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        fs::write(&path, "old").unwrap();
        let error = Pending::write_with(&path, b"new bytes", |file, bytes| {
            file.write_all(&bytes[..4])?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        })
        .unwrap_err();
        let message = format!("{error:#}");
        assert!(message.contains("a.txt"), "{message}");
        assert!(message.contains("no storage space"), "{message}");
        check_folder(folder.path(), &[("a.txt", "old")]);
    }

    #[test]
    fn a_write_that_the_disk_garbles_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        fs::write(&path, "old").unwrap();
        let error =
            Pending::write_with(&path, b"new", |file, _| file.write_all(b"nex")).unwrap_err();
        assert!(error.to_string().contains("differ"), "{error}");
        check_folder(folder.path(), &[("a.txt", "old")]);
    }

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
    fn a_missing_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = write_atomically(&folder.path().join("absent/a.txt"), b"new").unwrap_err();
        assert!(error.to_string().contains("absent/a.txt"), "{error}");
    }

    #[track_caller]
    fn check_folder(folder: &Path, expected: &[(&str, &str)]) {
        let mut found: Vec<(String, String)> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| {
                (
                    entry.file_name().into_string().unwrap(),
                    fs::read_to_string(entry.path()).unwrap(),
                )
            })
            .collect();
        found.sort();
        let expected: Vec<_> = expected
            .iter()
            .map(|(name, text)| (name.to_string(), text.to_string()))
            .collect();
        assert_eq!(found, expected);
    }
}
