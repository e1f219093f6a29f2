//! One table as a parquet file, and back.

use std::any::Any;
use std::fs::File;
use std::io::{Cursor, Write};
use std::marker::PhantomData;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use polars::io::parquet::write::BatchedWriter;
use polars::prelude::{
    KeyValueMetadata, ParallelStrategy, ParquetCompression, ParquetReader, ParquetWriter,
    SerReader, StatisticsOptions,
};
use totune_disk::PendingFile;

use crate::cell::Row;
use crate::checksum;

mod columns;
mod footer;
#[cfg(test)]
pub(crate) mod tests;

use columns::rows;
pub use footer::SCHEMA_VERSION;
use footer::{ABOUT_KEY, Metadata, TABLE_KEY, TOGETHER_KEY, VERSION_KEY, check_ends, metadata};

/// Rows from which on a table is compressed and its columns are read by several threads: both cost more than they save
/// in the tables of a single run, of which a sweep has thousands.
const MANY: usize = 1000;

/// A writer of a table whose metadata leave room for its checksum, and have the `checksums` of tables that are written
/// together with it. Each frame becomes a group of rows, the first one of that length.
pub(crate) fn writer<R: Row, W: Write>(
    to: W,
    checksums: Option<&str>,
    rows: usize,
) -> Result<BatchedWriter<W>> {
    let frame = R::to_frame(&[]).context("an empty table")?;
    let more = checksums.map(|checksums| (TOGETHER_KEY, checksums));
    let writer = frame_writer(to, R::TABLE, R::ABOUT, SCHEMA_VERSION, more);
    let writer = if rows >= MANY {
        writer.with_compression(ParquetCompression::Zstd(None))
    } else {
        writer.set_parallel(false)
    };
    let batched = writer.batched(frame.schema());
    batched.with_context(|| format!("{} table: could not be encoded", R::TABLE))
}

fn frame_writer<W: Write>(
    to: W,
    table: &str,
    about: &str,
    version: u32,
    more: Option<(&str, &str)>,
) -> ParquetWriter<W> {
    let version = version.to_string();
    let metadata = [
        (TABLE_KEY, table),
        (VERSION_KEY, &version),
        (ABOUT_KEY, about),
        (checksum::KEY, checksum::NONE),
    ];
    let metadata = metadata.into_iter().chain(more);
    let metadata: Vec<_> = metadata
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    ParquetWriter::new(to)
        .with_compression(ParquetCompression::Uncompressed)
        .with_statistics(StatisticsOptions::empty())
        .with_key_value_metadata(Some(KeyValueMetadata::from_static(metadata)))
}

/// The rows of a parquet file; `path` is only named in errors.
pub(crate) fn decode<R: Row>(bytes: Vec<u8>, path: &Path) -> Result<Vec<R>> {
    Ok(decode_with(bytes, path)?.0)
}

/// Like [`decode`], with the checksums of the tables that were written together with this one, if it has them.
pub(crate) fn decode_with<R: Row>(bytes: Vec<u8>, path: &Path) -> Result<(Vec<R>, Option<String>)> {
    check(&bytes, path)?;
    let whole = || {
        let mut reader = ParquetReader::new(Cursor::new(bytes)).set_rechunk(true);
        let Metadata {
            version,
            together,
            groups,
        } = metadata::<R>(&mut reader)?;
        if groups.iter().sum::<usize>() < MANY {
            reader = reader.read_parallel(ParallelStrategy::None);
        }
        Ok((rows::<R>(reader.finish()?, version)?, together))
    };
    guarded::<R, _>(path, whole)
}

/// The texts of one `column` of a parquet file.
pub(crate) fn decode_texts<R: Row>(
    bytes: Vec<u8>,
    column: &str,
    path: &Path,
) -> Result<Vec<String>> {
    check(&bytes, path)?;
    guarded::<R, _>(path, || {
        let mut reader = ParquetReader::new(Cursor::new(bytes));
        metadata::<R>(&mut reader)?;
        let frame = reader
            .with_columns(Some(vec![column.to_owned()]))
            .finish()?;
        let texts = frame.column(column)?.str()?;
        Ok(texts.iter().flatten().map(str::to_owned).collect())
    })
}

/// A table of which a group of rows is decoded at a time.
#[derive(Debug)]
pub(crate) struct Grouped<R> {
    bytes: Vec<u8>,
    path: PathBuf,
    version: u32,
    /// Rows of each group.
    groups: Vec<usize>,
    of: PhantomData<R>,
}

impl<R: Row> Grouped<R> {
    /// The table in the bytes of a file; `path` is only named in errors.
    pub(crate) fn open(bytes: Vec<u8>, path: &Path) -> Result<Self> {
        check(&bytes, path)?;
        let found = guarded::<R, _>(path, || {
            metadata::<R>(&mut ParquetReader::new(Cursor::new(&bytes)))
        })?;
        Ok(Self {
            bytes,
            path: path.to_path_buf(),
            version: found.version,
            groups: found.groups,
            of: PhantomData,
        })
    }

    /// The number of groups.
    pub(crate) fn groups(&self) -> usize {
        self.groups.len()
    }

    /// The rows of a group.
    pub(crate) fn rows(&self, group: usize) -> Result<Vec<R>> {
        let (start, length) = (self.groups[..group].iter().sum(), self.groups[group]);
        guarded::<R, _>(&self.path, || {
            let reader = ParquetReader::new(Cursor::new(&self.bytes)).set_rechunk(true);
            let frame = reader.with_slice(Some((start, length))).finish()?;
            rows(frame, self.version)
        })
    }
}

/// Checks that a file is whole and has the bytes that were written; `path` is only named in errors.
fn check(bytes: &[u8], path: &Path) -> Result<()> {
    check_ends(bytes).with_context(|| format!("{}: not a whole parquet file", path.display()))?;
    checksum::check(bytes).with_context(|| path.display().to_string())
}

/// Gives the rows of a file that this process has written to `use_group`, a group at a time.
pub(crate) fn decode_groups<R: Row>(
    file: &PendingFile,
    mut use_group: impl FnMut(Vec<R>) -> Result<()>,
) -> Result<()> {
    let open = || -> Result<_> {
        let file = File::open(file.temporary())?;
        Ok(ParquetReader::new(file).set_rechunk(true))
    };
    guarded::<R, _>(file.path(), || {
        let Metadata {
            version, groups, ..
        } = metadata::<R>(&mut open()?)?;
        let mut start = 0;
        for length in groups {
            let frame = open()?.with_slice(Some((start, length))).finish()?;
            use_group(rows(frame, version)?)?;
            start += length;
        }
        Ok(())
    })
}

/// The result of decoding a table. The decoder is written for files it can trust and may panic on others.
fn guarded<R: Row, T>(path: &Path, decode: impl FnOnce() -> Result<T>) -> Result<T> {
    panic::catch_unwind(AssertUnwindSafe(decode))
        .unwrap_or_else(|panic| Err(anyhow!("damaged: {}", panic_message(&*panic))))
        .with_context(|| {
            format!(
                "{}: could not be read as the {} table",
                path.display(),
                R::TABLE
            )
        })
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("the decoder gave no reason")
}
