//! Sentences in parquet: a column of lists of words and one of lists of tags, as on the Hugging Face Hub.

use super::parquet_types::{readable, told};
use super::{FormatError, Sentence, Sentences, Unit, select};
use crate::columns::Columns;
use ::parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::FileReader;
use ::parquet::file::serialized_reader::SerializedFileReader;
use ::parquet::record::Field;
use ::parquet::schema::types::{ColumnDescPtr, Type};
use bytes::Bytes;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

/// A row, counted from one, and the problem there.
type Problem = (usize, String);

/// The sentences in `bytes`; tags are strings or integers, and are not read where `labelled` is false.
pub(super) fn read(
    path: &Path,
    bytes: &[u8],
    columns: &Columns,
    labelled: bool,
) -> Result<Sentences, FormatError> {
    // The decoder trusts some of what a broken file says and then panics.
    let read = catch_unwind(AssertUnwindSafe(|| sentences(bytes, columns, labelled)));
    let broken = || (1, "the file is broken; expected parquet".to_string());
    let sentences = read.unwrap_or_else(|_| Err(broken()));
    let sentences = sentences.map_err(|(row, problem)| FormatError {
        path: path.to_path_buf(),
        unit: Unit::Row,
        line: row,
        problem,
    })?;
    Ok(Sentences::of_lists(path, Unit::Row, sentences))
}

fn sentences(bytes: &[u8], columns: &Columns, labelled: bool) -> Result<Vec<Sentence>, Problem> {
    let at = |row: usize| move |problem: String| (row, problem);
    let broken = |row| move |problem: ParquetError| (row, told(&problem));
    let file = SerializedFileReader::new(Bytes::copy_from_slice(bytes)).map_err(broken(1))?;
    let words = columns.text.first();
    let label = labelled.then_some(columns.label.first());
    let (id, document) = (columns.id.as_deref(), columns.group.as_deref());
    let wanted = [Some(words), label, id, document].into_iter().flatten();
    let wanted: Vec<&str> = wanted.collect();
    let schema = projection(&file, &wanted).map_err(at(1))?;
    let mut sentences = Vec::new();
    for (number, row) in (1..).zip(file.get_row_iter(Some(schema)).map_err(broken(1))?) {
        let row = row.map_err(broken(number))?;
        let find = |name: &str| {
            let mut fields = row.get_column_iter();
            let found = fields.find(|(column, _)| column.as_str() == name);
            found.map_or(&Field::Null, |(_, field)| field)
        };
        let list = |name: &str| list(name, find(name)).map_err(at(number));
        let field = |name: Option<&str>| -> Result<Option<String>, Problem> {
            let Some(name) = name else {
                return Ok(None);
            };
            if matches!(find(name), Field::Null) {
                return Ok(None);
            }
            let text = scalar(find(name));
            let expected = || {
                (
                    number,
                    format!("`{name}` is neither a string nor an integer; expected one of them"),
                )
            };
            Ok(Some(text.ok_or_else(expected)?).filter(|text| !text.is_empty()))
        };
        let sentence = Sentence {
            line: number,
            id: field(id)?,
            document: field(document)?,
            words: list(words)?,
            tags: label.map(list).transpose()?,
        };
        // Checked for each row, so that a false count of rows does not keep the loop running for ever.
        sentences.push(sentence.checked().map_err(at(number))?);
    }
    Ok(sentences)
}

/// The schema of only the wanted columns, so that the others may be of any type and are not decoded.
fn projection(file: &SerializedFileReader<Bytes>, wanted: &[&str]) -> Result<Type, String> {
    let root = file.metadata().file_metadata().schema_descr();
    let fields = root.root_schema().get_fields();
    let names: Vec<&str> = fields.iter().map(|field| field.name()).collect();
    let mut places = select(&names, Some(wanted))?;
    places.sort_unstable();
    places.dedup();
    let kept = places.into_iter().map(|place| Arc::clone(&fields[place]));
    Type::group_type_builder(root.root_schema().name())
        .with_fields(kept.collect())
        .build()
        .map_err(|problem| problem.to_string())
}

/// Whether a column has lists of strings or integers, and nothing else in them.
pub(super) fn is_list(columns: &[ColumnDescPtr], field: &Type) -> bool {
    let mut found = columns
        .iter()
        .filter(|column| column.path().parts()[0] == field.name());
    let (Some(column), None) = (found.next(), found.next()) else {
        return false;
    };
    let info = field.get_basic_info();
    let is_marked = info.converted_type() == ConvertedType::LIST
        || info.logical_type_ref() == Some(&LogicalType::List);
    // The list, what repeats, and its elements; a struct would be one level more.
    let is_flat = column.path().parts().len() == 3 && column.max_rep_level() == 1;
    let is_text = match column.physical_type() {
        Physical::INT32 | Physical::INT64 => true,
        Physical::BYTE_ARRAY => {
            column.logical_type_ref().is_some() || column.converted_type() == ConvertedType::UTF8
        }
        _ => false,
    };
    is_marked && is_flat && is_text && readable(column)
}

/// The fields of a column of lists, as JSON; no value is an empty field.
pub(super) fn as_json(
    file: &SerializedFileReader<Bytes>,
    name: &str,
) -> Result<Vec<Cow<'static, str>>, Problem> {
    let mut fields = Vec::new();
    let broken = |row| move |problem: ParquetError| (row, told(&problem));
    let schema = projection(file, &[name]).map_err(|problem| (1, problem))?;
    for (number, row) in (1..).zip(file.get_row_iter(Some(schema)).map_err(broken(1))?) {
        let row = row.map_err(broken(number))?;
        let field = match row.get_column_iter().next() {
            None | Some((_, Field::Null)) => String::new(),
            Some((_, field)) => json(name, field).map_err(|problem| (number, problem))?,
        };
        fields.push(Cow::Owned(field));
    }
    Ok(fields)
}

/// A list as JSON: integers as numbers, all else as strings.
fn json(name: &str, field: &Field) -> Result<String, String> {
    let is_text = |field: &Field| matches!(field, Field::Str(_));
    let Field::ListInternal(elements) = field else {
        return Ok(String::new());
    };
    let are_texts = elements.elements().iter().any(is_text);
    let values = list(name, field)?;
    Ok(if are_texts {
        serde_json::Value::from(values).to_string()
    } else {
        format!("[{}]", values.join(","))
    })
}

fn list(name: &str, field: &Field) -> Result<Vec<String>, String> {
    let Field::ListInternal(list) = field else {
        return Err(format!(
            "`{name}` is not a list; expected a list of strings or integers"
        ));
    };
    let one = |element: &Field| {
        scalar(element).ok_or_else(|| {
            format!("`{name}` has something else in its list; expected strings or integers")
        })
    };
    list.elements().iter().map(one).collect()
}

fn scalar(field: &Field) -> Option<String> {
    Some(match field {
        Field::Str(text) => text.clone(),
        Field::Byte(n) => n.to_string(),
        Field::Short(n) => n.to_string(),
        Field::Int(n) => n.to_string(),
        Field::Long(n) => n.to_string(),
        Field::UByte(n) => n.to_string(),
        Field::UShort(n) => n.to_string(),
        Field::UInt(n) => n.to_string(),
        Field::ULong(n) => n.to_string(),
        _ => return None,
    })
}
