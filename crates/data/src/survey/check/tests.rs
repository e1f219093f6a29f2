//! Tests of the module above.

use super::*;
use crate::survey::testing::{CARD, project};

const TRAIN: &str = "id,text,label\n1,a,yes\n2,b,yes\n3,c,yes\n4,d,no\n";

#[track_caller]
fn one(card: &str, train: &str) -> Checked {
    let project = project(card, &[("train.csv", train)]);
    let mut checked = check(&project.card(), &project.data());
    assert_eq!(checked.len(), 1);
    checked.remove(0)
}

#[test]
fn a_file_that_agrees_is_one_line_and_what_the_card_leaves_out_can_be_pasted() {
    let checked = one(CARD, TRAIN);
    assert_eq!(checked.verdict, Verdict::Agrees);
    let sha256 = crate::sha256_hex(TRAIN.as_bytes());
    assert_eq!(
        checked.text("train.csv"),
        format!(
            "synthetic train (own)  agrees  4 rows, 3 yes, 1 no, 0 repeats  train.csv\n\
             \u{20} the card leaves out what was measured:\n\
             \u{20}   [splits.train]\n    repeats = 0\n\n\
             \u{20}   [layouts.files.train]  # of layout `own`\n    sha256 = \"{sha256}\"\n"
        )
    );
}

#[test]
fn facts_that_differ_stand_side_by_side() {
    let card = CARD.replace("counts = [3, 1]", "counts = [3, 1]\nrepeats = 0");
    let card = card.replace(
        "files.train.path = \"train.csv\"",
        &format!(
            "files.train.path = \"train.csv\"\nfiles.train.sha256 = \"{}\"",
            "0".repeat(64)
        ),
    );
    let checked = one(&card, &TRAIN.replace("4,d,no", "4,a,yes\n5,e,yes"));
    assert_eq!(checked.verdict, Verdict::Differs);
    let facts: Vec<(&str, &str, &str)> = checked
        .differences
        .iter()
        .skip(1)
        .map(|d| (d.fact.as_str(), d.expected.as_str(), d.found.as_str()))
        .collect();
    let expected = [
        ("rows", "4", "5"),
        ("counts.yes", "3", "5"),
        ("counts.no", "1", "0"),
        ("repeats", "0", "1"),
    ];
    assert_eq!(facts, expected);
    assert_eq!(checked.differences[0].fact, "sha256");
    let text = checked.text("train.csv");
    assert!(text.contains("\n  rows        4         "), "{text}");
    assert!(checked.unstated.is_empty(), "{}", checked.unstated);
}

#[test]
fn a_value_that_is_no_label_is_listed_with_all_that_were_found() {
    let checked = one(CARD, &TRAIN.replace("4,d,no", "4,d,maybe"));
    assert_eq!(checked.verdict, Verdict::Unreadable);
    assert_eq!(
        checked
            .text("train.csv")
            .lines()
            .skip(1)
            .collect::<Vec<_>>()
            .join("\n")
            .replace(checked.path.to_str().expect("a path"), "train.csv"),
        "  train.csv: line 5: label `maybe` is not a label; expected one of `yes`, `no`\n\
         \u{20} value    rows  in the card\n\
         \u{20} `yes`       3  yes\n\
         \u{20} `maybe`     1  no"
    );
}

#[test]
fn layouts_of_a_split_have_to_give_the_same_examples() {
    let other = "sentence,gold\na,1\nb ,1\nc  ,1\nd,0\n";
    let both = |card: &str| {
        let project = project(card, &[("train.csv", TRAIN), ("other/train.csv", other)]);
        check(&project.card(), &project.data())
    };
    let checked = both(CARD);
    assert_eq!(checked[0].verdict, Verdict::Agrees);
    assert_eq!(checked[1].verdict, Verdict::Differs);
    let expected = Difference {
        fact: "examples".to_string(),
        expected: "those of the layout `own`".to_string(),
        found: "2 others, first the one of id `2`".to_string(),
    };
    assert_eq!(checked[1].differences, [expected]);

    let trimmed = CARD.replace("values = [", "trim-end = true\nvalues = [");
    let verdicts: Vec<Verdict> = both(&trimmed).iter().map(|it| it.verdict).collect();
    assert_eq!(verdicts, [Verdict::Agrees; 2]);
}

#[test]
fn every_layout_that_is_there_is_read() {
    let other = "sentence,gold\na,1\nb,1\nc,1\n\"d\",0\n";
    let test = "id,text\n1,x\n2,y\n";
    let files = [
        ("train.csv", TRAIN),
        ("other/train.csv", other),
        ("test.csv", test),
    ];
    let project = project(CARD, &files);
    let checked = check(&project.card(), &project.data());
    let found: Vec<(&str, &str, Verdict)> = checked
        .iter()
        .map(|checked| {
            (
                checked.split.as_str(),
                checked.layout.as_str(),
                checked.verdict,
            )
        })
        .collect();
    let agrees = Verdict::Agrees;
    let expected = [
        ("train", "own", agrees),
        ("train", "other", agrees),
        ("test", "own", agrees),
    ];
    assert_eq!(found, expected);
    assert!(
        !checked[2].unstated.contains("counts"),
        "{}",
        checked[2].unstated
    );
}
