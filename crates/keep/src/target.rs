//! Destinations of predictions: a stream, or a file that resumes after an interruption and gets its name only when it
//! is complete.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use totune_data::sha256_hex;
use totune_disk::check_replaceable;

use crate::input::Record;
use crate::row_count::RowCount;

/// Destination of predictions.
pub struct Target<'a> {
    to: To<'a>,
    /// Called with the number of existing predictions, once they are known to be those of the same rows.
    resuming: Option<Box<dyn FnOnce(usize) + 'a>>,
}

enum To<'a> {
    Stream(Box<dyn Write + 'a>),
    File(PartialFile),
}

/// An incomplete file: `FILE.part` holds predictions, and `FILE.part.json` says how many of them are valid.
struct PartialFile {
    path: PathBuf,
    file: File,
    /// True if it continues the file of an earlier process.
    resumes: bool,
    /// State that is on disk.
    done: Done,
    /// Hash of the rows that have been read.
    read: String,
}

/// State of an incomplete file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Done {
    /// Hash of everything but the rows that the predictions depend on: model, program, device, columns, layout.
    identity: String,
    /// Number of rows whose predictions are in the file.
    rows: usize,
    /// Hash of these rows.
    read: String,
    /// Number of bytes that hold them.
    bytes: u64,
    /// Rows among them with as many tokens as the model reads.
    #[serde(default)]
    full: RowCount,
}

impl<'a> Target<'a> {
    /// Writes predictions into `stream`.
    pub fn stream(stream: impl Write + 'a) -> Self {
        Self {
            to: To::Stream(Box::new(stream)),
            resuming: None,
        }
    }

    /// Writes predictions into the file `path`, which is called `path.part` until it is complete. An existing part of
    /// an interrupted process is continued, or discarded with `restart`.
    ///
    /// # Errors
    /// When the file cannot be written, or another process is writing it.
    pub fn file(path: &Path, restart: bool) -> Result<Self> {
        let shown = path.display();
        ensure!(
            !path.is_dir(),
            "{shown}: is a folder, expected the name of a file"
        );
        check_replaceable(path)?;
        let part = beside(path, ".part");
        let failed = || format!("{shown}: cannot be written");
        let mut options = OpenOptions::new();
        let file = options.create(true).truncate(false).read(true).write(true);
        let file = file.open(&part).with_context(failed)?;
        // Its former owner may have renamed it.
        let taken = matches!(file.try_lock(), Err(TryLockError::WouldBlock)) || !part.exists();
        ensure!(!taken, "{}: another process is writing it", part.display());
        // A state file without a part, or an incomplete one, is ignored.
        let state = fs::read(beside(path, ".part.json")).ok();
        let done = state.and_then(|state| serde_json::from_slice::<Done>(&state).ok());
        let length = file.metadata().with_context(failed)?.len();
        let done = done.filter(|done| done.bytes <= length);
        ensure!(
            restart || done.is_some() || length == 0,
            "{}: is already there and no part of an interrupted prediction; --restart discards it",
            part.display()
        );
        let done = done.filter(|_| !restart);
        Ok(Self {
            to: To::File(PartialFile {
                path: path.to_path_buf(),
                file,
                resumes: done.is_some(),
                done: done.unwrap_or_default(),
                read: String::new(),
            }),
            resuming: None,
        })
    }

    /// The same target, which calls `note` with the number of existing predictions when it has found that they are those
    /// of the same rows.
    pub fn when_resuming(self, note: impl FnOnce(usize) + 'a) -> Self {
        Self {
            resuming: Some(Box::new(note)),
            ..self
        }
    }

    /// Number of rows already predicted by an interrupted process.
    pub fn resumed(&self) -> usize {
        match &self.to {
            To::File(part) if part.resumes => part.done.rows,
            _ => 0,
        }
    }

    /// The rows among them with as many tokens as the model reads.
    pub(crate) fn full(&self) -> RowCount {
        match &self.to {
            To::File(part) if part.resumes => part.done.full,
            _ => RowCount::default(),
        }
    }

