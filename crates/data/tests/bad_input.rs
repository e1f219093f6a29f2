//! Everything that can be wrong with a card, a file or a setting, and what is said about it.

#![expect(clippy::too_many_lines, reason = "tables of cases")]

use std::path::Path;
use totune_data::{
    Card, Catalogue, Split, sha256_hex, toml_file::parse_toml, toml_file::read_toml,
};

const CARD: &str = r#"name = "toy"
title = "Toy"
task = "classification"
metrics = ["accuracy"]
labels = ["no", "yes"]
positive = "yes"

[[layouts]]
name = "kaggle"
format = { kind = "csv" }
columns = { id = "id", text = "text", label = "label" }
values = ["0", "1"]
[layouts.files.train]
path = "toy.csv"
sha256 = "SHA"

[splits.train]
rows = 2
counts = [1, 1]
repeats = 0
"#;
const GOOD: &str = "id,text,label\n1,one,0\n2,two,1\n";

/// Writes a card and its file and gives what loading them says, without the folder.
fn load(card: &str, bytes: &[u8]) -> Result<Vec<String>, String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("toy.toml");
    std::fs::write(&path, card.replace("SHA", &sha256_hex(bytes))).expect("a card");
    std::fs::write(folder.path().join("toy.csv"), bytes).expect("a file");
    Card::read(&path)
        .and_then(|card| card.load(folder.path()))
        .map(|dataset| {
            dataset
                .examples
                .into_iter()
                .map(|example| example.input.texts()[0].to_string())
                .collect()
        })
        .map_err(|error| format!("{error:#}").replace(&format!("{}/", folder.path().display()), ""))
}

#[test]
fn a_broken_file_is_refused_with_its_line_what_was_found_and_what_was_expected() {
    let cases: &[(&str, &[u8], &str)] = &[
        (
            "missing column",
            b"id,txt,label\n1,one,0\n2,two,1\n",
            "toy.csv: line 1: no column `text`; did you mean `txt`? found `id`, `txt`, `label`",
        ),
        (
            "column named twice",
            b"id,text,text,label\n1,a,b,0\n",
            "toy.csv: line 1: column `text` is named twice; expected it once",
        ),
        (
            "wrong label",
            b"id,text,label\n1,one,0\n2,two,maybe\n",
            "toy.csv: line 3: label `maybe` is not a label; expected one of `0`, `1`",
        ),
        (
            "wrong label after a line break in quotes",
            b"id,text,label\n1,\"on\ne\",0\n2,two,2\n",
            "toy.csv: line 4: label `2` is not a label; expected one of `0`, `1`",
        ),
        (
            "empty label",
            b"id,text,label\n1,one,\n2,two,1\n",
            "toy.csv: line 2: label `` is not a label; expected one of `0`, `1`",
        ),
        (
            "empty file",
            b"",
            "toy.csv: line 1: the file is empty; expected a header line",
        ),
        (
            "only blank lines",
            b"\n\r\n\n",
            "toy.csv: line 1: the file is empty; expected a header line",
        ),
        (
            "only a mark",
            b"\xef\xbb\xbf",
            "toy.csv: line 1: the file is empty; expected a header line",
        ),
        (
            "header only",
            b"id,text,label\n",
            "toy.csv: 0 rows; expected 2",
        ),
        (
            "row missing",
            b"id,text,label\n1,one,0\n",
            "toy.csv: 1 rows; expected 2",
        ),
        (
            "labels differ from the card",
            b"id,text,label\n1,one,0\n2,two,0\n",
            "toy.csv: 2 rows are `no`; expected 1",
        ),
        (
            "repeats differ from the card",
            b"id,text,label\n1,one,0\n2,one,1\n",
            "toy.csv: 1 rows repeat an earlier text; expected 0",
        ),
        (
            "id twice",
            b"id,text,label\n1,one,0\n1,two,1\n",
            "toy.csv: line 3: id `1` is already on line 2; expected it once",
        ),
        (
            "truncated quotes",
            b"id,text,label\n1,one,0\n2,\"two,1\n",
            "toy.csv: line 3: a quoted field opens here and the file ends before it closes; expected a closing quote",
        ),
        (
            "truncated after a doubled quote",
            b"id,text,label\n1,one,0\n2,\"say \"\"hi",
            "toy.csv: line 3: a quoted field opens here and the file ends before it closes; expected a closing quote",
        ),
        (
            "a closing quote lost",
            b"id,text,label\n1,\"one,0\n2,\"two\",1\n",
            "toy.csv: line 3: 't' follows the quote that closes the field opened on line 2; expected a comma, a line end or a doubled quote",
        ),
        (
            "bad UTF-8",
            b"id,text,label\n1,one,0\n2,tw\xf6,1\n",
            "toy.csv: line 3: byte 0xf6 is not UTF-8; expected UTF-8 text",
        ),
        (
            "cut within a character",
            b"id,text,label\n1,one,0\n2,\xc3",
            "toy.csv: line 3: byte 0xc3 is not UTF-8; expected UTF-8 text",
        ),
        (
            "UTF-16",
            b"\xff\xfei\0d\0",
            "toy.csv: line 1: byte 0xff is not UTF-8; expected UTF-8 text",
        ),
        (
            "too few fields",
            b"id,text,label\n1,one,0\n2,two\n",
            "toy.csv: line 3: 2 fields; expected 3: `id`, `text`, `label`",
        ),
        (
            "too many fields",
            b"id,text,label\n1,one,0\r\n2,two,2,1\n",
            "toy.csv: line 3: 4 fields; expected 3: `id`, `text`, `label`",
        ),
        (
            "another separator",
            b"id;text;label\n1;one;0\n",
            "toy.csv: line 1: no column `id`; found `id;text;label`",
        ),
    ];
    for (case, bytes, expected) in cases {
        assert_eq!(load(CARD, bytes).expect_err(case), *expected, "{case}");
    }
}

