//! A table that is written in groups of rows, so that it never has to be in memory as a whole.

use std::io::{self, Write};
use std::mem;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, ensure};
use polars::io::parquet::write::BatchedWriter;
use sha2::{Digest, Sha256};
use totune_disk::{PendingFile, UnverifiedFile};

use crate::cell::Row;
use crate::checksum;
use crate::parquet::{self, decode_groups};

/// A table under a temporary name, to which rows are added. The same rows give the same bytes, however they are divided
/// among the calls of [`Growing::add`].
///
/// Dropped before [`Growing::finish`], it removes its temporary file.
pub(crate) struct Growing<R: Row> {
    file: UnverifiedFile,
    /// Begins with the first group, whose length decides on the compression.
    writer: Option<BatchedWriter<Encoded>>,
    checksums: Option<String>,
    /// Bytes that the writer has encoded and the file does not have yet.
    encoded: Encoded,
    /// Rows that do not fill a group yet.
    waiting: Vec<R>,
    /// SHA-256 of the file so far: in the end its checksum, since the digits are zeros until then.
    bytes: Sha256,
    /// SHA-256 of the rows so far.
    rows: Sha256,
    /// Bytes in the file.
    length: u64,
}

impl<R: Row> Growing<R> {
    /// An empty table for `path`, whose metadata have the `checksums` of tables that are written together with it.
    pub(crate) fn begin(path: &Path, checksums: Option<&str>) -> Result<Self> {
        Ok(Self {
            file: UnverifiedFile::create(path)?,
            writer: None,
            checksums: checksums.map(str::to_string),
            encoded: Encoded::default(),
            waiting: Vec::new(),
            bytes: Sha256::new(),
            rows: Sha256::new(),
            length: 0,
        })
    }

    /// Adds rows after those that are there.
    pub(crate) fn add(&mut self, rows: Vec<R>) -> Result<()> {
        if self.waiting.is_empty() {
            self.waiting = rows;
        } else {
            self.waiting.extend(rows);
        }
        while self.waiting.len() >= R::GROUP {
            let rest = self.waiting.split_off(R::GROUP);
            let group = mem::replace(&mut self.waiting, rest);
            self.write_group(&group)?;
        }
        Ok(())
    }

    /// Writes the end of the file, and makes sure that the disk has it and that it reads back as the same rows. Returns
    /// the file, for its place, and its checksum.
    pub(crate) fn finish(mut self) -> Result<(PendingFile, String)> {
        let rest = mem::take(&mut self.waiting);
        if !rest.is_empty() {
            self.write_group(&rest)?;
        }
        drop(rest);
        let ended = self.writer(0)?.finish();
        ended.with_context(|| format!("{} table: could not be encoded", R::TABLE))?;
        let mut end = self.encoded.take();
        self.bytes.update(&end);
        let digits = checksum::hex(self.bytes);
        let at = checksum::seal(&mut end, &digits)
            .with_context(|| format!("{} table: its checksum could not be written", R::TABLE))?;
        let at = self.length + at as u64;
        self.file.write(&end)?;
        let pending = self
            .file
            .verify(|file| checksum::is_of(file, at, &digits))?;

        let mut rows = Sha256::new();
        decode_groups(&pending, |group: Vec<R>| digest(&mut rows, &group))?;
        ensure!(
            rows.finalize() == self.rows.finalize(),
            "{}: rows changed on their way through parquet",
            pending.path().display()
        );
        Ok((pending, digits))
    }

    /// The writer; one that begins with a group of so many rows.
    fn writer(&mut self, rows: usize) -> Result<&mut BatchedWriter<Encoded>> {
        if self.writer.is_none() {
            let (to, checksums) = (self.encoded.clone(), self.checksums.as_deref());
            self.writer = Some(parquet::writer::<R, _>(to, checksums, rows)?);
        }
        self.writer.as_mut().context("it has begun")
    }

    fn write_group(&mut self, group: &[R]) -> Result<()> {
        digest(&mut self.rows, group)?;
        let frame = R::to_frame(group);
        let frame = frame.with_context(|| format!("{} table: could not be built", R::TABLE))?;
        self.writer(group.len())?
            .write_batch(&frame)
            .with_context(|| format!("{} table: could not be encoded", R::TABLE))?;
        let bytes = self.encoded.take();
        self.bytes.update(&bytes);
        self.length += bytes.len() as u64;
        self.file.write(&bytes)
    }
}

/// Adds rows to a SHA-256 of them. As JSON and not by comparison, since a diverged run's NaN differs from itself.
fn digest<R: Row>(sha: &mut Sha256, rows: &[R]) -> Result<()> {
    let mut json = Vec::new();
    for row in rows {
        json.clear();
        serde_json::to_writer(&mut json, row).with_context(|| format!("{} table", R::TABLE))?;
        sha.update(&json);
    }
    Ok(())
}

/// Bytes in memory that two hold: the writer, and who takes them away for the file.
#[derive(Clone, Default)]
struct Encoded(Arc<Mutex<Vec<u8>>>);

impl Encoded {
    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Vec<u8> {
        mem::take(&mut *self.bytes())
    }
}

impl Write for Encoded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EvalRow;
    use crate::rows::tests::eval;

    /// Checks that rows added in parts of these lengths give the bytes of rows added at once.
    #[track_caller]
    fn check(lengths: &[usize]) {
        let folder = tempfile::tempdir().unwrap();
        let row = |number| EvalRow {
            step: number as u64,
            ..eval()
        };
        let rows: Vec<EvalRow> = (0..lengths.iter().sum()).map(row).collect();
        let written = |name: &str, parts: &[usize]| {
            let path = folder.path().join(name);
            let mut table = Growing::begin(&path, None).unwrap();
            let mut rest = rows.clone();
            for length in parts {
                let later = rest.split_off(*length);
                table.add(mem::replace(&mut rest, later)).unwrap();
            }
            let (pending, checksum) = table.finish().unwrap();
            pending.publish().unwrap();
            (std::fs::read(path).unwrap(), checksum)
        };
        let (whole, parts) = (written("whole", &[rows.len()]), written("parts", lengths));
        assert!(whole == parts);
        assert_eq!(checksum::of(&whole.0), Some(&*whole.1));
        let read = parquet::decode::<EvalRow>(whole.0, Path::new("whole")).unwrap();
        assert!(read == rows);
    }

    #[test]
    fn the_parts_in_which_rows_come_do_not_show() {
        check(&[0]);
        check(&[3, 0, 2]);
        check(&[EvalRow::GROUP - 1, 1]);
        check(&[1, EvalRow::GROUP, 7]);
        check(&[2 * EvalRow::GROUP]);
    }

    #[test]
    fn a_table_that_is_not_finished_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut table = Growing::begin(&folder.path().join("evals.parquet"), None).unwrap();
        table.add(vec![eval()]).unwrap();
        drop(table);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
