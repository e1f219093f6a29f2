//! Parquet: columns of text, numbers and booleans.

use super::parquet_types::{readable, told};
use super::{FormatError, Table, Unit, parquet_lists, select};
use ::parquet::basic::{ConvertedType, LogicalType};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::DataType;
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader, RowGroupReader};
use ::parquet::file::serialized_reader::SerializedFileReader;
use ::parquet::schema::types::Type;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Settings of parquet; nothing to choose yet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parquet {}

/// Rows decoded at a time, so that a false row count in the file costs no memory.
const ROWS: usize = 4096;

impl Parquet {
    /// Numbers are written as shortly as they read back; booleans are `true` and `false`, and no value is an empty
    /// field. Lists of strings and integers are JSON where `is_list` accepts the column. Other nested columns are left out
    /// where no columns are named.
    pub(super) fn read(
        &self,
        path: &Path,
        bytes: &[u8],
        asked: Wanted,
    ) -> Result<Table<'static>, FormatError> {
        let error = |(row, problem)| FormatError {
            path: path.to_path_buf(),
            unit: Unit::Row,
            line: row,
            problem,
        };
        // The decoder trusts some of what a broken file says and then panics.
        let table = catch_unwind(AssertUnwindSafe(|| read(path, bytes, asked)));
        let broken = || (1, "the file is broken; expected parquet".to_string());
        table.unwrap_or_else(|_| Err(broken())).map_err(error)
    }
}

/// The wanted columns, or all of them, and whether a column may be one of lists.
type Wanted<'a> = (Option<&'a [&'a str]>, &'a dyn Fn(&str) -> bool);

fn read(
    path: &Path,
    bytes: &[u8],
    (wanted, is_list): Wanted,
) -> Result<Table<'static>, (usize, String)> {
    let broken = |problem: ParquetError| (1, told(&problem));
    let file = SerializedFileReader::new(Bytes::copy_from_slice(bytes)).map_err(broken)?;
    let schema = file.metadata().file_metadata().schema_descr();
    let top = schema.root_schema().get_fields();
    let names: Vec<&str> = top.iter().map(|field| field.name()).collect();
    let kept = select(&names, wanted).map_err(|problem| (1, problem))?;
    let (mut columns, mut lists, mut unread) = (Vec::new(), Vec::new(), Vec::new());
    for field in kept.into_iter().map(|place| &top[place]) {
        let name = field.name().to_string();
        match (leaf(schema.columns(), field), wanted) {
            (Some(leaf), _) => columns.push((name, leaf)),
            _ if is_list(&name) && parquet_lists::is_list(schema.columns(), field) => {
                lists.push(name);
            }
            (None, None) => unread.push(name),
            (None, Some(_)) => {
                let problem = format!(
                    "column `{name}` is nested or of a type that is not text; expected text, whole numbers, floats or booleans"
                );
                return Err((1, problem));
            }
        }
    }
    let (mut names_of_lists, mut of_lists) = (Vec::new(), Vec::new());
    for name in lists {
        match (parquet_lists::as_json(&file, &name), wanted) {
            (Ok(fields), _) => {
                names_of_lists.push(name);
                of_lists.push(fields.into_iter());
            }
            // Such as one with nulls in its lists.
            (Err(_), None) => unread.push(name),
            (Err(problem), Some(_)) => return Err(problem),
        }
    }
    let names = columns.iter().map(|(name, _)| name).chain(&names_of_lists);
    let mut table = Table::new(path, Unit::Row, names.cloned().collect());
    table.leave_unread(unread);
    let n_columns = columns.len() + names_of_lists.len();
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group).map_err(broken)?;
        let start = table.n_rows() + 1;
        let mut fields = Vec::with_capacity(columns.len());
        for (name, leaf) in &columns {
            let decoded = decode(group.as_ref(), *leaf)
                .map_err(|(row, problem)| (start + row, format!("column `{name}`: {problem}")))?;
            fields.push(decoded.into_iter());
        }
        let rows = fields.first().map_or(0, |column| column.len());
        let rows = if fields.is_empty() {
            of_lists.first().map_or(0, |column| column.len())
        } else {
            rows
        };
        for row in 0..rows {
            let scalars = fields.iter_mut().filter_map(Iterator::next);
            let lists = of_lists.iter_mut().filter_map(Iterator::next);
            let row_fields: Vec<_> = scalars.chain(lists).collect();
            if row_fields.len() != n_columns {
                let problem = "columns of different lengths; expected one length";
                return Err((start + row, problem.into()));
            }
            table.push(start + row, row_fields);
        }
    }
    Ok(table)
}