#[test]
fn a_byte_order_mark_crlf_and_blank_lines_are_read_as_if_they_were_not_there() {
    for bytes in [
        GOOD.to_string(),
        format!("\u{feff}{GOOD}"),
        GOOD.replace('\n', "\r\n"),
        format!("\u{feff}{}", GOOD.replace('\n', "\r\n\r\n")),
        GOOD.trim_end().to_string(),
        GOOD.replace("one", "\"one\""),
    ] {
        assert_eq!(
            load(CARD, bytes.as_bytes()),
            Ok(vec!["one".to_string(), "two".to_string()]),
            "{bytes:?}"
        );
    }
}

#[test]
fn a_changed_file_is_refused_with_both_hashes() {
    let card = CARD.replace("SHA", &sha256_hex(GOOD.as_bytes()));
    // printf 'id,text,label\\n1,one,0\\n2,two,1\\n' | sha256sum, and the same with `too`
    let good = "470e95e0d20b16cb4ea6f4a28d32a59364b63e18809d816d1f3af6e4810be66d";
    let bad = "2942060bfcd4b0c013fadb86192c456688c890767f41fccf645dc21b7188e86c";
    let error = load(&card, b"id,text,label\n1,one,0\n2,too,1\n").expect_err("a changed file");
    assert_eq!(
        error,
        format!("toy.csv: sha256 {bad}; expected {good} (toy.toml)")
    );
    let error = load(&card, b"id,text,label\n1,\"one").expect_err("a truncated file");
    assert!(error.ends_with("\nit cannot be read either: toy.csv: line 2: a quoted field opens here and the file ends before it closes; expected a closing quote"), "{error}");
}

