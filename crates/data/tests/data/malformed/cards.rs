//! Cards that cannot be meant.

use super::*;

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
            "toy.toml: layouts.made: columns.label: a list; expected the name of one column, since the task is not multi-label",
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
            "toy.toml: line 13: invalid type: string \"toy.csv\", expected a table",
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
            "toy.toml: line 16: invalid value: integer `-1`, expected an integer, 0 or above",
        ),
        (
            "rows = 2",
            "rows = 2.0",
            "toy.toml: line 16: invalid type: floating point `2.0`, expected an integer, 0 or above",
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
            "toy.toml: line 18: invalid type: boolean `true`, expected an integer, 0 or above",
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
