//! Malformed files of every raw format, and broken cards: what is said of each.
//!
//! A row is what is wrong, the bytes, and the words its error must have, in this order, `..` standing for anything.
//! `bad_input.rs` holds whole messages of the commonest slips; here it is that no slip goes without file and line, what
//! was found and what was expected.

#![expect(clippy::too_many_lines, reason = "tables of cases")]

use std::path::Path;

use totune_data::format::Format;
use totune_data::{Card, Columns};

type Row = (&'static str, &'static [u8], &'static str);

/// Checks that each row is refused with its words.
#[track_caller]
fn check(format: &str, rows: &[Row]) {
    let format: Format = toml::from_str(format).expect("a format as in a card");
    let path = Path::new("some/file");
    all_right(rows.iter().map(
        |(what, bytes, words)| match format.table(path, bytes, None) {
            Ok(table) => Some(format!("{what}: read as {table:?}")),
            Err(error) => differs(what, &error.to_string(), &format!("some/file: {words}")),
        },
    ));
}

/// Ends the test with all rows that differ.
#[track_caller]
fn all_right(rows: impl Iterator<Item = Option<String>>) {
    let wrong: Vec<String> = rows.flatten().collect();
    assert!(
        wrong.is_empty(),
        "{} rows:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// What is wrong with an error that should begin with `words`.
fn differs(what: &str, error: &str, words: &str) -> Option<String> {
    let mut rest = error;
    for (number, part) in words.split(" .. ").enumerate() {
        match rest.find(part) {
            Some(at) if number > 0 || at == 0 => rest = &rest[at + part.len()..],
            _ => return Some(format!("{what}: no `{part}` at its place in: {error}")),
        }
    }
    None
}

#[test]
fn csv() {
    check(
        "kind = 'csv'",
        &[
            ("nothing", b"", "line 1: .. empty; expected a header line"),
            (
                "a mark alone",
                b"\xef\xbb\xbf",
                "line 1: .. empty; expected a header line",
            ),
            (
                "line ends alone",
                b"\n\r\n\r\n",
                "line 1: .. empty; expected a header line",
            ),
            (
                "a field missing",
                b"a,b\n1\n",
                "line 2: 1 fields; expected 2: `a`, `b`",
            ),
            (
                "a field too many",
                b"a,b\n1,2,3\n",
                "line 2: 3 fields; expected 2",
            ),
            (
                "a separator at the end",
                b"a,b\n1,2,\n",
                "line 2: 3 fields; expected 2",
            ),
            (
                "a separator at the end of the header",
                b"a,b,\n1,2\n",
                "line 2: 2 fields; expected 3: `a`, `b`, ``",
            ),
            (
                "a last row cut short",
                b"a,b\n1,2\n3",
                "line 3: 1 fields; expected 2",
            ),
            (
                "a space is a field",
                b"a,b\n1,2\n \n",
                "line 3: 1 fields; expected 2",
            ),
            (
                "a short row after one of two lines",
                b"a,b\n\"1\n\",2\n3\n",
                "line 4: 1 fields; expected 2",
            ),
            (
                "a short row after blank lines",
                b"a,b\n\n\n3\n",
                "line 4: 1 fields; expected 2",
            ),
            (
                "a short row after old line ends",
                b"a,b\r1,2\r3\r",
                "line 3: 1 fields; expected 2",
            ),
            (
                "a short row after lines of two characters",
                b"a,b\r\n1,2\r\n3\r\n",
                "line 3: 1 fields",
            ),
            (
                "a quote never closed",
                b"a,b\n1,\"2\n",
                "line 2: a quoted field opens here .. expected a closing quote",
            ),
            (
                "a quote never closed in the header",
                b"a,\"b\n1,2\n",
                "line 1: a quoted field opens here",
            ),
            (
                "a quote at the very end",
                b"a,b\n1,\"",
                "line 2: a quoted field opens here",
            ),
            (
                "a doubled quote at the end",
                b"a,b\n1,\"2\"\"",
                "line 2: a quoted field opens here",
            ),
            (
                "a quote lost further down",
                b"a,b\n\"1\",\"2\n3,4\n5,\"6\"\n",
                "line 4: '6' follows the quote .. line 2",
            ),
            (
                "text after a closing quote",
                b"a,b\n\"1\"x,2\n",
                "line 2: 'x' follows the quote .. expected a comma",
            ),
            (
                "a space after a closing quote",
                b"a,b\n\"1\" ,2\n",
                "line 2: ' ' follows the quote",
            ),
            (
                "a backslash before a quote",
                b"a,b\n\"1\\\"2\",3\n",
                "line 2: '2' follows the quote",
            ),
            (
                "a zero byte after a closing quote",
                b"a,b\n\"1\"\0,2\n",
                "line 2: '\\0' follows the quote",
            ),
            (
                "another separator after a closing quote",
                b"a,b\n\"1\";\"2\"\n",
                "line 2: ';' follows the quote",
            ),
            (
                "Latin-1",
                b"a,b\ncaf\xe9,1\n",
                "line 2: byte 0xe9 is not UTF-8; expected UTF-8 text",
            ),
            (
                "Latin-1 within quotes",
                b"a,b\n\"\n\n\xe9\",1\n",
                "line 4: byte 0xe9 is not UTF-8",
            ),
            (
                "a character cut short",
                b"a,b\n1,\xf0\x9f\x94",
                "line 2: byte 0xf0 is not UTF-8",
            ),
            (
                "half a surrogate",
                b"a\n\xed\xa0\x80\n",
                "line 2: byte 0xed is not UTF-8",
            ),
            (
                "a zero byte of two",
                b"a\n\xc0\x80\n",
                "line 2: byte 0xc0 is not UTF-8",
            ),
            (
                "UTF-16 with a mark",
                b"\xff\xfea\0\n\0",
                "line 1: byte 0xff is not UTF-8",
            ),
            (
                "a second mark",
                b"\xef\xbb\xbf\xff",
                "line 1: byte 0xff is not UTF-8",
            ),
            (
                "gzip",
                b"\x1f\x8b\x08\0\0\0\0\0",
                "line 1: byte 0x8b is not UTF-8",
            ),
        ],
    );
}

#[test]
fn tsv() {
    check(
        "kind = 'tsv'",
        &[
            ("nothing", b"", "line 1: .. empty; expected a header line"),
            (
                "line ends alone",
                b"\r\n\n",
                "line 1: .. empty; expected a header line",
            ),
            (
                "spaces for tabs",
                b"a\tb\n1 2\n",
                "line 2: 1 fields; expected 2: `a`, `b`",
            ),
            (
                "commas for tabs",
                b"a\tb\n1,2\n",
                "line 2: 1 fields; expected 2",
            ),
            (
                "a tab too many",
                b"a\tb\n1\t2\t\n",
                "line 2: 3 fields; expected 2",
            ),
            (
                "two tabs between fields",
                b"a\tb\n1\t\t2\n",
                "line 2: 3 fields; expected 2",
            ),
            (
                "a quote that encloses nothing",
                b"a\tb\n\"1\t2\"\t3\n",
                "line 2: 3 fields; expected 2",
            ),
            (
                "a line break within a field",
                b"a\tb\n\"1\n2\"\t3\n",
                "line 2: 1 fields; expected 2",
            ),
            (
                "a last row cut short",
                b"a\tb\n1\t2\n3",
                "line 3: 1 fields; expected 2",
            ),
            (
                "a short row after blank lines",
                b"a\tb\n\n\r\n3\r\n",
                "line 4: 1 fields; expected 2",
            ),
            (
                "old line ends",
                b"a\tb\r1\t2\n3\n",
                "line 2: 1 fields; expected 3: `a`, `b\r1`, `2`",
            ),
            (
                "Latin-1",
                b"a\tb\n1\t\xfc\n",
                "line 2: byte 0xfc is not UTF-8",
            ),
            (
                "a page of HTML",
                b"<html>\n<a>\t</a>\n",
                "line 2: 2 fields; expected 1: `<html>`",
            ),
        ],
    );
    check(
        "kind = 'tsv'\nextra = 'ignore'",
        &[
            (
                "a field missing",
                b"a\tb\n1\n",
                "line 2: 1 fields; expected 2",
            ),
            ("nothing", b"", "line 1: .. empty; expected a header line"),
        ],
    );
    check(
        "kind = 'tsv'\nseparator = '|'",
        &[(
            "a tab for a bar",
            b"a|b\n1\t2\n",
            "line 2: 1 fields; expected 2: `a`, `b`",
        )],
    );
}

#[test]
fn quora() {
    check(
        "kind = 'tsv'\nquotes = 'doubled'",
        &[
            ("nothing", b"", "line 1: .. empty; expected a header line"),
            (
                "a question over two lines loses its quote",
                b"a\tb\n1\t\"Why\nme\n2\tx\n",
                "line 2: a quoted field opens",
            ),
            (
                "a comma after a closing quote",
                b"a\tb\n\"1\",2\n",
                "line 2: ',' follows .. expected a tab, a line end",
            ),
            (
                "a quote not doubled",
                b"a\tb\n\"say \"hi\"\"\t2\n",
                "line 2: 'h' follows the quote",
            ),
            (
                "a field missing after two lines",
                b"a\tb\n\"1\n2\"\tx\n\"3\"\n",
                "line 4: 1 fields; expected 2",
            ),
            (
                "a field too many",
                b"a\tb\n\"1\"\t\"2\"\t\"3\"\n",
                "line 2: 3 fields; expected 2",
            ),
            (
                "Latin-1 after two lines",
                b"a\tb\n\"1\n2\"\t\xe9\n",
                "line 3: byte 0xe9 is not UTF-8",
            ),
        ],
    );
}

#[test]
fn yahoo() {
    check(
        "kind = 'csv'\nheader = ['class', 'title', 'content', 'answer']\nline-breaks = 'backslash-n'",
        &[
            (
                "a field missing",
                b"\"1\",\"t\",\"c\"\n",
                "line 1: 3 fields; expected 4: `class`, `title`",
            ),
            (
                "a field too many",
                b"\"1\",\"t\",\"c\",\"a\",\"x\"\n",
                "line 1: 5 fields; expected 4",
            ),
            (
                "quotes escaped by a backslash",
                b"\"1\",\"t\",\"a \\\"b\\\"\",\"a\"\n",
                "line 1: 'b' follows the quote",
            ),
            (
                "cut within a field",
                b"\"1\",\"t\",\"c\",\"a\n",
                "line 1: a quoted field opens here",
            ),
            (
                "cut after a separator",
                b"\"1\",\"t\",\n",
                "line 1: 3 fields; expected 4",
            ),
            (
                "a line of text",
                b"1,t,c,a\nmore\n",
                "line 2: 1 fields; expected 4",
            ),
            (
                "Latin-1",
                b"\"1\",\"\xe9\",\"c\",\"a\"\n",
                "line 1: byte 0xe9 is not UTF-8",
            ),
        ],
    );
}

#[test]
fn jsonl() {
    check(
        "kind = 'jsonl'",
        &[
            (
                "nothing",
                b"",
                "line 1: the file is empty; expected a JSON object on each line",
            ),
            (
                "line ends alone",
                b"\n\r\n \n",
                "line 1: the file is empty; expected a JSON object on each line",
            ),
            ("text", b"hello\n", "line 1: column 1: expected value"),
            (
                "a list",
                b"[1]\n",
                "line 1: column .. invalid type: sequence, expected an object",
            ),
            (
                "a string",
                b"\"a\"\n",
                "line 1: column .. invalid type: string \"a\", expected an object",
            ),
            (
                "null",
                b"null\n",
                "line 1: column .. invalid type: null, expected an object",
            ),
            (
                "an object over two lines",
                b"{\"a\":\n1}\n",
                "line 1: column .. EOF",
            ),
            (
                "two objects on a line",
                b"{\"a\":1}{\"a\":2}\n",
                "line 1: column 8: trailing characters",
            ),
            (
                "a comma after an object",
                b"{\"a\":1},\n{\"a\":2}\n",
                "line 1: column 8: trailing characters",
            ),
            (
                "a comma within",
                b"{\"a\":1,}\n",
                "line 1: column .. trailing comma",
            ),
            (
                "single quotes",
                b"{'a':1}\n",
                "line 1: column 2: key must be a string",
            ),
            (
                "a key without quotes",
                b"{a:1}\n",
                "line 1: column 2: key must be a string",
            ),
            (
                "a comment",
                b"{\"a\":1} // x\n",
                "line 1: column .. trailing characters",
            ),
            (
                "a key missing",
                b"{\"text\":1}\n{\"txt\":2}\n",
                "line 2: no key `text`; did you mean `txt`? found `txt`",
            ),
            (
                "an empty object",
                b"{\"text\":1}\n{}\n",
                "line 2: no key `text`",
            ),
            (
                "a key twice",
                b"{\"a\":1}\n{\"a\":1,\"a\":2}\n",
                "line 2: column .. key `a` is there twice; expected it once",
            ),
            (
                "a key twice in the first line",
                b"{\"a\":1,\"a\":2}\n",
                "line 1: ",
            ),
            (
                "a list for a value",
                b"{\"a\":1}\n{\"a\":[]}\n",
                "line 2: column .. invalid type: sequence, expected `a` to be a string",
            ),
            (
                "an object for a value",
                b"{\"a\":1}\n{\"a\":{}}\n",
                "line 2: column .. invalid type: map, expected `a` to be a string",
            ),
            (
                "not a number",
                b"{\"a\":NaN}\n",
                "line 1: column .. expected value",
            ),
            (
                "a number too large",
                b"{\"a\":1}\n{\"a\":1e999}\n",
                "line 2: column .. number out of range",
            ),
            (
                "a number with a zero before it",
                b"{\"a\":01}\n",
                "line 1: column .. invalid number",
            ),
            (
                "half of a surrogate pair",
                b"{\"a\":\"\\ud800\"}\n",
                "line 1: column .. hex escape",
            ),
            (
                "an unknown escape",
                b"{\"a\":\"\\x41\"}\n",
                "line 1: column .. invalid escape",
            ),
            (
                "a tab in a string",
                b"{\"a\":\"\t\"}\n",
                "line 1: column .. control character",
            ),
            (
                "Latin-1",
                b"{\"a\":1}\n{\"a\":\"\xe9\"}\n",
                "line 2: byte 0xe9 is not UTF-8",
            ),
            (
                "cut within a line",
                b"{\"a\":1}\n\n{\"a\":\"tw",
                "line 3: column .. EOF",
            ),
            (
                "a JSON document",
                b"{\n  \"a\": 1\n}\n",
                "line 1: column .. EOF",
            ),
        ],
    );
    let deep = [&b"{\"a\":1,\"b\":"[..], &b"[".repeat(100_000)].concat();
    check(
        "kind = 'jsonl'",
        &[(
            "a hundred thousand brackets",
            deep.leak(),
            "line 1: column .. EOF while parsing a list",
        )],
    );
}

#[test]
fn jsonl_of_words() {
    let columns: Columns =
        toml::from_str("text = 'word'\nlabel = 'ner'").expect("columns as in a card");
    let format: Format = toml::from_str("kind = 'jsonl'").expect("a format as in a card");
    let rows: [Row; 12] = [
        (
            "text",
            b"hello\n",
            "line 1: column 1: not JSON; expected an object",
        ),
        ("a list", b"[]\n", "line 1: .. expected an object"),
        (
            "words missing",
            b"{\"ner\":[]}\n",
            "line 1: no key `word` .. found `ner`",
        ),
        (
            "tags missing",
            b"{\"word\":[\"a\"]}\n",
            "line 1: no key `ner` .. found `word`",
        ),
        (
            "words that are text",
            b"{\"word\":\"a b\",\"ner\":[]}\n",
            "line 1: `word` is a string; expected a list",
        ),
        (
            "words that are null",
            b"{\"word\":null,\"ner\":[]}\n",
            "line 1: `word` is .. expected a list",
        ),
        (
            "a word that is null",
            b"{\"word\":[null],\"ner\":[0]}\n",
            "line 1: `word` has .. in its list; expected strings or integers",
        ),
        (
            "a tag that is a fraction",
            b"{\"word\":[\"a\"],\"ner\":[0.5]}\n",
            "line 1: `ner` has .. in its list; expected strings or integers",
        ),
        (
            "no words",
            b"{\"word\":[],\"ner\":[]}\n",
            "line 1: no words; expected at least one",
        ),
        (
            "an empty word",
            b"\n{\"word\":[\"a\",\"\"],\"ner\":[0,0]}\n",
            "line 2: word 2 of 2 is empty; expected none to be",
        ),
        (
            "a tag too few",
            b"{\"word\":[\"a\",\"b\"],\"ner\":[0]}\n",
            "line 1: 1 tags for 2 words; expected one for each",
        ),
        (
            "cut within a line",
            b"{\"word\":[\"a\"],\"ner\":[0]}\n{\"word\":[\"a",
            "line 2: column .. not JSON",
        ),
    ];
    let path = Path::new("some/file");
    all_right(rows.iter().map(|(what, bytes, words)| {
        match format.sentences(path, bytes, &columns, true) {
            Ok(found) => Some(format!("{what}: read as {found:?}")),
            Err(error) => differs(what, &error.to_string(), &format!("some/file: {words}")),
        }
    }));
}

#[test]
fn sentiment_trees() {
    let deep = |n: usize| -> &'static [u8] { "(1 a ".repeat(n).into_bytes().leak() };
    check(
        "kind = 'sentiment-trees'\nphrases = 'all'\ngranularity = 'five-class'",
        &[
            (
                "text",
                b"hello\n",
                "line 1: column 1: `hello` is outside of the tree; expected `(`",
            ),
            (
                "a tree without a label",
                b"(hello)\n",
                "line 1: column 1: no label after `(`; expected a digit from 0 to 4",
            ),
            (
                "a label too large",
                b"(2 a)\n(5 a)\n",
                "line 2: column 1: no label after `(`",
            ),
            (
                "a label of two digits",
                b"(10 a)\n",
                "line 1: column 1: no label after `(`",
            ),
            (
                "a label below zero",
                b"(-1 a)\n",
                "line 1: column 1: no label after `(`",
            ),
            (
                "a label alone",
                b"(2)\n",
                "line 1: column 1: no label after `(`",
            ),
            (
                "a label without tokens",
                b"(2 )\n",
                "line 1: column 4: a node without tokens; expected some",
            ),
            (
                "a node without tokens within",
                b"(2 (3 ) a)\n",
                "line 1: column 7: a node without tokens",
            ),
            (
                "a bracket alone",
                b"(",
                "line 1: column 1: no label after `(`",
            ),
            (
                "a closing bracket alone",
                b")\n",
                "line 1: column 1: `)` closes nothing; expected `(`",
            ),
            (
                "a closing bracket too many",
                b"(2 a))\n",
                "line 1: column 6: `)` closes nothing",
            ),
            (
                "a closing bracket missing",
                b"(2 (3 a)\n",
                "line 1: the line ends with 1 open brackets; expected a `)` for each",
            ),
            (
                "a tree over two lines",
                b"(2 (3 a)\n (3 b))\n",
                "line 1: the line ends with 1 open brackets",
            ),
            (
                "two trees on a line",
                b"(2 a) (3 b)\n",
                "line 1: column 7: a second tree; expected one a line",
            ),
            (
                "text after a tree",
                b"(2 a) b\n",
                "line 1: column 7: `b` is outside of the tree",
            ),
            (
                "a tab after the label",
                b"(2\ta)\n",
                "line 1: column 1: no label after `(`",
            ),
            (
                "labels of the Penn Treebank",
                b"(S (NP a))\n",
                "line 1: column 1: no label after `(`",
            ),
            (
                "another letter than ASCII before it",
                "(2 \u{e9}) (2 b)\n".as_bytes(),
                "line 1: column 7: a second tree",
            ),
            (
                "Latin-1",
                b"(2 a)\n(2 \xe9)\n",
                "line 2: byte 0xe9 is not UTF-8",
            ),
            (
                "a hundred thousand brackets",
                deep(100_000),
                "line 1: column .. expected at most 1000",
            ),
        ],
    );
}

#[test]
fn parquet() {
    let seed = |name: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/parquet");
        std::fs::read(folder.join(name)).expect("a seed")
    };
    let whole = seed("plain.parquet");
    let end = whole.len();
    let with = |at: usize, bytes: &[u8]| -> &'static [u8] {
        let mut changed = whole.clone();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        changed.leak()
    };
    let cut = |end: usize| -> &'static [u8] { whole[..end].to_vec().leak() };
    check(
        "kind = 'parquet'",
        &[
            ("nothing", b"", "row 1: .. expected parquet"),
            (
                "text",
                b"hello, this is text\n",
                "row 1: .. expected parquet",
            ),
            ("the first four bytes", cut(4), "row 1: .. expected parquet"),
            (
                "the first and the last four bytes",
                b"PAR1PAR1",
                "row 1: .. expected parquet",
            ),
            (
                "without its last byte",
                cut(end - 1),
                "row 1: .. expected parquet",
            ),
            ("cut in half", cut(end / 2), "row 1: .. expected parquet"),
            (
                "encrypted",
                with(end - 4, b"PARE"),
                "row 1: .. expected parquet",
            ),
            (
                "a footer longer than the file",
                with(end - 8, &[0xff, 0xff, 0, 0]),
                "row 1: .. expected parquet",
            ),
            (
                "a footer of two gigabytes",
                with(end - 8, &[0xff, 0xff, 0xff, 0x7f]),
                "row 1: .. expected parquet",
            ),
            (
                "a footer of nothing",
                with(end - 8, &[0, 0, 0, 0]),
                "row 1: .. expected parquet",
            ),
            (
                "a footer of other bytes",
                with(end - 40, &[0xff; 30]),
                "row 1: ",
            ),
            ("pages of other bytes", with(4, &[0xff; 60]), "row 1: "),
        ],
    );
    let kinds = seed("dictionary.parquet");
    let format: Format = toml::from_str("kind = 'parquet'").expect("a format as in a card");
    for (column, words) in [
        (
            "words",
            "some/file: row 1: column `words` is nested .. expected text, whole numbers, floats or booleans",
        ),
        (
            "word",
            "some/file: row 1: no column `word`; did you mean `words`? found `b`, `f`, `u`, `words`, `again`",
        ),
    ] {
        let error = format
            .table(Path::new("some/file"), &kinds, Some(&[column]))
            .expect_err(column);
        assert_eq!(differs(column, &error.to_string(), words), None);
    }
}

#[test]
fn conll() {
    let columns: Columns =
        toml::from_str("text = 'word'\nlabel = 'ner'").expect("columns as in a card");
    let check = |format: &str, rows: &[Row]| {
        let format = format!("kind = 'conll'\ncolumns = ['word', 'pos', 'ner']\n{format}");
        let format: Format = toml::from_str(&format).expect("a format as in a card");
        let path = Path::new("some/file");
        all_right(rows.iter().map(|(what, bytes, words)| {
            match format.sentences(path, bytes, &columns, true) {
                Ok(found) => Some(format!("{what}: read as {found:?}")),
                Err(error) => differs(what, &error.to_string(), &format!("some/file: {words}")),
            }
        }));
    };
    check(
        "",
        &[
            (
                "a tag missing",
                b"Ann NNP I-PER\nran VBD\n",
                "line 2: 2 columns; expected 3: `word`, `pos`, `ner`",
            ),
            ("a word alone", b"Ann\n", "line 1: 1 columns; expected 3"),
            (
                "a column too many",
                b"Ann NNP B-NP I-PER\n",
                "line 1: 4 columns; expected 3",
            ),
            (
                "a word with a space",
                b"New York NNP I-LOC\n",
                "line 1: 4 columns; expected 3",
            ),
            (
                "tabs",
                b"Ann\tNNP\tI-PER\n",
                "line 1: 1 columns; expected 3 .. has tabs, is `separator = \"tab\"` meant?",
            ),
            (
                "a tab among spaces",
                b"Ann NNP\tI-PER\n",
                "line 1: 2 columns; expected 3 .. has tabs",
            ),
            (
                "a short line after a document",
                b"-DOCSTART- -X- O\n\nAnn NNP\n",
                "line 3: 2 columns; expected 3",
            ),
            (
                "a short line after blank lines",
                b"\r\n\r\n\r\nAnn NNP\r\n",
                "line 4: 2 columns; expected 3",
            ),
            (
                "a comment that is none",
                b"# text\nAnn NNP I-PER\n",
                "line 1: 2 columns; expected 3",
            ),
            (
                "cut within a line",
                b"Ann NNP I-PER\nran VB",
                "line 2: 2 columns; expected 3",
            ),
            (
                "a second column file joined on",
                b"Ann NNP I-PER\nran VBD O\nBob\n",
                "line 3: 1 columns; expected 3",
            ),
            (
                "Latin-1",
                b"Ann NNP I-PER\nJos\xe9 NNP I-PER\n",
                "line 2: byte 0xe9 is not UTF-8",
            ),
        ],
    );
    check(
        "separator = 'tab'\ncomment = '# '",
        &[
            (
                "spaces",
                b"Ann NNP I-PER\n",
                "line 1: 1 columns; expected 3 .. no tab, is `separator = \"space\"` meant?",
            ),
            (
                "an empty word",
                b"\tNNP\tI-PER\n",
                "line 1: `word` is empty; expected a word",
            ),
            (
                "a word of spaces",
                b"  \tNNP\tI-PER\n",
                "line 1: `word` is empty; expected a word",
            ),
            (
                "an empty tag",
                b"Ann\tNNP\t\n",
                "line 1: `ner` is empty; expected a tag",
            ),
            (
                "a tab at the end",
                b"Ann\tNNP\tI-PER\t\n",
                "line 1: 4 columns; expected 3",
            ),
            (
                "a comment within a sentence",
                b"Ann\tNNP\tI-PER\n# x\n",
                "line 2: 1 columns; expected 3",
            ),
        ],
    );
}

const CARD: &str = r#"name = "toy"
title = "Toy"
task = "classification"
metrics = ["accuracy"]
labels = ["no", "yes"]
positive = "yes"

[[layouts]]
name = "made"
format = { kind = "csv" }
columns = { id = "id", text = "text", label = "label" }
values = ["0", "1"]
files.train = { path = "toy.csv" }

[splits.train]
rows = 2
counts = [1, 1]
repeats = 0
"#;

/// Reads the card, and where that is possible a file of it.
fn load(card: &str, bytes: &[u8]) -> Result<(), String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("toy.toml"), card).expect("a card");
    std::fs::write(folder.path().join("toy.csv"), bytes).expect("a file");
    let read = Card::read(&folder.path().join("toy.toml"));
    let loaded = read.and_then(|card| card.load(folder.path()));
    let shown = format!("{}/", folder.path().display());
    loaded
        .map(|_| ())
        .map_err(|error| format!("{error:#}").replace(&shown, ""))
}