#[test]
fn a_broken_card_is_refused_with_its_line_or_key() {
    for (from, to, expected) in [
        (
            "labels =",
            "lables =",
            "toy.toml: line 5: unknown key `lables`; did you mean `labels`? expected one of",
        ),
        (
            "metrics = [\"accuracy\"]",
            "metrics = 3",
            "toy.toml: line 4: invalid type: integer `3`, expected a sequence",
        ),
        (
            "metrics = [\"accuracy\"]",
            "metrics = [\"acuracy\"]",
            "toy.toml: metrics: unknown metric `acuracy`; did you mean `accuracy`? expected `accuracy`, `f1-macro`",
        ),
        (
            "metrics = [\"accuracy\"]",
            "metrics = []",
            "toy.toml: metrics: found none, expected at least one",
        ),
        (
            "metrics = [\"accuracy\"]",
            "metrics = [\"span-f1\"]",
            "toy.toml: metrics: unknown metric `span-f1`; expected `accuracy`",
        ),
        (
            "title = \"Toy\"\n",
            "",
            "toy.toml: line 1: missing key `title`",
        ),
        (
            "kind = \"csv\"",
            "kind = \"cvs\"",
            "toy.toml: line 10: unknown choice `cvs`; did you mean `csv`? expected ",
        ),
        (
            "kind = \"csv\"",
            "kind = \"csv\", sep = \";\"",
            "toy.toml: line 10: unknown key `sep`;",
        ),
        (
            "text = \"text\"",
            "txt = \"text\"",
            "toy.toml: line 11: unknown key `txt`; did you mean `text`?",
        ),
        (
            "text = \"text\"",
            "text = []",
            "toy.toml: layouts.kaggle: columns.text: an empty list; expected the name of at least one column",
        ),
        (
            "task = \"classification\"",
            "task = \"clasification\"",
            "toy.toml: line 3: unknown choice `clasification`; did you mean `classification`?",
        ),
        (
            "task = \"classification\"",
            "task = \"regression\"",
            "toy.toml: labels: 2 listed; expected none, since this is a regression",
        ),
        (
            "labels = [\"no\", \"yes\"]",
            "labels = [\"yes\"]",
            "toy.toml: labels: 1 listed; expected at least 2",
        ),
        (
            "positive = \"yes\"",
            "range = [0, 5]",
            "toy.toml: range: [0, 5]; expected the lowest and the highest score of a regression",
        ),
        (
            "rows = 2",
            "rows = -2",
            "toy.toml: line 18: invalid value: integer `-2`, expected usize",
        ),
        ("rows = 2", "rows = two", "toy.toml: line 18: "),
        (
            "name = \"toy\"",
            "name = \"tow\"",
            "toy.toml: name: `tow`; expected `toy`, the name of the file",
        ),
        (
            "positive = \"yes\"",
            "positive = \"yess\"",
            "toy.toml: positive: `yess` is not a label; did you mean `yes`? expected `no`, `yes`",
        ),
        (
            "counts = [1, 1]",
            "counts = [2]",
            "toy.toml: splits.train: counts: 1 numbers; expected one for each of 2 labels",
        ),
        (
            "counts = [1, 1]",
            "counts = [1, 2]",
            "toy.toml: splits.train: counts: 3 in all; expected 2 as `rows` says",
        ),
        (
            "counts = [1, 1]",
            "counts = [1, 1]\nlabelled = false",
            "toy.toml: splits.train: counts: given; expected none, since the split has no labels",
        ),
        (
            "[\"0\", \"1\"]",
            "[\"0\", \"0\"]",
            "toy.toml: layouts.kaggle: values: `0` is listed twice; expected once",
        ),
        (
            "[\"0\", \"1\"]",
            "[\"0\"]",
            "toy.toml: layouts.kaggle: values: 1 listed; expected one for each of 2 labels",
        ),
        (
            "[\"no\", \"yes\"]",
            "[\"yes\", \"yes\"]",
            "toy.toml: labels: `yes` is listed twice; expected once",
        ),
        (
            "\"SHA\"",
            "\"abc\"",
            "toy.toml: layouts.kaggle: files.train: sha256: `abc`; expected 64 lower-case hexadecimal digits",
        ),
        (
            "\"toy.csv\"",
            "\"../toy.csv\"",
            "toy.toml: layouts.kaggle: files.train: path: `../toy.csv`; expected a path below the data root without `..`",
        ),
        (
            "\"toy.csv\"",
            "\"/toy.csv\"",
            "toy.toml: layouts.kaggle: files.train: path: `/toy.csv`; expected a path below the data root without `..`",
        ),
        (
            "[splits.train]",
            "[splits.trian]",
            "toy.toml: splits.trian: no layout has a file for it; did you mean `train`? known splits: `train`",
        ),
        (
            ".train]\npath",
            ".dev]\npath",
            "toy.toml: splits.train: no layout has a file for it; known splits: `dev`",
        ),
    ] {
        assert!(CARD.contains(from), "{from}");
        let error = load(&CARD.replacen(from, to, 1), GOOD.as_bytes()).expect_err(to);
        assert!(error.starts_with(expected), "{to}:\n{error}\n{expected}");
    }
}

