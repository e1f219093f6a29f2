//! Parts on disk: one file each, so that an interrupted benchmark resumes, and several processes share its work.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use totune_disk::write_atomically;

use super::job::{Job, JobResult};

/// The folder of a case.
pub(super) struct Store(PathBuf);

/// A job that belongs to this process as long as the lock exists.
pub(super) struct Lock {
    path: PathBuf,
    _file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A process that opened the file before sees under its lock that the job is done.
        let _ = fs::remove_file(&self.path);
    }
}

impl Store {
    /// The folder of a case, which is made where it does not exist.
    pub fn open(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder)
            .with_context(|| format!("{}: cannot be made", folder.display()))?;
        Ok(Self(folder.to_path_buf()))
    }

    /// Returns true if no part is done.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn is_empty(&self) -> Result<bool> {
        let shown = self.0.display();
        let mut entries =
            fs::read_dir(&self.0).with_context(|| format!("{shown}: cannot be read"))?;
        Ok(entries.next().is_none())
    }

    fn file(&self, job: &Job, ending: &str) -> PathBuf {
        let name = job.to_string().replace(' ', "-");
        self.0.join(format!("{name}.{ending}"))
    }

    /// The part of a job, if it is done.
    ///
    /// # Errors
    /// When its file holds something else.
    pub fn part(&self, job: &Job) -> Result<Option<JobResult>> {
        let path = self.file(job, "json");
        if !path.is_file() {
            return Ok(None);
        }
        let shown = path.display();
        let text = fs::read_to_string(&path).with_context(|| format!("{shown}: cannot be read"))?;
        let part = serde_json::from_str(&text).with_context(|| {
            format!("{shown}: found something else, expected a part of `bench regret`; remove it to measure again")
        })?;
        Ok(Some(part))
    }

    /// All parts.
    pub fn parts(&self, jobs: &[Job]) -> Result<Vec<JobResult>> {
        let parts = jobs.iter().map(|job| self.part(job));
        Ok(parts
            .collect::<Result<Vec<_>>>()?
            .into_iter()
            .flatten()
            .collect())
    }

    /// The lock of a job; `None` if it is done, or another process does it.
    pub fn lock(&self, job: &Job) -> Result<Option<Lock>> {
        if self.part(job)?.is_some() {
            return Ok(None);
        }
        let path = self.file(job, "lock");
        let file =
            File::create(&path).with_context(|| format!("{}: cannot be made", path.display()))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("{}: cannot be locked", path.display()));
            }
        }
        let lock = Lock { path, _file: file };
        Ok(self.part(job)?.is_none().then_some(lock))
    }

    /// Stores a part.
    pub fn write(&self, part: &JobResult) -> Result<()> {
        let json = format!("{}\n", serde_json::to_string_pretty(part)?);
        write_atomically(&self.file(&part.job, "json"), json.as_bytes())
    }
}
