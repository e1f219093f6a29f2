//! Comma-separated values: header line, quoted fields that may hold commas, line breaks and doubled quotes.

use super::quotes::record_lines;
use super::{FormatError, Row, Table, text};
use crate::near::quoted;
use std::path::Path;

pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Table, FormatError> {
    let error = |line, problem| FormatError {
        path: path.to_path_buf(),
        line,
        problem,
    };
    let text = text(path, bytes)?;
    let lines = record_lines(text).map_err(|(line, problem)| error(line, problem))?;
    let mut reader = ::csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(text.as_bytes());
    let mut rows = reader
        .records()
        .zip(&lines)
        .map(|(record, &line)| match record {
            Ok(record) => Ok(Row {
                line,
                fields: record.iter().map(String::from).collect(),
            }),
            Err(problem) => Err(error(line, problem.to_string())),
        });
    let header = match rows.next() {
        Some(header) => header?,
        None => return Err(error(1, "the file is empty; expected a header line".into())),
    };
    let rows = rows.collect::<Result<Vec<Row>, FormatError>>()?;
    if let Some(row) = rows
        .iter()
        .find(|row| row.fields.len() != header.fields.len())
    {
        let (found, expected) = (row.fields.len(), header.fields.len());
        let names = quoted(header.fields.iter().map(String::as_str));
        return Err(error(
            row.line,
            format!("{found} fields; expected {expected}: {names}"),
        ));
    }
    Ok(Table {
        path: path.to_path_buf(),
        header,
        rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(bytes: &str, expected: &[(usize, &[&str])]) {
        let table = read(Path::new("t.csv"), bytes.as_bytes()).expect("a readable file");
        assert_eq!(table.header.fields, ["id", "text"]);
        let rows: Vec<(usize, Vec<&str>)> = table
            .rows
            .iter()
            .map(|row| (row.line, row.fields.iter().map(String::as_str).collect()))
            .collect();
        let expected: Vec<(usize, Vec<&str>)> = expected
            .iter()
            .map(|(line, fields)| (*line, fields.to_vec()))
            .collect();
        assert_eq!(rows, expected);
    }

    #[test]
    fn line_breaks_and_doubled_quotes_stay_inside_their_field() {
        check(
            "id,text\n1,\"two\nlines\"\n2,\"say \"\"hi\"\", ok\"\n",
            &[(2, &["1", "two\nlines"]), (4, &["2", "say \"hi\", ok"])],
        );
    }

    #[test]
    fn a_byte_order_mark_and_crlf_change_nothing() {
        check(
            "\u{feff}id,text\r\n1,a\r\n\r\n2,\"b\r\nc\"\r\n3,",
            &[(2, &["1", "a"]), (4, &["2", "b\r\nc"]), (6, &["3", ""])],
        );
    }

    #[test]
    fn spaces_and_quotes_within_a_plain_field_are_text() {
        check("id,text\n1, a \"b\" \n", &[(2, &["1", " a \"b\" "])]);
    }

    proptest! {
        /// What a writer writes is read back, each row on its line.
        #[test]
        fn written_fields_are_read_back(
            rows in prop::collection::vec(("[a-z0-9]{1,3}", "[a\",\r\n é\u{feff}]{0,12}"), 0..8),
            crlf in any::<bool>(),
        ) {
            let terminator = if crlf { ::csv::Terminator::CRLF } else { ::csv::Terminator::Any(b'\n') };
            let mut writer = ::csv::WriterBuilder::new().terminator(terminator).from_writer(Vec::new());
            writer.write_record(["id", "text"]).expect("memory");
            for (id, text) in &rows {
                writer.write_record([id, text]).expect("memory");
            }
            let bytes = writer.into_inner().expect("memory");
            let table = read(Path::new("t.csv"), &bytes).expect("what a writer writes");
            let read: Vec<(String, String)> =
                table.rows.iter().map(|row| (row.fields[0].clone(), row.fields[1].clone())).collect();
            prop_assert_eq!(read, rows);
        }

        /// Any bytes at all give rows or an error, never a panic.
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(prop::sample::select(b"ab,\"\r\n\xef\xbb\xbf\xff".to_vec()), 0..40)) {
            let _ = read(Path::new("t.csv"), &bytes);
        }
    }
}