#[test]
fn an_unknown_dataset_is_answered_with_the_near_name_and_with_all_there_are() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in ["disaster-tweets", "fixture-tweets"] {
        let card = CARD
            .replace("\"toy\"", &format!("{name:?}"))
            .replace("SHA", &sha256_hex(b""));
        std::fs::write(folder.path().join(format!("{name}.toml")), card).expect("a card");
    }
    std::fs::write(folder.path().join("notes.md"), "not a card").expect("a file");
    let catalogue = Catalogue::read(folder.path()).expect("two cards");
    for (name, expected) in [
        (
            "disaster-tweet",
            "unknown dataset `disaster-tweet`; did you mean `disaster-tweets`? known datasets: `disaster-tweets`, `fixture-tweets`",
        ),
        (
            "rte",
            "unknown dataset `rte`; known datasets: `disaster-tweets`, `fixture-tweets`",
        ),
    ] {
        assert_eq!(catalogue.find(name).expect_err(name).to_string(), expected);
    }
    let absent = Catalogue::read(Path::new("no/such/folder")).expect_err("no folder");
    assert_eq!(
        absent.to_string(),
        "no/such/folder: cannot be listed; expected a folder of dataset cards"
    );
}

#[test]
fn a_split_out_of_range_is_refused_where_it_is_written() {
    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only whether it can be read is of interest")]
    struct File {
        split: Split,
    }
    for (split, expected) in [
        (
            "kind = 'hold-out', test = 1.5, seed = 1",
            "line 2: test: 1.5; expected a share between 0 and 1",
        ),
        (
            "kind = 'hold-out', test = 0.0, seed = 1",
            "line 2: test: 0; expected a share between 0 and 1",
        ),
        (
            "kind = 'hold-out', test = nan, seed = 1",
            "line 2: test: NaN; expected a share between 0 and 1",
        ),
        (
            "kind = 'hold-out', test = 0.2, seed = -1",
            "line 2: invalid value: integer `-1`, expected u64",
        ),
        (
            "kind = 'hold-out', test = 0.2",
            "line 2: missing key `seed`",
        ),
        (
            "kind = 'hold-out', tset = 0.2, seed = 1",
            "line 2: unknown key `tset`; did you mean `test`? expected one of `test`, `dev`, `seed`, `duplicates`, `train-limit`, `test-limit`",
        ),
        (
            "kind = 'k-fold', folds = 1, by = 'file'",
            "line 2: folds: 1; expected at least 2",
        ),
        (
            "kind = 'k-fold', folds = 10, by = 'files'",
            "line 2: unknown choice `files`; did you mean `file`? expected one of `file`, `shuffled`, `group`",
        ),
        (
            "kind = 'k-fold', folds = 10, by = 'file', duplicates = 'grup'",
            "line 2: unknown choice `grup`; did you mean `group`? expected `keep` or `group`",
        ),
        (
            "kind = 'kfold', folds = 10, by = 'file'",
            "line 2: unknown choice `kfold`; did you mean `k-fold`? expected one of `hold-out`, `k-fold`, `files`",
        ),
        (
            "kind = 'k-fold', folds = 10, by = 'shuffled'",
            "line 2: seed: missing; expected one with `by = \"shuffled\"`",
        ),
        (
            "kind = 'k-fold', folds = 10, by = 'file', seed = 3",
            "line 2: seed: 3; expected none, as only `by = \"shuffled\"` draws",
        ),
        (
            "kind = 'k-fold', folds = 10, by = 'shuffled', seed = 4294967296",
            "line 2: seed: 4294967296; expected at most 4294967295, as NumPy has it",
        ),
    ] {
        let text = format!("# a comment\nsplit = {{ {split} }}\n");
        assert_eq!(
            parse_toml::<File>(&text).expect_err(split).to_string(),
            expected
        );
    }
}

#[test]
fn a_file_that_is_not_toml_is_refused_with_its_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("x.toml");
    std::fs::write(&path, "a = 1\nb = [1,\n").expect("a file");
    let error = read_toml::<toml::Table>(&path)
        .expect_err("not TOML")
        .to_string();
    assert!(
        error.starts_with(&format!("{}: line ", path.display())),
        "{error}"
    );
}
