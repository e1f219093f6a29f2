//! Errors in the files of each format and in the settings that choose their rows.

use std::path::Path;
use totune_data::Card;

/// The result of loading `bytes` with a card of one layout; errors without the folder.
fn load(layout: &str, facts: &str, bytes: &[u8]) -> Result<Vec<String>, String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.path().join(name), bytes).expect("a file");
    };
    let card = format!(
        "name = 'toy'\ntitle = 'Toy'\ntask = 'classification'\nmetrics = ['accuracy']\nlabels = ['0', '1']\n{facts}\n[[layouts]]\nname = 'own'\n{layout}"
    );
    write("toy.toml", card.as_bytes());
    write("toy.txt", bytes);
    write("list.tsv", b"b\n");
    Card::read(&folder.path().join("toy.toml"))
        .and_then(|card| card.load(folder.path()))
        .map(|dataset| {
            let examples = dataset.examples.into_iter();
            examples
                .map(|example| format!("{} {}", example.id, example.input.texts()[0]))
                .collect()
        })
        .map_err(|error| format!("{error:#}").replace(&format!("{}/", folder.path().display()), ""))
}

/// A layout of `format` with the columns `text` and `label`, and more lines for its file.
fn layout(format: &str, file: &str) -> String {
    format!(
        "format = {{ {format} }}\ncolumns = {{ text = 'text', label = 'label' }}\n[layouts.files.train]\npath = 'toy.txt'\n{file}"
    )
}