#[test]
fn cards() {
    assert_eq!(load(CARD, b"id,text,label\n1,one,0\n2,two,1\n"), Ok(()));
    let rows = [
        (
            "name = \"toy\"\n",
            "",
            "toy.toml: line 1: missing key `name`",
        ),
        (
            "name = \"toy\"\n",
            "name = \"toy\"\nname = \"toy\"\n",
            "toy.toml: line 2: duplicate key",
        ),
        (
            "name = \"toy\"",
            "name = 3",
            "toy.toml: line 1: invalid type: integer `3`, expected a string",
        ),
        ("name = \"toy\"", "name = \"toy", "toy.toml: line 1: "),
        (
            "name = \"toy\"",
            "nam = \"toy\"",
            "toy.toml: line 1: unknown key `nam`; did you mean `name`?",
        ),
        (
            "title = \"Toy\"",
            "title = [\"Toy\"]",
            "toy.toml: line 2: invalid type: sequence, expected a string",
        ),
        ("title = \"Toy\"", "title = \"\\q\"", "toy.toml: line 2: "),
        ("title = \"Toy\"", "title = \"\u{0}\"", "toy.toml: line 2: "),
        (
            "title = \"Toy\"\n",
            "",
            "toy.toml: line 1: missing key `title`",
        ),
        (
            "\"classification\"",
            "\"clasification\"",
            "toy.toml: line 3: unknown choice `clasification`; did you mean `classification`?",
        ),
        (
            "\"classification\"",
            "\"\"",
            "toy.toml: line 3: unknown choice ``",
        ),
        (
            "\"classification\"",
            "\"regression\"",
            "toy.toml: labels: 2 listed; expected none, since this is a regression",
        ),
        (
            "[\"no\", \"yes\"]",
            "[]",
            "toy.toml: labels: 0 listed; expected at least 2",
        ),
        (
            "[\"no\", \"yes\"]",
            "[\"yes\"]",
            "toy.toml: labels: 1 listed; expected at least 2",
        ),
        (
            "[\"no\", \"yes\"]",
            "[\"yes\", \"yes\"]",
            "toy.toml: labels: `yes` is listed twice; expected once",
        ),
        (
            "[\"no\", \"yes\"]",
            "\"no, yes\"",
            "toy.toml: line 5: invalid type: string \"no, yes\", expected a sequence",
        ),
        (
            "positive = \"yes\"",
            "positive = \"Yes\"",
            "toy.toml: positive: `Yes` is not a label .. expected `no`, `yes`",
        ),
        (
            "positive = \"yes\"",
            "positive = 1",
            "toy.toml: line 6: invalid type: integer `1`, expected a string",
        ),
        (
            "positive = \"yes\"",
            "range = [0, 5]",
            "toy.toml: range: [0, 5]; expected .. regression",
        ),
        (
            "positive = \"yes\"",
            "fixture = \"no\"",
            "toy.toml: line 6: invalid type: string \"no\", expected a boolean",
        ),
        (
            "kind = \"csv\"",
            "kind = \"xls\"",
            "toy.toml: line 10: unknown choice `xls`; .. expected .. `csv`",
        ),
        (
            "kind = \"csv\"",
            "knd = \"csv\"",
            "toy.toml: line 10: missing key `kind`",
        ),
        (
            "kind = \"csv\"",
            "kind = \"csv\", quote = \"none\"",
            "toy.toml: line 10: unknown key `quote`; did you mean `quotes`?",
        ),
        (
            "kind = \"csv\"",
            "kind = \"csv\", separator = \"ab\"",
            "toy.toml: line 10: invalid value: string \"ab\", expected a character",
        ),
        (
            "kind = \"csv\"",
            "kind = \"csv\", separator = \"\\n\"",
            "toy.toml: layouts.made: format.separator: '\\n'; expected an ASCII character",
        ),
        (
            "kind = \"csv\"",
            "kind = \"csv\", separator = \"\u{e9}\"",
            "toy.toml: layouts.made: format.separator: .. expected an ASCII character",
        ),
        (
            "kind = \"csv\"",
            "kind = \"csv\", header = []",
            "toy.toml: layouts.made: format.header: an empty list; expected the names",
        ),
        (
            "kind = \"csv\"",
            "kind = \"csv\", header = [\"a\", \"a\"]",
            "toy.toml: layouts.made: format.header: `a` is listed twice; expected once",
        ),
        (
            "kind = \"csv\"",
            "kind = \"csv\", extra = \"drop\"",
            "toy.toml: line 10: unknown choice `drop`; .. `refuse` or `ignore`",
        ),
        (
            "text = \"text\", ",
            "",
            "toy.toml: line 11: missing key `text`",
        ),
        (
            "text = \"text\"",
            "text = []",
            "toy.toml: layouts.made: columns.text: an empty list; expected the name of at least one column",
        ),
        ("text = \"text\"", "text = 3", "toy.toml: line 11: "),
        (
            "text = \"text\"",
            "text = \"text\", third = \"x\"",
            "toy.toml: line 11: unknown key `third`",
        ),
        (
            "label = \"label\"",
            "label = [\"label\"]",
            "toy.toml: line 11: invalid type: sequence, expected a string",
        ),
        (
            "[\"0\", \"1\"]",
            "[\"0\"]",
            "toy.toml: layouts.made: values: 1 listed; expected one for each of 2 labels",
        ),
        (
            "[\"0\", \"1\"]",
            "[\"0\", \"0\"]",
            "toy.toml: layouts.made: values: `0` is listed twice; expected once",
        ),
        (
            "[\"0\", \"1\"]",
            "[0, 1]",
            "toy.toml: line 12: invalid type: integer `0`, expected a string",
        ),
        (
            "{ path = \"toy.csv\" }",
            "{ path = \"../toy.csv\" }",
            "toy.toml: layouts.made: files.train: path: `../toy.csv`; expected a path below",
        ),
        (
            "{ path = \"toy.csv\" }",
            "{ path = \"/etc/toy.csv\" }",
            "toy.toml: layouts.made: files.train: path: `/etc/toy.csv`; expected a path below",
        ),
        (
            "{ path = \"toy.csv\" }",
            "{ path = \"a/../../toy.csv\" }",
            "toy.toml: layouts.made: files.train: path: .. expected a path below",
        ),
        (
            "{ path = \"toy.csv\" }",
            "{ path = \"toy.csv\", sha256 = \"\" }",
            "toy.toml: layouts.made: files.train: sha256: ``; expected 64",
        ),
        (
            "{ path = \"toy.csv\" }",
            "{ path = \"toy.csv\", sha = \"\" }",
            "toy.toml: line 13: unknown key `sha`; expected one of `path`, `sha256`",
        ),
        (
            "{ path = \"toy.csv\" }",
            "\"toy.csv\"",
            "toy.toml: line 13: invalid type: string \"toy.csv\", expected struct LayoutFile",
        ),
        (
            "files.train = { path = \"toy.csv\" }",
            "files = {}",
            "toy.toml: layouts.made: files: none listed; expected at least `files.train`",
        ),
        (
            "files.train",
            "files.test",
            "toy.toml: splits.train: no layout has a file for it .. known splits: `test`",
        ),
        (
            "rows = 2",
            "rows = -1",
            "toy.toml: line 16: invalid value: integer `-1`, expected usize",
        ),
        (
            "rows = 2",
            "rows = 2.0",
            "toy.toml: line 16: invalid type: floating point `2.0`, expected usize",
        ),
        (
            "rows = 2",
            "rows = 3",
            "toy.toml: splits.train: counts: 2 in all; expected 3 as `rows` says",
        ),
        (
            "rows = 2",
            "rows = 99999999999999999999",
            "toy.toml: line 16: ",
        ),
        ("rows = 2\n", "", "toy.toml: line 15: missing key `rows`"),
        (
            "counts = [1, 1]",
            "counts = [1, 1, 0]",
            "toy.toml: splits.train: counts: 3 numbers; expected one for each of 2 labels",
        ),
        (
            "counts = [1, 1]",
            "counts = [1, 1]\nlabelled = false",
            "toy.toml: splits.train: counts: given; expected none, since the split has no labels",
        ),
        (
            "counts = [1, 1]",
            "count = [1, 1]",
            "toy.toml: line 17: unknown key `count`; did you mean `counts`?",
        ),
        (
            "repeats = 0",
            "repeats = true",
            "toy.toml: line 18: invalid type: boolean `true`, expected usize",
        ),
        (
            "[[layouts]]",
            "[layouts]",
            "toy.toml: line 8: invalid type: map, expected a sequence",
        ),
        ("[splits.train]", "[splits.train", "toy.toml: line 15: "),
    ];
    all_right(rows.into_iter().map(|(from, to, words)| {
        assert!(CARD.contains(from), "{from}");
        match load(&CARD.replacen(from, to, 1), b"") {
            Ok(()) => Some(format!("{to}: read")),
            Err(error) => differs(to, &error, words),
        }
    }));
}

