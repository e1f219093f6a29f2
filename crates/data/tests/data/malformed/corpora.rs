//! Formats of corpora: bracketed trees, parquet, a word and its tag on each line.

use super::*;

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
