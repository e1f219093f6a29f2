//! A file of cached activations while they are being computed.

use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::activations::Shape;
use super::format::{Front, TRAILER, read_trailer, trailer};

/// An unfinished file of cached activations, open for the next batch.
///
/// Each batch is appended whole, with its checksum, and one of which only a part was written is cut off: what a process
/// computed before it was killed is still there.
pub(super) struct UnfinishedFile {
    path: PathBuf,
    file: File,
    batches: usize,
    /// Seconds it took to compute them.
    seconds: f64,
}

impl UnfinishedFile {
    /// Opens the file at `path` after the last whole batch of `shape` in it, or begins it.
    pub fn open(path: PathBuf, shape: &Shape) -> Result<Self> {
        fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        let mut options = File::options();
        let options = options.read(true).write(true).create(true).truncate(false);
        let file = options.open(&path)?;
        // Where a file system knows no locks, a caller's lease keeps others away.
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            bail!("another process is writing it");
        }
        let mut unfinished = Self {
            path,
            file,
            batches: 0,
            seconds: 0.0,
        };
        let front = Front::write(shape)?;
        let mut end = front.len() as u64;
        if unfinished.begins_with(&front) {
            end += unfinished.read_batches(shape);
        } else {
            unfinished.file.rewind()?;
            unfinished.file.write_all(&front)?;
        }
        unfinished.file.set_len(end)?;
        unfinished.file.seek(SeekFrom::Start(end))?;
        Ok(unfinished)
    }

    fn begins_with(&mut self, front: &[u8]) -> bool {
        let mut found = vec![0; front.len()];
        self.file.read_exact(&mut found).is_ok() && found == front
    }

    /// Reads the whole batches after the front, and returns how many bytes they take.
    fn read_batches(&mut self, shape: &Shape) -> u64 {
        let mut bytes = 0;
        for batch in &shape.batches {
            let mut section = vec![0; shape.bytes_of_batch(batch) + TRAILER];
            if self.file.read_exact(&mut section).is_err() {
                break;
            }
            let Some(seconds) = read_trailer(&section) else {
                break;
            };
            bytes += section.len() as u64;
            self.batches += 1;
            self.seconds = seconds;
        }
        bytes
    }

    /// Number of batches in the file.
    pub fn batches(&self) -> usize {
        self.batches
    }

    /// Appends the next batch, which took `seconds` to compute. Where that fails the file is removed: it may be what fills
    /// the disk.
    pub fn append(&mut self, batch: &[u8], seconds: f64) -> Result<()> {
        self.seconds += seconds;
        let trailer = trailer(batch, self.seconds);
        let written = self.file.write_all(batch);
        written
            .and_then(|()| self.file.write_all(&trailer))
            .inspect_err(|_| {
                // The error of the write matters more.
                let _ = fs::remove_file(&self.path);
            })?;
        Ok(())
    }

    /// Gives the file, which is whole, its name.
    pub fn publish(self, to: &Path) -> Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, to)
            .with_context(|| format!("cannot be renamed from {}", self.path.display()))
    }
}
