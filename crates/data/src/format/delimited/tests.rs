use crate::format::{Format, FormatError};
use proptest::prelude::*;
use std::path::Path;
use totune_toml::parse_toml;

/// The rows of `bytes` and the lines they start on, read as a card with `format` would.
fn read(format: &str, bytes: &str) -> Result<Vec<(usize, Vec<String>)>, FormatError> {
    #[derive(serde::Deserialize)]
    struct File {
        format: Format,
    }
    let file: File = parse_toml(&format!("format = {{ {format} }}")).expect("a format");
    file.format.check().expect("settings that can be meant");
    let table = file
        .format
        .table(Path::new("t.txt"), bytes.as_bytes(), None)?;
    let fields =
        |fields: &[std::borrow::Cow<str>]| fields.iter().map(|field| field.to_string()).collect();
    Ok(table
        .rows()
        .map(|row| (row.line, fields(row.fields)))
        .collect())
}

#[track_caller]
fn check(format: &str, bytes: &str, expected: &[(usize, &[&str])]) {
    let rows = read(format, bytes).expect("a readable file");
    let rows: Vec<(usize, Vec<&str>)> = rows
        .iter()
        .map(|(line, fields)| (*line, fields.iter().map(String::as_str).collect()))
        .collect();
    let expected: Vec<(usize, Vec<&str>)> = expected
        .iter()
        .map(|(line, fields)| (*line, fields.to_vec()))
        .collect();
    assert_eq!(rows, expected, "{bytes:?}");
}

const CSV: &str = "kind = 'csv'";
const TSV: &str = "kind = 'tsv'";

#[test]
fn line_breaks_and_doubled_quotes_stay_inside_their_field() {
    check(
        CSV,
        "id,text\n1,\"two\nlines\"\n2,\"say \"\"hi\"\", ok\"\n",
        &[(2, &["1", "two\nlines"]), (4, &["2", "say \"hi\", ok"])],
    );
    check(
        CSV,
        "\"say \"\"hi\"\"\",x\n\"\",y\n\"\"\"\",\"\"\"\"\"\"",
        &[(2, &["", "y"]), (3, &["\"", "\"\""])],
    );
}

#[test]
fn a_byte_order_mark_and_crlf_change_nothing() {
    check(
        CSV,
        "\u{feff}id,text\r\n1,a\r\n\r\n2,\"b\r\nc\"\r\n3,",
        &[(2, &["1", "a"]), (4, &["2", "b\r\nc"]), (6, &["3", ""])],
    );
    check(
        TSV,
        "\u{feff}id\ttext\r\n1\ta\r\n\r\n2\tb\r\n3\t",
        &[(2, &["1", "a"]), (4, &["2", "b"]), (5, &["3", ""])],
    );
}

#[test]
fn rows_of_a_quoted_file_are_on_the_line_they_start() {
    check(CSV, "a,b\n\n\n1,2", &[(4, &["1", "2"])]);
    check(CSV, "a,\"b\r\n\r\nc\"\r\n1,2\r\n", &[(4, &["1", "2"])]);
    check(CSV, "a\r1\r\r2\r", &[(2, &["1"]), (4, &["2"])]);
}

#[test]
fn spaces_and_quotes_within_a_plain_field_are_text() {
    check(CSV, "id,text\n1, a \"b\" \n", &[(2, &["1", " a \"b\" "])]);
}

#[test]
fn a_quote_is_a_letter_in_tsv_and_so_are_a_comma_and_a_lone_carriage_return() {
    check(
        TSV,
        "id\ttext\n1\t\"never closed, \"\n2\ta\rb\n3\t\"\"\n",
        &[
            (2, &["1", "\"never closed, \""]),
            (3, &["2", "a\rb"]),
            (4, &["3", "\"\""]),
        ],
    );
}

#[test]
fn the_kinds_differ_in_nothing_but_what_they_presume() {
    check(
        "kind = 'tsv', quotes = 'doubled'",
        "id\ttext\n1\t\"a\tb\nc\"\n",
        &[(2, &["1", "a\tb\nc"])],
    );
    check(
        "kind = 'csv', separator = ';', quotes = 'none'",
        "id;text\n1;\"a,\n",
        &[(2, &["1", "\"a,"])],
    );
}

#[test]
fn a_declared_header_leaves_the_first_line_to_the_rows() {
    check(
        "kind = 'tsv', header = ['source', 'label']",
        "gj04\t1\ngj05\t0",
        &[(1, &["gj04", "1"]), (2, &["gj05", "0"])],
    );
    check("kind = 'csv', header = ['a']", "", &[]);
}

