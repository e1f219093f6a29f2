//! Words and their tags.

use super::*;

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

/// Two JSON objects with lists of words and these lists of tags.
fn sentences(words: &str, tags: &str, rows: [&str; 2]) -> String {
    let texts = [r#"["Ann", "sang"]"#, r#"["it", "rained", "again"]"#];
    let rows = texts.iter().zip(rows).enumerate();
    let rows = rows.map(|(at, (text, row))| {
        format!("{{\"id\": {at}, \"document\": \"7\", \"{words}\": {text}, \"{tags}\": {row}}}\n")
    });
    rows.collect()
}

const NAMED: [&str; 2] = [r#"["B-PER", "O"]"#, r#"["O", "O", "O"]"#];
const NUMBERS: [&str; 2] = ["[1, 0]", "[0, 0, 0]"];

/// The columns of the words and of the tags, and the tags that integers stand for.
fn tagged(columns: Option<(&str, &str)>, tags: Option<&str>) -> Hints {
    Hints {
        text: columns.map(|(text, _)| text.to_string()),
        label: columns.map(|(_, label)| label.to_string()),
        tags: tags.map(|tags| tags.split(',').map(String::from).collect()),
        ..Hints::default()
    }
}

#[test]
fn lists_of_words_and_of_tags_are_tagging() {
    let pieces = sentences("pieces", "marks", NAMED);
    for (text, hints) in [
        (&sentences("tokens", "ner_tags", NAMED), tagged(None, None)),
        (&pieces, tagged(None, None)),
        (&pieces, tagged(Some(("pieces", "marks")), None)),
        (
            &pieces,
            Hints {
                task: Some(Task::Tagging),
                ..tagged(Some(("pieces", "marks")), None)
            },
        ),
        (
            &sentences("tokens", "ner_tags", NUMBERS),
            tagged(None, Some("O,B-PER,I-PER")),
        ),
    ] {
        let (draft, card) = drafted(&[("a.jsonl", text)], &hints);
        assert_eq!(
            (card.task, card.labels.join(" ")),
            (Task::Tagging, "PER".to_string()),
            "{}",
            draft.text
        );
        let facts = &card.splits["train"];
        assert_eq!((facts.words, &facts.counts), (Some(5), &Some(vec![1])));
        assert_eq!(card.layouts[0].columns.id.as_deref(), Some("id"));
    }
}

#[test]
fn lists_that_are_no_words_and_tags_are_refused_in_plain_words() {
    for (text, asked, says) in [
        (
            sentences("tokens", "ner_tags", NUMBERS),
            tagged(None, None),
            "`ner_tags` has integers from 0 to 1 for tags; give --tags with the tag that each integer",
        ),
        (
            sentences("tokens", "ner_tags", NUMBERS),
            tagged(None, Some("O")),
            "--tags: 1 given; `ner_tags` has integers from 0 to 1",
        ),
        (
            sentences(
                "tokens",
                "ner_tags",
                ["[\"NN\", \"VB\"]", "[\"X\", \"X\", \"X\"]"],
            ),
            tagged(Some(("tokens", "ner_tags")), None),
            "`ner_tags` has the tag `NN`; expected `O`, or a letter with a type",
        ),
        (
            sentences("tokens", "ner_tags", ["[\"O\"]", "[\"B-X\", \"O\", \"O\"]"]),
            tagged(Some(("tokens", "ner_tags")), None),
            "line 1: 1 tags for 2 words; expected one for each",
        ),
        (
            sentences("tokens", "ner_tags", NAMED),
            Hints {
                task: Some(Task::Tagging),
                ..tagged(Some(("document", "ner_tags")), None)
            },
            "`document` has no lists; expected a list of words in each object",
        ),
    ] {
        let error = refused(&[("a.jsonl", &text)], &asked);
        assert!(error.contains(says), "{says}: {error}");
    }
}

#[test]
fn the_one_row_whose_lists_do_not_fit_is_named() {
    let row = |words: &str, tags: &str| format!("{{\"tokens\": {words}, \"ner_tags\": {tags}}}\n");
    let rows = row(r#"["Ann", "sang"]"#, r#"["B-PER", "O"]"#).repeat(19);
    for (words, tags, says) in [
        (
            r#"["it", "rained"]"#,
            r#"["O"]"#,
            "line 20: 2 words in `tokens` and 1 tags in `ner_tags`; expected one for each, as in 19 of 20 rows",
        ),
        (
            r#""it rained""#,
            r#"["O", "O"]"#,
            "line 20: `tokens` has `it rained`; expected a list of words",
        ),
        (
            r#"["it", null]"#,
            r#"["O", "O"]"#,
            "line 20: `tokens` has `null`; expected a list of words",
        ),
        (
            r#"["it", "rained"]"#,
            r#"["O", "VB"]"#,
            "line 20: `ner_tags` has `VB`; expected a list of tags",
        ),
        (
            r#"["it", "rained"]"#,
            "null",
            "line 20: 2 words in `tokens` and 0 tags in `ner_tags`",
        ),
    ] {
        let text = rows.clone() + &row(words, tags);
        let as_tagging = Hints {
            task: Some(Task::Tagging),
            ..tagged(None, None)
        };
        for hints in [tagged(None, None), as_tagging] {
            let error = refused(&[("a.jsonl", &text)], &hints);
            assert!(error.contains(says), "{says}: {error}");
        }
    }
    // Half of the rows may as well be meant.
    let half = row(r#"["it"]"#, r#"["O"]"#) + &row(r#""it rained""#, "3");
    let error = refused(&[("a.jsonl", &half)], &tagged(None, None));
    assert!(!error.contains("as in"), "{error}");
}

#[test]
fn a_scheme_is_written_into_the_card_where_no_scheme_has_all_tags() {
    let mixed = "Nils B-PER\nKay I-PER\nsang O\n\nAnn I-PER\nsang O\n\nBo B-PER\n\n";
    let file = ("ner.txt", mixed);
    let error = refused(&[file], &Hints::default());
    assert!(
        error.contains("--scheme bio writes that into a new card"),
        "{error}"
    );
    let hints = Hints {
        scheme: Some(Scheme::Bio),
        ..Hints::default()
    };
    let dir = folder(&[file]);
    let draft = draft(&dir.path().join("ner.txt"), &hints, dir.path(), true).expect("a draft");
    assert!(draft.text.contains("scheme = \"bio\""), "{}", draft.text);
    let error = refused(&[("reviews.csv", REVIEWS)], &hints);
    assert!(error.contains("--scheme: given; expected none"), "{error}");
}

#[test]
fn lines_about_sentences_are_comments() {
    let text = "# id 1\nit O\nrained O\n\n# id 2\n# text = Nils\nNils B-PER\nsang O\n";
    for name in ["ner.txt", "ner.conll"] {
        let (_, card) = drafted(&[(name, text)], &Hints::default());
        assert_eq!(card.splits["train"].words, Some(4), "{name}");
    }
}