    /// Starts with `head`, or after the existing predictions, which must have the same `identity`.
    pub(crate) fn begin(&mut self, identity: &str, head: &[u8]) -> Result<()> {
        match &mut self.to {
            To::Stream(stream) => Ok(stream.write_all(head).and_then(|()| stream.flush())?),
            To::File(part) if part.resumes => {
                ensure!(
                    part.done.identity == identity,
                    part.of_another("model, other columns or another layout")
                );
                part.cut()
            }
            To::File(part) => {
                part.done = Done {
                    identity: identity.to_string(),
                    ..Done::default()
                };
                part.cut()?;
                part.append((0, RowCount::default()), head)
            }
        }
    }

    /// True if the predictions of these rows, the last of which is number `rows`, exist already.
    pub(crate) fn has(&mut self, rows: usize, records: &[Record]) -> Result<bool> {
        let To::File(part) = &mut self.to else {
            return Ok(false);
        };
        let shown: Vec<_> = records.iter().map(|record| &record.row).collect();
        part.read = sha256_hex(format!("{} {shown:?}", part.read).as_bytes());
        let before = rows - records.len();
        // Windows end at the same rows again, unless the input file ended there and has grown since.
        let same = match part.done.rows {
            done if done == rows => part.read == part.done.read,
            done => done <= before || done > rows,
        };
        ensure!(same, part.of_another("input"));
        if part.resumes
            && rows == part.done.rows
            && let Some(note) = self.resuming.take()
        {
            note(rows);
        }
        Ok(rows <= part.done.rows)
    }

    /// Adds the predictions of the rows up to a number, those of the latest [`Target::has`]; the count is that of full rows
    /// up to there.
    pub(crate) fn write(&mut self, rows: (usize, RowCount), predictions: &[u8]) -> Result<()> {
        match &mut self.to {
            To::Stream(stream) => stream
                .write_all(predictions)
                .and_then(|()| stream.flush())
                .context("predictions: cannot be written"),
            To::File(part) => part.append(rows, predictions),
        }
    }

    /// Renames the complete file with the predictions of `rows` rows.
    pub(crate) fn publish(self, rows: usize) -> Result<()> {
        let To::File(part) = self.to else {
            return Ok(());
        };
        ensure!(part.done.rows == rows, part.of_another("input"));
        let failed = || format!("{}: cannot be written", part.path.display());
        part.file.sync_all().with_context(failed)?;
        fs::rename(beside(&part.path, ".part"), &part.path).with_context(failed)?;
        fs::remove_file(beside(&part.path, ".part.json")).with_context(failed)
    }
}

impl PartialFile {
    /// Truncates the part that was being written when an earlier process ended.
    fn cut(&mut self) -> Result<()> {
        let cut = self.file.set_len(self.done.bytes);
        cut.and_then(|()| self.file.seek(io::SeekFrom::End(0)))
            .with_context(|| format!("{}: cannot be written", self.path.display()))?;
        Ok(())
    }

    /// Writes predictions first, then the state that records them.
    fn append(&mut self, (rows, full): (usize, RowCount), bytes: &[u8]) -> Result<()> {
        (self.done.rows, self.done.full) = (rows, full);
        self.done.read.clone_from(&self.read);
        self.done.bytes += bytes.len() as u64;
        let written = self.file.write_all(bytes);
        let written = written.and_then(|()| self.file.sync_data());
        let (state, new) = (
            beside(&self.path, ".part.json"),
            beside(&self.path, ".part.new"),
        );
        let text = serde_json::to_vec_pretty(&self.done)?;
        written
            .and_then(|()| fs::write(&new, text))
            .and_then(|()| fs::rename(&new, &state))
            .with_context(|| format!("{}: cannot be written", self.path.display()))
    }

    fn of_another(&self, what: &str) -> String {
        let part = beside(&self.path, ".part");
        format!(
            "{}: has predictions of an interrupted process, of another {what}; --restart discards them",
            part.display()
        )
    }
}

/// The path with a suffix added to its name.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(end);
    PathBuf::from(name)
}