#[test]
fn fields_beyond_the_last_column_are_left_out_where_that_is_declared() {
    let format = "kind = 'tsv', header = ['a', 'b'], extra = 'ignore'";
    check(
        format,
        "1\t2\n3\t4\tlicence\tnote\n",
        &[(1, &["1", "2"]), (2, &["3", "4"])],
    );
    for (format, bytes) in [
        (format, "1\t2\n3\n"),
        ("kind = 'tsv', header = ['a', 'b']", "1\t2\n3\t4\t5\n"),
    ] {
        let error = read(format, bytes).expect_err("a ragged row");
        assert_eq!(error.line, 2);
        assert!(error.problem.ends_with(", expected 2: `a`, `b`"), "{error}");
    }
}

#[test]
fn a_written_line_break_becomes_one_and_a_lone_backslash_stays() {
    check(
        "kind = 'csv', header = ['a', 'b'], line-breaks = 'backslash-n'",
        "\"one\\ntwo\",\"c:\\dir \\\\\"\n",
        &[(1, &["one\ntwo", "c:\\dir \\\\"])],
    );
    check(
        "kind = 'csv', header = ['a']",
        "one\\ntwo",
        &[(1, &["one\\ntwo"])],
    );
}

#[test]
fn a_broken_quote_is_found_where_it_opens() {
    for (text, line, says) in [
        ("a,b\n1,\"2\n3,4\n", 2, "before it closes"),
        ("a,b\n1,\"2\"\"\n", 2, "before it closes"),
        ("a,b\n\"", 2, "before it closes"),
        (
            "a,b\n1,\"2\n3,\"4\"\n",
            3,
            "'4' follows the quote that closes the field opened on line 2",
        ),
        ("a,b\n1,\"2\"é\n", 2, "'é' follows"),
    ] {
        let error = read(CSV, text).expect_err(text);
        assert_eq!(error.line, line, "{text:?}");
        assert!(error.problem.contains(says), "{error}");
    }
}

#[test]
fn settings_that_cannot_be_meant_are_refused() {
    for (format, expected) in [
        (
            "separator = '\"'",
            "format.separator: '\"'; expected an ASCII character other than a quote or a line end",
        ),
        (
            "separator = 'é'",
            "format.separator: 'é'; expected an ASCII character other than a quote or a line end",
        ),
        (
            "header = []",
            "format.header: an empty list; expected the names of the columns in file order",
        ),
        (
            "header = ['a', 'b', 'a']",
            "format.header: `a` is listed twice; expected once",
        ),
    ] {
        let settings: super::Delimited = parse_toml(format).expect("well-formed settings");
        let error = settings.check().expect_err(format);
        assert_eq!(error.to_string(), expected);
    }
}

proptest! {
    /// Fields written by the `csv` crate are read back, each row on its line.
    #[test]
    fn written_fields_are_read_back(
        rows in prop::collection::vec(("[a-z0-9]{1,3}", "[a\",;\r\n é\u{feff}]{0,12}"), 0..8),
        crlf in any::<bool>(),
        semicolon in any::<bool>(),
    ) {
        let terminator = if crlf { ::csv::Terminator::CRLF } else { ::csv::Terminator::Any(b'\n') };
        let mut writer = ::csv::WriterBuilder::new();
        writer.terminator(terminator).delimiter(if semicolon { b';' } else { b',' });
        let mut writer = writer.from_writer(Vec::new());
        writer.write_record(["id", "text"]).expect("memory");
        let mut lines = Vec::new();
        for (id, text) in &rows {
            writer.flush().expect("memory");
            lines.push(1 + super::line_ends(writer.get_ref()));
            writer.write_record([id, text]).expect("memory");
        }
        let bytes = String::from_utf8(writer.into_inner().expect("memory")).expect("text");
        let format = if semicolon { "kind = 'csv', separator = ';'" } else { CSV };
        let read = read(format, &bytes).expect("what a writer writes");
        let expected: Vec<_> = lines.into_iter().zip(rows).map(|(line, (id, text))| (line, vec![id, text])).collect();
        prop_assert_eq!(read, expected);
    }

    /// Fields without separators and line ends are read back as they are, whatever quotes they have.
    #[test]
    fn unquoted_fields_are_read_back(rows in prop::collection::vec(("[a\", é]{1,4}", "[a\", é\u{feff}]{0,6}"), 0..8)) {
        let mut bytes = String::from("id\ttext\n");
        rows.iter().for_each(|(id, text)| bytes += &format!("{id}\t{text}\n"));
        let read = read(TSV, &bytes).expect("as many fields in each row");
        let expected: Vec<_> = rows.into_iter().enumerate().map(|(row, (id, text))| (row + 2, vec![id, text])).collect();
        prop_assert_eq!(read, expected);
    }

    /// Any bytes at all give rows or an error, never a panic.
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(prop::sample::select(b"ab,\t\"\r\n\\\xef\xbb\xbf\xff".to_vec()), 0..40)) {
        for format in [Format::Csv(Default::default()), Format::Tsv(Default::default())] {
            let _ = format.table(Path::new("t.txt"), &bytes, None);
            let _ = format.table(Path::new("t.txt"), &bytes, Some(&["a", "b"]));
        }
    }
}
