//! Cards and files of datasets with several labels in each row, or with labels in an order.

use super::load;

const DELIMITED: &str = r#"name = "toy"
title = "Toy"
task = "multi-label"
metrics = ["f1-micro", "ap:late"]
labels = ["late", "lost"]

[[layouts]]
name = "own"
format = { kind = "csv" }
columns = { text = "text", label = "labels", label-separator = "|" }
[layouts.files.train]
path = "toy.csv"
sha256 = "SHA"

[splits.train]
rows = 2
counts = [1, 2]
"#;

const GOOD: &str = "text,labels\none,late | lost\ntwo,lost\n";

/// The card with a column of 0 and 1 for each label.
fn columns() -> String {
    let columns = "label = \"labels\", label-separator = \"|\"";
    assert!(DELIMITED.contains(columns));
    DELIMITED.replace(columns, "label = [\"late\", \"lost\"]")
}

#[test]
fn a_file_with_other_labels_is_refused_with_its_line() {
    let lists = DELIMITED.replace(", label-separator = \"|\"", "");
    let known = "expected one of `late`, `lost`";
    for (card, file, expected) in [
        (
            DELIMITED,
            "text,labels\none,late|lots\ntwo,lost\n",
            &*format!(
                "toy.csv: line 2: labels `lots` is not a label; did you mean `lost`? {known}"
            ),
        ),
        (
            DELIMITED,
            "text,labels\none,late\ntwo,late|lost\n",
            "toy.csv: 2 rows are `late`; expected 1",
        ),
        (
            &lists,
            "text,labels\none,late|lost\ntwo,lost\n",
            "toy.csv: line 2: labels `late|lost` is no list; expected one such as `[\"a\", \"b\"]`, or in the card \
             `columns.label-separator`, the text between two labels",
        ),
        (
            &columns(),
            "text,late,lost\none,1,1\ntwo,0,2\n",
            "toy.csv: line 3: lost `2`; expected 0 or 1",
        ),
        (
            &columns(),
            "text,late\none,1\n",
            "toy.csv: line 1: no column `lost`; found `text`, `late`",
        ),
    ] {
        let error = load(card, file.as_bytes()).expect_err(file);
        assert_eq!(error, expected, "{file}");
    }
}

#[test]
fn a_row_may_have_any_number_of_labels_in_each_layout() {
    let lists = DELIMITED.replace(", label-separator = \"|\"", "");
    let counts = |card: &str, counts: &str| card.replace("counts = [1, 2]", counts);
    for (card, file) in [
        (DELIMITED, GOOD),
        (
            &counts(DELIMITED, "counts = [0, 1]"),
            "text,labels\none,\ntwo,lost|lost|\n",
        ),
        (
            &lists,
            "text,labels\none,\"['late', 'lost']\"\ntwo,\"[\"\"lost\"\"]\"\n",
        ),
        (&columns(), "text,late,lost\none,1,1.0\ntwo,False,true\n"),
    ] {
        assert_eq!(
            load(card, file.as_bytes()),
            Ok(vec!["one".into(), "two".into()]),
            "{file}"
        );
    }
}

#[test]
fn a_card_that_cannot_be_meant_is_refused_with_its_key() {
    for (from, to, expected) in [
        (
            "labels = [\"late\", \"lost\"]",
            "labels = [\"late\", \"lost|found\"]",
            "toy.toml: labels: `lost|found`; expected a text without `|`, which separates the labels of a prediction, and \
             without white space around it",
        ),
        (
            "labels = [\"late\", \"lost\"]",
            "labels = [\"late\", \"lost\"]\npositive = \"late\"",
            "toy.toml: positive: `late`; expected none, since the task is multi-label",
        ),
        (
            "labels = [\"late\", \"lost\"]",
            "labels = [\"late\", \"lost\"]\nloss = { label-smoothing = 0.1 }",
            "toy.toml: loss.label-smoothing: found 0.1, which is for classification; expected 0, since the task is multi-label",
        ),
        (
            "labels = [\"late\", \"lost\"]",
            "labels = [\"late\", \"lost\"]\nloss = { class-weights = \"even\" }",
            "toy.toml: line 6: unknown choice `even`; expected `equal` or `balanced`",
        ),
        (
            "\"ap:late\"",
            "\"ap:later\"",
            "toy.toml: metrics: found `ap:later`, but `later` is no label; expected one of `late`, `lost`",
        ),
        (
            "\"f1-micro\"",
            "\"accuracy\"",
            "toy.toml: metrics: unknown metric `accuracy`; expected `f1-micro`, `f1-macro`, `exact-match`, `map`, `lrap`",
        ),
        (
            "label-separator = \"|\"",
            "label-separator = \"\"",
            "toy.toml: layouts.own: columns.label-separator: empty; expected the text between two labels, such as \"|\"",
        ),
        (
            "label = \"labels\"",
            "label = [\"late\"]",
            "toy.toml: layouts.own: columns.label: 1 columns; expected one for each of 2 labels",
        ),
        (
            "label = \"labels\"",
            "label = [\"late\", \"lost\"]",
            "toy.toml: layouts.own: columns.label-separator: given; expected none, since each label has a column",
        ),
        (
            "counts = [1, 2]",
            "counts = [1, 3]",
            "toy.toml: splits.train: counts: 3; expected at most 2, the number of rows",
        ),
        (
            "[splits.train]",
            "[sample.train]\nper-label = 1\nseed = 1\n[splits.train]",
            "toy.toml: sample.train: expected none, since the task is multi-label, which has no single label to balance",
        ),
        (
            "task = \"multi-label\"\nmetrics = [\"f1-micro\", \"ap:late\"]",
            "task = \"classification\"\nmetrics = [\"accuracy\"]",
            "toy.toml: layouts.own: columns.label-separator: given; expected none, since the task is not multi-label",
        ),
        (
            "task = \"multi-label\"\nmetrics = [\"f1-micro\", \"ap:late\"]",
            "task = \"ordinal\"\nmetrics = [\"mae\", \"accuracy\"]",
            "toy.toml: metrics: `mae` first; expected a metric of which more is better, such as `quadratic-kappa`",
        ),
    ] {
        let card = DELIMITED.replace(from, to);
        assert_ne!(card, DELIMITED, "{from}");
        let mut error = load(&card, GOOD.as_bytes()).expect_err(to);
        // Where an ordinal task has no separator either, the metrics come later.
        if to.contains("ordinal") {
            let card = card.replace(", label-separator = \"|\"", "");
            let card = card.replace("counts = [1, 2]\n", "");
            error = load(&card, GOOD.as_bytes()).expect_err(to);
        }
        assert_eq!(error, expected);
    }
}