#[track_caller]
fn check(format: &str, cases: &[(&[u8], &str)]) {
    for (bytes, expected) in cases {
        let error = load(&layout(format, ""), "", bytes).expect_err(expected);
        assert_eq!(error, *expected, "{}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn broken_tab_separated_values_are_refused_with_their_line() {
    check(
        "kind = 'tsv'",
        &[
            (
                b"text\tlabel\na\t0\nb\n",
                "toy.txt: line 3: fields: found 1, expected 2: `text`, `label`",
            ),
            (
                b"text\tlabel\na\tb\t0\n",
                "toy.txt: line 2: fields: found 3, expected 2: `text`, `label`",
            ),
            (
                b"text\tlabel\r\na\t0\r\nb\t0\r\rc\t1\n",
                "toy.txt: line 3: fields: found 3, expected 2: `text`, `label`",
            ),
            (
                b"text,label\na,0\n",
                "toy.txt: line 1: no column `text`; did you mean `text,label`? found `text,label`",
            ),
            (
                b"text\tlabel\n\t0\n",
                "toy.txt: line 2: an empty text; expected some, or in the layout `empty = \"drop\"` to leave such rows out or `empty = \"keep\"` to keep them; --empty writes that into a new card",
            ),
        ],
    );
    check(
        "kind = 'tsv', header = ['label', 'star', 'text']",
        &[(
            b"0\t\ta\n1\tb\n",
            "toy.txt: line 2: fields: found 2, expected 3: `label`, `star`, `text`",
        )],
    );
}

#[test]
fn broken_json_lines_are_refused_with_their_line() {
    check(
        "kind = 'jsonl'",
        &[
            (
                b"",
                "toy.txt: line 1: the file is empty; expected a JSON object on each line",
            ),
            (
                b"[1]\n",
                "toy.txt: line 1: column 0: invalid type: sequence, expected an object",
            ),
            (
                b"{\"text\": \"a\", \"label\": 0}\n{\"text\": \"b\"}\n",
                "toy.txt: line 2: no key `label`; found `text`; null stands for nothing",
            ),
            (
                b"{\"txt\": \"a\", \"label\": 0}\n",
                "toy.txt: line 1: no key `text`; did you mean `txt`? found `txt`, `label`; null stands for nothing",
            ),
            (
                b"{\"text\": \"a\", \"label\": 0}\n\n{\"text\": \"b\", \"label\": 0",
                "toy.txt: line 3: column 24: EOF while parsing an object",
            ),
            (
                b"{\"text\": \"a\", \"label\": [0]}\n",
                "toy.txt: line 1: column 24: invalid type: sequence, expected `label` to be a string, a number, true, false or null",
            ),
            (
                b"{\"text\": \"a\", \"text\": \"b\", \"label\": 0}\n",
                "toy.txt: line 1: column 20: key `text` is there twice; expected it once",
            ),
            (
                b"{\"text\": \"a\", \"label\": 0} {}\n",
                "toy.txt: line 1: column 27: trailing characters",
            ),
        ],
    );
}

#[test]
fn a_file_that_is_no_parquet_or_is_cut_off_is_refused() {
    let whole =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/data/own/reviews.parquet");
    let whole = std::fs::read(whole).expect("the fixture");
    let format = layout("kind = 'parquet'", "");
    for bytes in [
        &b""[..],
        b"PAR1",
        b"<!DOCTYPE html>",
        &whole[..whole.len() - 7],
    ] {
        let error = load(&format, "", bytes).expect_err("no parquet");
        assert!(
            error.starts_with("toy.txt: row 1: ") && error.ends_with("expected parquet"),
            "{error}"
        );
    }
    assert_eq!(
        load(&format, "", &whole).expect_err("another column"),
        "toy.txt: row 1: no column `text`; found `key`, `review`, `stars`, `verdict`, `shop`, `tags`"
    );
    let nested = format.replace(
        "text = 'text', label = 'label'",
        "text = 'review', label = 'tags'",
    );
    assert_eq!(
        load(&nested, "", &whole).expect_err("a list"),
        "toy.txt: row 1: column `tags` is nested or of a type that is not text; expected text, whole numbers, floats or booleans"
    );
    // Any byte of the file changed: rows or an error, never a panic.
    for at in (0..whole.len()).step_by(5) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        let _ = load(
            &format.replace("text = 'text'", "text = 'review'"),
            "",
            &bytes,
        );
    }
}

#[test]
fn broken_trees_are_refused_with_their_line_and_column() {
    check(
        "kind = 'sentiment-trees', phrases = 'all', granularity = 'five-class'",
        &[
            (
                b"(2 (2 a) (2 b))\n(2 (2 a) (2 b)\n",
                "toy.txt: line 2: the line ends with 1 open brackets; expected a `)` for each",
            ),
            (
                b"(2 a))\n",
                "toy.txt: line 1: column 6: `)` closes nothing; expected `(`",
            ),
            (
                b"(5 a)\n",
                "toy.txt: line 1: column 1: no label after `(`; expected a digit from 0 to 4 and a space",
            ),
            (
                b"(2 (a))\n",
                "toy.txt: line 1: column 4: no label after `(`; expected a digit from 0 to 4 and a space",
            ),
            (
                b"(2 )\n",
                "toy.txt: line 1: column 4: a node without tokens; expected some",
            ),
            (
                b"a\n",
                "toy.txt: line 1: column 1: `a` is outside of the tree; expected `(`",
            ),
            (
                b"(2 a) (2 b)\n",
                "toy.txt: line 1: column 7: a second tree; expected one a line",
            ),
        ],
    );
}

#[test]
fn rows_are_chosen_by_values_and_by_lists_and_numbered_as_they_are_kept() {
    let bytes = b"text\tlabel\tpart\na\t0\tx\nb\t1\ty\nc\t1\tx\n\t0\tx\n";
    let tsv =
        |file: &str| layout("kind = 'tsv'", file).replacen("columns", "empty = 'drop'\ncolumns", 1);
    let read = |file: &str| load(&tsv(file), "", bytes).expect("rows");
    assert_eq!(read(""), ["1 a", "2 b", "3 c"]);
    assert_eq!(read("where = { part = 'x' }"), ["1 a", "2 c"]);
    assert_eq!(
        read("where = { part = ['x', 'y'], label = '1' }"),
        ["1 b", "2 c"]
    );
    assert_eq!(
        read("only = { path = 'list.tsv', columns = ['text'] }"),
        ["1 b"]
    );
    assert_eq!(
        read("except = { path = 'list.tsv', columns = ['text'] }"),
        ["1 a", "2 c"]
    );
    let from = tsv("").replace("label = 'label'", "label = 'label', number-from = 0");
    assert_eq!(load(&from, "", bytes).expect("rows"), ["0 a", "1 b", "2 c"]);
    for (file, expected) in [
        (
            "where = { prt = 'x' }",
            "toy.txt: line 1: no column `prt`; did you mean `part`? found `text`, `label`, `part`",
        ),
        (
            "where = { part = [] }",
            "toy.toml: layouts.own: files.train: where.part: an empty list; expected at least one value",
        ),
        (
            "only = { path = '../list.tsv', columns = ['text'] }",
            "toy.toml: layouts.own: files.train: only: path: `../list.tsv`; expected a path below the data root without `..`",
        ),
        (
            "only = { path = 'list.tsv', columns = [] }",
            "toy.toml: layouts.own: files.train: only.columns: an empty list; expected the columns that the file lists",
        ),
        (
            "only = { path = 'list.tsv', columns = ['text', 'part'] }",
            "list.tsv: line 1: fields: found 1, expected 2: `text`, `part`",
        ),
    ] {
        assert_eq!(load(&tsv(file), "", bytes).expect_err(file), expected);
    }
}

#[test]
fn a_sample_that_cannot_be_drawn_is_refused() {
    let bytes = b"text\tlabel\na\t0\nb\t1\nc\t1\n";
    let read = |facts: &str| load(&layout("kind = 'tsv'", ""), facts, bytes);
    assert_eq!(
        read("[sample.train]\nper-label = 1\nseed = 1").map(|rows| rows.len()),
        Ok(2)
    );
    for (facts, expected) in [
        (
            "[sample.train]\nper-label = 2\nseed = 1",
            "toy.txt: 1 rows are `0`; expected at least 2, of which a sample is drawn",
        ),
        (
            "[sample.train]\nper-label = 0\nseed = 1",
            "toy.toml: sample.train: per-label: 0; expected at least 1",
        ),
        (
            "[sample.dev]\nper-label = 1\nseed = 1",
            "toy.toml: sample.dev: no layout has a file for it; known splits: `train`",
        ),
    ] {
        assert_eq!(read(facts).expect_err(facts), expected);
    }
}
