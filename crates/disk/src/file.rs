//! Files that appear whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::folder::{folder_of, sync_folder};
use crate::name::temporary;

/// Writes `bytes` to `path` so that a reader sees the old file or the new one, and nothing between.
///
/// The bytes go to a temporary file next to `path`, which is synchronised, read back and compared, then renamed; the
/// folder is synchronised last. When anything fails, the old file is as it was and the temporary file is gone. The
/// folder must exist.
///
/// # Errors
/// When it cannot be written or read back, or `path` may not be replaced ([`check_replaceable`]).
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    PendingFile::write(path, bytes)?.publish()
}

/// Checks that `path` may be replaced: nothing is there, or a file or folder. A rename would put a file in the place of
/// a device such as `/dev/null`, for all programs of the machine.
///
/// # Errors
/// When a device, a pipe or a socket is there.
pub fn check_replaceable(path: &Path) -> Result<()> {
    let special = fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
    ensure!(
        !special,
        "{}: is a device or a pipe, expected the name of a file",
        path.display()
    );
    Ok(())
}

/// A file written and verified under a temporary name, not yet visible under its own.
///
/// Dropped before [`PendingFile::publish`], it removes its temporary file.
#[derive(Debug)]
pub struct PendingFile {
    temporary: PathBuf,
    path: PathBuf,
    published: bool,
}

impl PendingFile {
    /// Writes, synchronises and verifies the temporary file.
    ///
    /// # Errors
    /// As of [`write_atomically`].
    pub fn write(path: &Path, bytes: &[u8]) -> Result<Self> {
        Self::write_with(path, bytes, |file, bytes| file.write_all(bytes))
    }

    /// Like [`PendingFile::write`], with the act of writing passed in, so that a test can fill the disk.
    fn write_with(
        path: &Path,
        bytes: &[u8],
        put: impl FnOnce(&mut File, &[u8]) -> io::Result<()>,
    ) -> Result<Self> {
        let mut file = UnverifiedFile::create(path)?;
        file.put(|file| put(file, bytes))?;
        file.verify(|file| holds(file, bytes))
    }

    /// The file, until it is published.
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// The name it is to have.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file its name, and makes the name last.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn publish(mut self) -> Result<()> {
        fs::rename(&self.temporary, &self.path)
            .with_context(|| format!("{}: could not be put in place", self.path.display()))?;
        self.published = true;
        sync_folder(folder_of(&self.path))
    }
}

/// A file under a temporary name that is being written.
///
/// Dropped, it removes the file.
pub struct UnverifiedFile {
    file: File,
    pending: PendingFile,
}

impl UnverifiedFile {
    /// An empty file for `path`, in the same folder.
    ///
    /// # Errors
    /// When it cannot be created, or `path` may not be replaced ([`check_replaceable`]).
    pub fn create(path: &Path) -> Result<Self> {
        check_replaceable(path)?;
        let temporary = temporary(path)?;
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&temporary)
            .with_context(|| format!("{}: could not be written", path.display()))?;
        let pending = PendingFile {
            temporary,
            path: path.to_owned(),
            published: false,
        };
        Ok(Self { file, pending })
    }

    /// Writes at its end.
    ///
    /// # Errors
    /// When the disk is full or fails.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.put(|file| file.write_all(bytes))
    }

    fn put(&mut self, act: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
        act(&mut self.file).with_context(|| unwritten(&self.pending))
    }

    /// Synchronises the file, and has it compared with what was written.
    ///
    /// # Errors
    /// When it cannot be synchronised or read, or differs.
    pub fn verify(
        self,
        is_same: impl FnOnce(&mut File) -> io::Result<bool>,
    ) -> Result<PendingFile> {
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

fn unwritten(pending: &PendingFile) -> String {
    format!(
        "{}: could not be written; what was there before is untouched",
        pending.path.display()
    )
}

impl Drop for PendingFile {
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
        let error = PendingFile::write_with(&path, b"new bytes", |file, bytes| {
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
            PendingFile::write_with(&path, b"new", |file, _| file.write_all(b"nex")).unwrap_err();
        assert!(error.to_string().contains("differ"), "{error}");
        check_folder(folder.path(), &[("a.txt", "old")]);
    }

    #[test]
    #[cfg(unix)]
    fn a_pipe_is_never_replaced() {
        use std::os::unix::ffi::OsStrExt as _;
        use std::os::unix::fs::FileTypeExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        let name = std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap();
        // SAFETY: the name ends with a zero byte.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        let error = write_atomically(&path, b"new").unwrap_err();
        assert!(
            error.to_string().contains("pipe: is a device or a pipe"),
            "{error}"
        );
        assert!(fs::metadata(&path).unwrap().file_type().is_fifo());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
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