#[test]
fn counts_beyond_64_bits_are_a_large_number_and_not_a_small_one() {
    let large = i64::MAX;
    let card = CARD
        .replace("[\"no\", \"yes\"]", "[\"no\", \"yes\", \"x\"]")
        .replace("[\"0\", \"1\"]", "[\"0\", \"1\", \"2\"]")
        .replace("[1, 1]", &format!("[{large}, {large}, 4]"));
    let error = load(&card, b"").expect_err("too many rows");
    let words = "toy.toml: splits.train: counts: 18446744073709551615 in all; expected 2";
    assert_eq!(differs("counts", &error, words), None);
}

#[test]
fn rows_of_a_classification() {
    let rows = [
        (
            "a label of another case",
            &b"id,text,label\n1,one,0\n2,two,Yes\n"[..],
            "toy.csv: line 3: label `Yes` is not a label; expected one of `0`, `1`",
        ),
        (
            "a label with a space",
            b"id,text,label\n1,one,0 \n2,two,1\n",
            "toy.csv: line 2: label `0 ` is not a label",
        ),
        (
            "the label's name for its value",
            b"id,text,label\n1,one,no\n2,two,1\n",
            "toy.csv: line 2: label `no` is not a label",
        ),
        (
            "an empty text",
            b"id,text,label\n1,,0\n2,two,1\n",
            "toy.csv: line 2: ",
        ),
        (
            "an empty id twice",
            b"id,text,label\n,one,0\n,two,1\n",
            "toy.csv: line 3: id `` is already on line 2; expected it once",
        ),
        (
            "columns of another file",
            b"target,text,label\n1,one,0\n",
            "toy.csv: line 1: no column `id`; .. found `target`, `text`, `label`",
        ),
        (
            "a column with a space",
            b"id, text,label\n1,one,0\n",
            "toy.csv: line 1: no column `text`; did you mean ` text`?",
        ),
        (
            "another separator",
            b"id;text;label\n1;one;0\n",
            "toy.csv: line 1: no column `id`; found `id;text;label`",
        ),
        (
            "too many rows",
            b"id,text,label\n1,one,0\n2,two,1\n3,three,1\n",
            "toy.csv: 3 rows; expected 2",
        ),
        (
            "a text twice",
            b"id,text,label\n1,one,0\n2,one,1\n",
            "toy.csv: 1 rows repeat an earlier text; expected 0",
        ),
    ];
    all_right(
        rows.into_iter()
            .map(|(what, bytes, words)| match load(CARD, bytes) {
                Ok(()) => Some(format!("{what}: read")),
                Err(error) => differs(what, &error, words),
            }),
    );
}

#[test]
fn rows_of_a_regression() {
    let card = CARD
        .replace("\"classification\"", "\"regression\"")
        .replace("\"accuracy\"", "\"pearson\"")
        .replace(
            "labels = [\"no\", \"yes\"]\npositive = \"yes\"",
            "range = [0, 5]",
        )
        .replace("values = [\"0\", \"1\"]\n", "")
        .replace("counts = [1, 1]\n", "");
    assert_eq!(load(&card, b"id,text,label\n1,one,0\n2,two,4.5\n"), Ok(()));
    let scores = [
        "", "high", "5.1", "-0.1", "nan", "NaN", "inf", "-inf", "1e400", "4,5", "0x1", "1 2",
        "\u{664}",
    ];
    all_right(scores.into_iter().map(|score| {
        let bytes = format!("id,text,label\n1,one,0\n2,two,\"{score}\"\n");
        match load(&card, bytes.as_bytes()) {
            Ok(()) => Some(format!("`{score}`: read")),
            Err(error) => differs(
                score,
                &error,
                &format!("toy.csv: line 3: label `{score}`; expected a number from 0 to 5"),
            ),
        }
    }));
}
