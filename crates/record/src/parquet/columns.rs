//! The columns of a table in a version of the schema.

use anyhow::{Result, bail, ensure};
use polars::frame::DataFrame;
use polars::prelude::Column;

use crate::cell::{ColumnSpec, Row};

/// The rows of a frame of a schema version.
pub(super) fn rows<R: Row>(mut frame: DataFrame, version: u32) -> Result<Vec<R>> {
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