/// The column of values of a field that is not nested, if it can be text.
fn leaf(columns: &[::parquet::schema::types::ColumnDescPtr], field: &Type) -> Option<usize> {
    let mut found = columns
        .iter()
        .enumerate()
        .filter(|(_, column)| column.path().parts()[0] == field.name());
    let (leaf, column) = found.next()?;
    let flat = field.is_primitive() && column.max_rep_level() == 0 && found.next().is_none();
    (flat && readable(column)).then_some(leaf)
}

type Fields = Vec<Cow<'static, str>>;

/// The fields of a column of a row group; an error has the row within the group, counted from zero.
fn decode(group: &dyn RowGroupReader, leaf: usize) -> Result<Fields, (usize, String)> {
    let column = group.metadata().column(leaf).column_descr_ptr();
    let unsigned = match column.logical_type_ref() {
        Some(LogicalType::Integer(kind)) => !kind.is_signed,
        _ => matches!(
            column.converted_type(),
            ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
                | ConvertedType::UINT_64
        ),
    };
    let optional = column.max_def_level() > 0;
    let broken = |problem: ParquetError| (0, told(&problem));
    match group.get_column_reader(leaf).map_err(broken)? {
        ColumnReader::BoolColumnReader(reader) => fields(reader, optional, |value| {
            Ok(Cow::Borrowed(if *value { "true" } else { "false" }))
        }),
        ColumnReader::Int32ColumnReader(reader) if unsigned => {
            fields(reader, optional, |value| owned(&value.cast_unsigned()))
        }
        ColumnReader::Int32ColumnReader(reader) => fields(reader, optional, owned),
        ColumnReader::Int64ColumnReader(reader) if unsigned => {
            fields(reader, optional, |value| owned(&value.cast_unsigned()))
        }
        ColumnReader::Int64ColumnReader(reader) => fields(reader, optional, owned),
        ColumnReader::FloatColumnReader(reader) => fields(reader, optional, owned),
        ColumnReader::DoubleColumnReader(reader) => fields(reader, optional, owned),
        ColumnReader::ByteArrayColumnReader(reader) => fields(reader, optional, |value| {
            match std::str::from_utf8(value.data()) {
                Ok(text) => owned(text),
                Err(error) => {
                    let byte = value.data()[error.valid_up_to()];
                    Err(format!(
                        "byte 0x{byte:02x} is not UTF-8; expected UTF-8 text"
                    ))
                }
            }
        }),
        ColumnReader::Int96ColumnReader(_) | ColumnReader::FixedLenByteArrayColumnReader(_) => {
            Err((0, "a type that is not text; expected text".into()))
        }
    }
}

fn owned<T: ToString + ?Sized>(value: &T) -> Result<Cow<'static, str>, String> {
    Ok(Cow::Owned(value.to_string()))
}

fn fields<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    optional: bool,
    field: impl Fn(&T::T) -> Result<Cow<'static, str>, String>,
) -> Result<Fields, (usize, String)> {
    let mut fields = Fields::new();
    let mut values = Vec::new();
    let mut present = Vec::new();
    loop {
        values.clear();
        present.clear();
        let levels = optional.then_some(&mut present);
        let (rows, ..) = reader
            .read_records(ROWS, levels, None, &mut values)
            .map_err(|problem| (fields.len(), told(&problem)))?;
        if rows == 0 {
            return Ok(fields);
        }
        let mut next = values.iter();
        for row in 0..rows {
            let there = !optional || present.get(row).is_some_and(|&level| level > 0);
            let value = there.then(|| next.next()).flatten();
            let field = value.map_or(Ok(Cow::Borrowed("")), &field);
            fields.push(field.map_err(|problem| (fields.len(), problem))?);
        }
    }
}
