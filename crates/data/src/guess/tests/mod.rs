//! Tests of the module above: helpers, and guesses of columns.

mod labels;
mod layouts;
mod splits;
mod tags;
mod values;

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
fn rows_without_a_text_are_dropped_or_kept_when_asked() {
    let text = "id,text,label\n1,a fine film to see,good\n2,,bad\n3,not a fine film,bad\n";
    let with = |empty: Option<Empty>| Hints {
        empty,
        ..Hints::default()
    };
    let error = refused(&[("films.csv", text)], &with(None));
    assert!(
        error.contains("line 3") && error.contains("--empty"),
        "{error}"
    );
    for (empty, rows) in [(Empty::Drop, 2), (Empty::Keep, 3)] {
        let (_, card) = drafted(&[("films.csv", text)], &with(Some(empty)));
        assert_eq!(
            (card.layouts[0].empty, card.splits["train"].rows),
            (empty, rows)
        );
    }
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
            "[\"a text\"]",
            Hints::default(),
            "invalid type: string \"a text\", expected an object",
        ),
        (
            "a.json",
            "{\n  \"text\": \"a\",\n  \"label\": 1\n}\n",
            Hints::default(),
            "one JSON object over several lines; expected an array, or one object a line",
        ),
    ] {
        let error = refused(&[(name, text)], &hints);
        assert!(error.contains(says), "{says}: {error}");
    }
}

#[test]
fn a_column_of_texts_by_name_has_words_in_it() {
    let text =
        "document,passage,label\nd0,a fine film to see,x\nd1,not a fine film,y\nd2,a dull film,x\n";
    let (_, card) = drafted(&[("a.csv", text)], &Hints::default());
    assert_eq!(
        card.layouts[0].columns.text.names(),
        ["passage".to_string()]
    );
}

#[test]
fn two_options_name_two_columns() {
    let hints = Hints {
        text: Some("text".into()),
        label: Some("text".into()),
        ..Hints::default()
    };
    let said = refused(&[("reviews.csv", REVIEWS)], &hints);
    let expected =
        "reviews.csv: --text and --label: both name the column `text`; expected two columns";
    assert!(said.ends_with(expected), "{said}");
}

#[test]
fn a_first_line_with_names_that_options_give_is_a_header() {
    let rows = "alpha,beta\nq,good\nz,bad\nw,good\nx,bad\n";
    let said = refused(&[("odd.csv", rows)], &Hints::default());
    assert!(said.contains("may be names or a row"), "{said}");
    let named = Hints {
        text: Some("alpha".into()),
        label: Some("beta".into()),
        ..Hints::default()
    };
    let (draft, card) = drafted(&[("odd.csv", rows)], &named);
    assert_eq!(card.splits["train"].rows, 4);
    assert!(
        draft
            .text
            .contains("the first line has the name that --text gives"),
        "{}",
        draft.text
    );
    // A value of the column is no name of it.
    let value = Hints {
        label: Some("good".into()),
        ..Hints::default()
    };
    let said = refused(&[("odd.csv", "q,good\nz,bad\nw,good\nx,bad\n")], &value);
    assert!(said.contains("may be names or a row"), "{said}");
}

#[test]
fn options_agree_with_the_card_that_was_drafted_with_them() {
    let labels = "text,mood\nso,bad\nlo,fair\nmi,good\nfa,bad\n";
    let sets = "title;body;topics\na b;c d;x|y\ne f;g h;x\n";
    let words = "{\"tokens\": [\"Ann\", \"sang\"], \"tags\": [1, 0]}\n";
    let named = |text: &str, label: &str| Hints {
        text: Some(text.into()),
        label: Some(label.into()),
        ..Hints::default()
    };
    let ordinal = Hints {
        task: Some(Task::Ordinal),
        order: Some(["bad", " fair", " good"].map(String::from).into()),
        empty: Some(Empty::Drop),
        encoding: Some("UTF-8".into()),
        separator: Some(','),
        header: Some(true),
        ..named("text", "mood")
    };
    let multi_label = Hints {
        second: Some("body".into()),
        separator: Some(';'),
        label_separator: Some("|".into()),
        ..named("title", "topics")
    };
    let tagged = Hints {
        tags: Some(["O", "B-X"].map(String::from).into()),
        scheme: Some(Scheme::Bio),
        ..named("tokens", "tags")
    };
    for (file, text, hints) in [
        ("a.csv", labels, ordinal),
        ("a.csv", sets, multi_label),
        ("a.jsonl", words, tagged),
    ] {
        let (draft, card) = drafted(&[(file, text)], &hints);
        let layout = &card.layouts[0];
        assert_eq!(hints.disagreement(&card, layout), None, "{}", draft.text);
        assert_eq!(Hints::default().disagreement(&card, layout), None);
        let other = named("text", "other");
        assert!(other.disagreement(&card, layout).is_some());
    }
}
