//! One table as a parquet file, and back.

use std::any::Any;
use std::fs::File;
use std::io::{Cursor, Write};
use std::marker::PhantomData;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use polars::frame::DataFrame;
use polars::io::mmap::MmapBytesReader;
use polars::io::parquet::write::BatchedWriter;
use polars::prelude::{
    Column, KeyValueMetadata, ParallelStrategy, ParquetCompression, ParquetReader, ParquetWriter,
    SerReader, StatisticsOptions,
};

use crate::atomic::Pending;
use crate::cell::{ColumnSpec, Row};
use crate::checksum;
use crate::trouble::NewerVersion;

/// Version of the columns and their meaning, kept in every file; a change of either raises it. Files of earlier
/// versions are read; columns that they lack are unknown.
///
/// Version 2 added `cpu_seconds` and `load_average` to runs, and the table of timings;
/// version 3 `batches` to these, version 4 a `peak_memory` that no row has today, version 5
/// `tensor_memory` in its place.
pub const SCHEMA_VERSION: u32 = 5;

/// Bytes that open and close a parquet file.
const MAGIC: &[u8] = b"PAR1";
const TABLE_KEY: &str = "totune.table";
const VERSION_KEY: &str = "totune.schema-version";
const ABOUT_KEY: &str = "totune.about";
const TOGETHER_KEY: &str = "totune.written-with";

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
    file: &Pending,
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

/// Checks the magic numbers at both ends and that the footer fits between them.
fn check_ends(bytes: &[u8]) -> Result<()> {
    let smallest = 2 * MAGIC.len() + 4;
    ensure!(
        bytes.len() >= smallest,
        "found {} bytes, expected at least {smallest}",
        bytes.len()
    );
    ensure!(
        bytes.starts_with(MAGIC),
        "found no `PAR1` at its start; is it another kind of file?"
    );
    ensure!(
        bytes.ends_with(MAGIC),
        "found no `PAR1` at its end; it was cut short after {} bytes",
        bytes.len()
    );
    let length = &bytes[bytes.len() - MAGIC.len() - 4..bytes.len() - MAGIC.len()];
    let footer = u32::from_le_bytes(length.try_into().expect("four bytes")) as usize;
    ensure!(
        footer + smallest <= bytes.len(),
        "found a footer of {footer} bytes in a file of {}; it was cut short or damaged",
        bytes.len()
    );
    Ok(())
}

/// Facts about a table from the end of its file.
struct Metadata {
    version: u32,
    /// Checksums of the tables that were written together with it.
    together: Option<String>,
    /// Rows of each group.
    groups: Vec<usize>,
}

/// Reads what the end of a file says, and checks that it is this table, in a version that this program knows.
fn metadata<R: Row>(reader: &mut ParquetReader<impl MmapBytesReader>) -> Result<Metadata> {
    let metadata = reader.get_metadata()?;
    let pairs = metadata.key_value_metadata().as_deref().unwrap_or_default();
    let value = |key: &str| {
        let pair = pairs.iter().find(|pair| pair.key == key);
        pair.and_then(|pair| pair.value.as_deref())
    };
    let Some(written) = value(VERSION_KEY) else {
        bail!(
            "found no key `{VERSION_KEY}`, expected `{SCHEMA_VERSION}`; was it written by another program?"
        );
    };
    let known = written.parse().ok();
    let known = known.filter(|version| (1..=SCHEMA_VERSION).contains(version));
    let version = known.ok_or_else(|| NewerVersion {
        found: written.to_string(),
        known: SCHEMA_VERSION,
    })?;
    let table = value(TABLE_KEY).unwrap_or_default();
    ensure!(
        table == R::TABLE,
        "found the table `{table}`, expected `{}`",
        R::TABLE
    );
    Ok(Metadata {
        version,
        together: value(TOGETHER_KEY).map(str::to_owned),
        groups: metadata
            .row_groups
            .iter()
            .map(|group| group.num_rows())
            .collect(),
    })
}

