//! Putting files into place: whole or not at all.

use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::error::{Error, Kind, Result};

/// Makes the folder at `path` and those above it.
pub fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|error| Error::disk(path, "made", &error))
}

/// Moves the finished file `from` to `to`, replacing what is there.
///
/// The bytes reach the disk before the name does. Where the two are on different file systems, a copy next to `to` is
/// made first, so that `to` still appears whole.
pub fn publish(from: &Path, to: &Path) -> Result<()> {
    let folder = to.parent().unwrap_or(Path::new("."));
    make_folder(folder)?;
    sync(from)?;
    match fs::rename(from, to) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            copy(from, to)?;
            remove(from);
        }
        Err(error) => return Err(Error::disk(to, "put into place", &error)),
    }
    sync_folder(folder);
    Ok(())
}

/// Copies `from` to `to`, which appears whole or not at all.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    let folder = to.parent().unwrap_or(Path::new("."));
    make_folder(folder)?;
    let beside = temporary(to);
    // Bytes alone: with the permissions of a file that is for reading, this one could not be brought to the disk.
    let bytes = || {
        let mut file = File::create_new(&beside)?;
        io::copy(&mut File::open(from)?, &mut file)?;
        file.sync_all()
    };
    let whole = bytes()
        .map_err(|error| Error::disk(to, "written", &error))
        .and_then(|()| {
            fs::rename(&beside, to).map_err(|error| Error::disk(to, "put into place", &error))
        });
    if whole.is_err() {
        remove(&beside);
    }
    sync_folder(folder);
    whole
}

/// Writes a small file, which appears whole or not at all.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    make_folder(path.parent().unwrap_or(Path::new(".")))?;
    let beside = temporary(path);
    let put = || {
        let mut file = File::create_new(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    put().map_err(|error| {
        remove(&beside);
        Error::disk(path, "written", &error)
    })
}

/// Makes `link` a symbolic link to `target`, relative to the link's folder, replacing what is there.
///
/// # Errors
/// Also where the file system knows no symbolic links.
#[cfg(unix)]
pub fn link(target: &Path, link: &Path) -> Result<()> {
    make_folder(link.parent().unwrap_or(Path::new(".")))?;
    let beside = temporary(link);
    let made = std::os::unix::fs::symlink(target, &beside).and_then(|()| fs::rename(&beside, link));
    made.map_err(|error| {
        remove(&beside);
        Error::disk(link, "linked", &error)
    })
}

/// Symbolic links need a privilege on Windows; the Hub's cache then holds plain files.
#[cfg(not(unix))]
pub fn link(_target: &Path, link: &Path) -> Result<()> {
    let error = io::Error::from(io::ErrorKind::Unsupported);
    Err(Error::disk(link, "linked", &error))
}

/// Removes a file of our own; that it cannot be removed is no reason to fail.
pub fn remove(path: &Path) {
    let _ = fs::remove_file(path);
}

/// An error if the file system of `folder` has less than `bytes` free.
pub fn check_space(folder: &Path, bytes: u64) -> Result<()> {
    #[cfg(unix)]
    if let Ok(found) = rustix::fs::statvfs(folder) {
        let free = found.f_bavail.saturating_mul(found.f_frsize);
        if free < bytes {
            return Err(Error::new(
                Kind::DiskFull,
                format!(
                    "{}: {bytes} bytes are needed and {free} are free",
                    folder.display()
                ),
            ));
        }
    }
    Ok(())
}

fn sync(path: &Path) -> Result<()> {
    // Linux and Windows disagree on what a handle must be open for; for writing serves both.
    let file = File::options().write(true).open(path);
    file.and_then(|file| file.sync_all())
        .map_err(|error| Error::disk(path, "written to disk", &error))
}

/// Brings a new name to the disk, where folders can be synchronised.
fn sync_folder(folder: &Path) {
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

/// A name next to `path` that no other process and no other thread uses; pids recur, on other machines and in every
/// container, so it is drawn at random too.
fn temporary(path: &Path) -> PathBuf {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    let own = hasher.finish();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{own:016x}.tmp"))
}
