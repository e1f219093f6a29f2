//! Cards, catalogues and settings.

use std::path::Path;

use totune_data::{Catalogue, Split, sha256_hex};
use totune_toml::{parse_toml, read_toml};

use super::{CARD, GOOD, load};

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
            "toy.toml: line 18: invalid value: integer `-2`, expected an integer, 0 or above",
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
fn an_unknown_dataset_is_answered_with_the_near_name_and_the_nearest_of_many() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in ["disaster-tweets", "fixture-tweets"] {
        let card = CARD
            .replace("\"toy\"", &format!("{name:?}"))
            .replace("SHA", &sha256_hex(b""));
        std::fs::write(folder.path().join(format!("{name}.toml")), card).expect("a card");
    }
    std::fs::write(folder.path().join("notes.md"), "not a card").expect("a file");
    let wrong = folder.path().join("wrong.toml");
    std::fs::write(&wrong, "name = \"wrong\"\nlables = []\n").expect("a file");
    let catalogue = Catalogue::read(folder.path()).expect("two cards");
    let broken: Vec<_> = catalogue.broken().collect();
    let [("wrong", error)] = broken[..] else {
        panic!("{broken:?}");
    };
    let place = format!("{}: line 2: unknown key `lables`; did", wrong.display());
    assert!(error.starts_with(&place), "{error}");
    let found = catalogue.find("wrong").expect_err("no card").to_string();
    assert_eq!(found, error);
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
    for number in 0..6 {
        let name = format!("folds-{number}");
        let card = CARD
            .replace("\"toy\"", &format!("{name:?}"))
            .replace("SHA", &sha256_hex(b""));
        std::fs::write(folder.path().join(format!("{name}.toml")), card).expect("a card");
    }
    let many = Catalogue::read(folder.path()).expect("cards");
    let error = many.find("folds").expect_err("no card").to_string();
    let start = "unknown dataset `folds`; did you mean `folds-0`? the nearest of 8 are `folds-0`, ";
    assert!(error.starts_with(start), "{error}");
    assert!(
        error.ends_with("`folds-4` (`totune data list` shows all)"),
        "{error}"
    );
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
            "line 2: invalid value: integer `-1`, expected an integer, 0 or above",
        ),
        (
            "kind = 'hold-out', test = 0.2",
            "line 2: missing key `seed`",
        ),
        (
            "kind = 'hold-out', tset = 0.2, seed = 1",
            "line 2: unknown key `tset`; did you mean `test`? expected one of `test`, `dev`, `seed`, `duplicates`, `train-limit`, `dev-drawn`, `test-limit`",
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
