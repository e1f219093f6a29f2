//! Tables of other versions and programs, and damaged ones.

use super::*;
use polars::frame::DataFrame;
use polars::prelude::Column;

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