/// The rows of a frame of a schema version.
fn rows<R: Row>(mut frame: DataFrame, version: u32) -> Result<Vec<R>> {
    if let Some((gone, _)) = R::GONE.filter(|(_, of)| *of == version) {
        frame = frame.drop(gone)?;
    }
    check_columns::<R>(&frame, version)?;
    for column in R::schema()
        .into_iter()
        .filter(|column| column.since > version)
    {
        let rows = frame.height();
        frame.with_column(Column::full_null(column.name.into(), rows, &column.dtype))?;
    }
    Ok(R::from_frame(&frame)?)
}

/// Checks that the columns are those of the schema version, by name and type, with empty cells only where they may be.
fn check_columns<R: Row>(frame: &DataFrame, version: u32) -> Result<()> {
    let mut expected = R::schema();
    expected.retain(|column| column.since <= version);
    for ColumnSpec {
        name,
        dtype,
        nullable,
        ..
    } in &expected
    {
        let Ok(column) = frame.column(name) else {
            let found: Vec<&str> = frame
                .columns()
                .iter()
                .map(|column| column.name().as_str())
                .collect();
            bail!(
                "found no column `{name}`, expected one of type {dtype}; its columns are: {}",
                found.join(", ")
            );
        };
        ensure!(
            column.dtype() == dtype,
            "column `{name}`: found type {}, expected {dtype}",
            column.dtype()
        );
        ensure!(
            *nullable || column.null_count() == 0,
            "column `{name}`: found {} empty cells, expected none",
            column.null_count()
        );
    }
    if let Some(extra) = frame.columns().iter().find(|column| {
        expected
            .iter()
            .all(|known| known.name != column.name().as_str())
    }) {
        bail!(
            "found a column `{}` that schema version {version} does not have",
            extra.name()
        );
    }
    Ok(())
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("the decoder gave no reason")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::EvalRow;
    use crate::rows::tests::eval;
    use sha2::{Digest, Sha256};

    /// The rows as the bytes of a table.
    pub(crate) fn encode<R: Row>(rows: &[R]) -> Vec<u8> {
        let frame = R::to_frame(rows).unwrap();
        encode_frame(frame, R::TABLE, "", SCHEMA_VERSION, None).unwrap()
    }

    fn encode_frame(
        frame: DataFrame,
        table: &str,
        about: &str,
        version: u32,
        more: Option<(&str, &str)>,
    ) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let writer = frame_writer(&mut bytes, table, about, version, more);
        let mut writer = writer.batched(frame.schema())?;
        writer.write_batch(&frame)?;
        writer.finish()?;
        drop(writer);
        let digits = checksum::hex(Sha256::new_with_prefix(&bytes));
        checksum::seal(&mut bytes, &digits)?;
        Ok(bytes)
    }

    #[test]
    fn a_file_from_a_later_version_says_so() {
        check_refusal(
            |frame| encode_frame(frame, "evals", "", SCHEMA_VERSION + 1, None),
            &format!(
                "found schema version `{}`, expected at most `{SCHEMA_VERSION}`: a newer totune wrote it",
                SCHEMA_VERSION + 1
            ),
        );
    }

    #[test]
    fn a_parquet_file_of_another_program_says_so() {
        check_refusal(
            |mut frame| {
                let mut bytes = Vec::new();
                ParquetWriter::new(&mut bytes).finish(&mut frame)?;
                Ok(bytes)
            },
            "found no key `totune.schema-version`",
        );
    }

    #[test]
    fn another_table_is_not_taken_for_this_one() {
        check_refusal(
            |frame| encode_frame(frame, "runs", "", 1, None),
            "found the table `runs`, expected `evals`",
        );
    }

    #[test]
    fn a_missing_column_is_named() {
        check_refusal(
            |frame| encode_frame(frame.drop("metric")?, "evals", "", 1, None),
            "found no column `metric`, expected one of type str",
        );
    }

    #[test]
    fn a_column_of_another_type_is_named() {
        check_refusal(
            |mut frame| {
                frame.with_column(Column::new("step".into(), vec![1.5f64]))?;
                encode_frame(frame, "evals", "", 1, None)
            },
            "column `step`: found type f64, expected u64",
        );
    }

    #[test]
    fn an_empty_cell_is_named() {
        check_refusal(
            |mut frame| {
                frame.with_column(Column::new("value".into(), vec![None::<f64>]))?;
                encode_frame(frame, "evals", "", 1, None)
            },
            "column `value`: found 1 empty cells",
        );
    }

    #[test]
    fn a_column_too_many_is_named() {
        check_refusal(
            |mut frame| {
                frame.with_column(Column::new("mood".into(), vec![1u32]))?;
                encode_frame(frame, "evals", "", 1, None)
            },
            "found a column `mood`",
        );
    }

    #[test]
    fn columns_that_came_later_are_those_that_may_be_empty() {
        fn check<R: Row>() {
            for column in R::schema() {
                assert!(column.since == 1 || column.nullable, "{column:?}");
                assert!(column.since <= SCHEMA_VERSION, "{column:?}");
            }
        }
        check::<crate::RunRow>();
        check::<EvalRow>();
        check::<crate::TimingRow>();
    }

    #[test]
    fn what_a_file_of_version_1_lacks_is_unknown_and_no_zero() {
        let row = crate::RunRow {
            cpu_seconds: Some(1.0),
            load_average: Some(2.0),
            ..crate::rows::tests::run()
        };
        let written = |version, drop: &[&str]| {
            let frame = crate::RunRow::to_frame(std::slice::from_ref(&row)).unwrap();
            let frame = frame.drop_many(drop.iter().copied());
            let bytes = encode_frame(frame, "runs", "", version, None).unwrap();
            decode::<crate::RunRow>(bytes, Path::new("runs.parquet"))
        };
        assert_eq!(written(2, &[]).unwrap(), std::slice::from_ref(&row));
        let later = ["cpu_seconds", "load_average"];
        let unknown = crate::RunRow {
            cpu_seconds: None,
            load_average: None,
            ..row.clone()
        };
        let read = written(1, &later).unwrap();
        assert_eq!(read, std::slice::from_ref(&unknown));
        assert_eq!(read[0].cpu_share(), None);
        // Written again it is of this version, and as unknown as before.
        let again: Vec<crate::RunRow> = decode(encode(&read), Path::new("runs.parquet")).unwrap();
        assert_eq!(again, [unknown]);
        for (version, drop, reason) in [
            (2, &later[..], "found no column `cpu_seconds`"),
            (
                1,
                &[],
                "found a column `cpu_seconds` that schema version 1 does not have",
            ),
        ] {
            let error = written(version, drop).unwrap_err();
            assert!(format!("{error:#}").contains(reason), "{error:#}");
        }
    }

    #[test]
    fn the_peak_memory_of_timings_of_version_4_is_not_read() {
        let written = |version, gone: &str| {
            let mut frame = crate::TimingRow::to_frame(&[]).unwrap();
            frame.rename("tensor_memory", gone.into()).unwrap();
            let bytes = encode_frame(frame, "timing", "", version, None).unwrap();
            decode::<crate::TimingRow>(bytes, Path::new("timing.parquet"))
        };
        assert_eq!(written(4, "peak_memory").unwrap(), []);
        for (version, gone) in [(4, "other"), (5, "peak_memory")] {
            assert!(written(version, gone).is_err(), "{version}, {gone}");
        }
    }

    #[test]
    fn text_is_not_taken_for_parquet() {
        let error = decode::<EvalRow>(
            b"run_id,metric\n1,accuracy\n".to_vec(),
            Path::new("evals.parquet"),
        )
        .unwrap_err();
        assert!(
            format!("{error:#}").contains("found no `PAR1` at its start"),
            "{error:#}"
        );
    }

    /// Writes one faulty row and checks that reading refuses it with the file's name and `reason`.
    #[track_caller]
    fn check_refusal(write: impl FnOnce(DataFrame) -> Result<Vec<u8>>, reason: &str) {
        let bytes = write(EvalRow::to_frame(&[eval()]).unwrap()).unwrap();
        let error = decode::<EvalRow>(bytes, Path::new("some/evals.parquet")).unwrap_err();
        let message = format!("{error:#}");
        assert!(message.contains("some/evals.parquet"), "{message}");
        assert!(message.contains(reason), "{message}");
    }
}
