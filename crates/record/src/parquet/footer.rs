//! The end of a parquet file: the table and the version of the schema that it names, and the groups of its rows.

use anyhow::{Result, bail, ensure};
use polars::io::mmap::MmapBytesReader;
use polars::prelude::ParquetReader;

use crate::cell::Row;
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
pub(super) const TABLE_KEY: &str = "totune.table";
pub(super) const VERSION_KEY: &str = "totune.schema-version";
pub(super) const ABOUT_KEY: &str = "totune.about";
pub(super) const TOGETHER_KEY: &str = "totune.written-with";

/// Checks the magic numbers at both ends and that the footer fits between them.
pub(super) fn check_ends(bytes: &[u8]) -> Result<()> {
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
pub(super) struct Metadata {
    pub(super) version: u32,
    /// Checksums of the tables that were written together with it.
    pub(super) together: Option<String>,
    /// Rows of each group.
    pub(super) groups: Vec<usize>,
}

/// Reads what the end of a file says, and checks that it is this table, in a version that this program knows.
pub(super) fn metadata<R: Row>(
    reader: &mut ParquetReader<impl MmapBytesReader>,
) -> Result<Metadata> {
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
