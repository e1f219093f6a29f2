//! Tests of the module above.

use super::*;
use crate::survey::{Verdict, check};

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).expect("a file");
    }
    dir
}

fn try_draft(files: &[(&str, &str)], hints: &Hints) -> Result<(Draft, Card)> {
    let dir = folder(files);
    let draft = draft(&dir.path().join(files[0].0), hints, dir.path(), true)?;
    let path = dir.path().join(format!("{}.toml", draft.name));
    std::fs::write(&path, &draft.text).expect("a card");
    let card = Card::read(&path).expect(&draft.text);
    // Every file named in the card agrees with it.
    let checked = check(&card, Path::new("nowhere"));
    assert!(!checked.is_empty(), "{}", draft.text);
    for checked in checked {
        assert_eq!(
            checked.verdict,
            Verdict::Agrees,
            "{}\n{}",
            draft.text,
            checked.text("file")
        );
        assert!(checked.unstated.is_empty() || checked.measured.is_some_and(|m| m.unlabelled > 0));
    }
    Ok((draft, card))
}

fn drafted(files: &[(&str, &str)], hints: &Hints) -> (Draft, Card) {
    try_draft(files, hints).expect("a draft")
}

fn refused(files: &[(&str, &str)], hints: &Hints) -> String {
    format!(
        "{:#}",
        try_draft(files, hints).expect_err("nothing to guess")
    )
}

const REVIEWS: &str =
    "id,text,stars\nr1,a fine film to see,good\nr2,not a fine film,bad\nr3,\"fine, fine\",good\n";

#[test]
fn a_table_with_telling_names_needs_no_option() {
    let (draft, card) = drafted(
        &[("reviews.csv", REVIEWS)],
        &Hints {
            label: Some("stars".into()),
            ..Hints::default()
        },
    );
    assert_eq!(draft.name, "reviews");
    assert_eq!(card.task, Task::Classification);
    assert_eq!(card.labels, ["bad", "good"]);
    assert_eq!(card.splits["train"].counts, Some(vec![1, 2]));
    let columns = &card.layouts[0].columns;
    assert_eq!(
        (columns.id.as_deref(), columns.text.names()),
        (Some("id"), &["text".to_string()][..])
    );
    assert!(
        draft.text.lines().filter(|line| !line.is_empty()).count() <= 18,
        "{}",
        draft.text
    );
}

#[test]
fn pairs_scores_and_neighbouring_files_are_found() {
    let train = "pair_ID\tsentence_A\tsentence_B\tscore\n1\ta dog runs\ta dog is running\t4.5\n2\ta cat\ta fox\t1.25\n";
    let dev = "pair_ID\tsentence_A\tsentence_B\tscore\n7\ta hen\ta bird\t3.0\n";
    let test = "pair_ID\tsentence_A\tsentence_B\n9\tan owl\ta bird\n";
    let files = [
        ("sim_train.tsv", train),
        ("sim_dev.tsv", dev),
        ("sim_test.tsv", test),
    ];
    let (draft, card) = drafted(&files, &Hints::default());
    assert_eq!((draft.name.as_str(), card.task), ("sim", Task::Regression));
    assert_eq!(card.range, Some([1.25, 4.5]));
    let names: Vec<&str> = card.split_names().into_iter().collect();
    assert_eq!(names, ["dev", "test", "train"]);
    assert!(!card.splits["test"].labelled && card.splits["dev"].labelled);
    assert!(card.layouts[0].columns.second.is_some());
}

#[test]
fn json_lines_and_headerless_text_are_read() {
    let lines = "{\"sentence\": \"it rained\", \"label\": 1}\n{\"sentence\": \"it was dry\", \"label\": 0}\n";
    let (_, card) = drafted(&[("rain.jsonl", lines)], &Hints::default());
    assert_eq!(card.labels, ["0", "1"]);
    let bare = "it rained on the whole valley today,1\nit was dry and warm in the valley,0\n";
    let (draft, card) = drafted(&[("rain.csv", bare)], &Hints::default());
    assert_eq!(
        card.layouts[0].columns.text.names(),
        ["c1"],
        "{}",
        draft.text
    );
}

#[test]
fn column_files_are_tagging() {
    let text = "-DOCSTART- -X- O\n\nit PRP O\nrained VBD O\n\nNils NNP B-PER\nsang VBD O\n";
    let (_, card) = drafted(&[("ner.txt", text)], &Hints::default());
    assert_eq!(
        (card.task, card.labels.as_slice()),
        (Task::Tagging, &["PER".to_string()][..])
    );
    assert_eq!(card.splits["train"].words, Some(4));
}

#[test]
fn what_is_ambiguous_is_asked_for_by_the_name_of_the_option() {
    let two = "alpha,beta,label\nsome words here now,other words here now,x\nmore words are here,and more words here,y\n";
    let vague = "alpha,beta\nx,y\nz,w\n";
    let none = |text: &str| Hints {
        text: Some(text.into()),
        ..Hints::default()
    };
    for (name, text, hints, says) in [
        ("a.csv", two, Hints::default(), "--text"),
        ("a.csv", vague, Hints::default(), "--header"),
        (
            "a.csv",
            REVIEWS,
            none("txt"),
            "--text: no column `txt`; did you mean `text`?",
        ),
        (
            "a.dat",
            "one two three\nfour five six\n",
            Hints::default(),
            "--separator",
        ),
        (
            "a.json",
            "[{\"text\": \"a\"}]",
            Hints::default(),
            "one JSON array; expected JSON lines, one object a line",
        ),
        (
            "a.json",
            "{\n  \"text\": \"a\",\n  \"label\": 1\n}\n",
            Hints::default(),
            "one JSON object over several lines; expected JSON lines, one object a line",
        ),
    ] {
        let error = refused(&[(name, text)], &hints);
        assert!(error.contains(says), "{says}: {error}");
    }
}
