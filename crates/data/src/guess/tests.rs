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
fn arrays_compressed_files_and_other_encodings_are_read() {
    let array = "[\n  {\"sentence\": \"it rained\", \"label\": 1},\n  {\"sentence\": \"it was dry\", \"label\": 0}\n]\n";
    let (_, card) = drafted(&[("rain.json", array)], &Hints::default());
    assert_eq!(
        card.layouts[0].format,
        crate::format::Format::Json(Default::default())
    );
    assert_eq!(card.splits["train"].rows, 2);

    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
        std::io::Write::write_all(&mut encoder, bytes).expect("written");
        encoder.finish().expect("a file")
    };
    let hints = |encoding: Option<&str>| Hints {
        label: Some("stars".into()),
        encoding: encoding.map(String::from),
        ..Hints::default()
    };
    let latin = b"id;text;stars\nr1;un caf\xe9 cher;bad\nr2;un bon caf\xe9;good\n".to_vec();
    let text = String::from_utf8_lossy(&latin).replace('\u{fffd}', "é");
    let wide: Vec<u8> = ("\u{feff}".to_string() + &text)
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let zstd = zstd::encode_all(text.as_bytes(), 3).expect("a frame");
    for (file, bytes, encoding) in [
        ("a.csv", latin.clone(), Some("windows-1252")),
        ("a.csv.gz", gzip(&latin), Some("windows-1252")),
        ("a.csv.gz", gzip(text.as_bytes()), None),
        ("a.csv.zst", zstd, None),
        ("a.csv", wide, None),
    ] {
        let dir = folder(&[]);
        let path = dir.path().join(file);
        std::fs::write(&path, &bytes).expect("a file");
        let draft = draft(&path, &hints(encoding), dir.path(), true).expect(file);
        assert_eq!(draft.name, "a");
        let card = dir.path().join("a.toml");
        std::fs::write(&card, &draft.text).expect("a card");
        let dataset = Card::read(&card).and_then(|card| card.load(Path::new("")));
        let dataset = dataset.expect(&draft.text);
        assert_eq!(
            dataset.examples[0].input,
            crate::Input::Text("un café cher".into()),
            "{}",
            draft.text
        );
    }
    let dir = folder(&[]);
    let path = dir.path().join("a.csv");
    std::fs::write(&path, &latin).expect("a file");
    let error = draft(&path, &hints(None), dir.path(), true).expect_err("no encoding");
    assert!(error.to_string().contains("line 2: not UTF-8"), "{error}");
    assert!(error.to_string().contains("give --encoding"), "{error}");
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
fn the_first_line_that_differs_from_the_others_is_named() {
    let lines = |other: &str| format!("{}\n{other}\n\n", "Nils B-PER\nsang O\n".repeat(20));
    let tagging = Hints {
        task: Some(Task::Tagging),
        ..Hints::default()
    };
    for (text, hints, says) in [
        (
            lines("Ann"),
            Hints::default(),
            "line 42: `Ann`: found 1, expected 2 columns, as 40 of 41 lines with a word have",
        ),
        (
            lines("Ann B_PER"),
            Hints::default(),
            "line 42: `Ann B_PER`: found the tag `B_PER`, expected `O`, or a letter",
        ),
        (
            "Nils B-PER\n\nsang\n".into(),
            tagging,
            "line 3: `sang`: found 1, expected 2 columns",
        ),
        (
            format!("{}a film,\n", "a fine film;good\n".repeat(12)),
            Hints::default(),
            "';' divides line 13 into 1 and 12 of 13 lines into 2; mend that line, or give --separator",
        ),
    ] {
        let error = refused(&[("a.txt", &text)], &hints);
        assert!(error.contains(says), "{says}: {error}");
    }
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

const TEXTS: [&str; 4] = [
    "the parcel is late",
    "it broke and came late",
    "all is well here",
    "the lid broke off",
];

/// A table with these fields behind the texts.
fn table(header: &str, fields: [&str; 4]) -> String {
    let rows = TEXTS.iter().zip(fields);
    let rows = rows.map(|(text, fields)| format!("{text},{fields}\n"));
    [format!("text,{header}\n")]
        .into_iter()
        .chain(rows)
        .collect()
}

#[test]
fn several_labels_of_a_row_are_found_in_each_layout() {
    let lists = TEXTS
        .iter()
        .zip(["[\"late\"]", "[\"broken\", \"late\"]", "[]", "[\"broken\"]"]);
    let lists =
        lists.map(|(text, labels)| format!("{{\"text\": \"{text}\", \"labels\": {labels}}}\n"));
    for (name, text, reason, columns) in [
        (
            "a.csv",
            table(
                "topics,shop",
                ["late,north", "broken|late,east", ",south", "broken,west"],
            ),
            "`topics` has 2 labels: `|` stands between the labels of a row",
            "label = \"topics\", label-separator = \"|\"",
        ),
        (
            "a.jsonl",
            lists.collect(),
            "`labels` has 2 labels: its fields are lists",
            "label = \"labels\" }",
        ),
        (
            "a.csv",
            table("broken,late", ["0,1", "1,1", "0,0", "1,0"]),
            "`broken`, `late`: columns of only 0 and 1",
            "label = [\"broken\", \"late\"]",
        ),
    ] {
        let label = text.contains("topics").then(|| "topics".to_string());
        let hints = Hints {
            label,
            ..Hints::default()
        };
        let (draft, card) = drafted(&[(name, &text)], &hints);
        assert_eq!(card.task, Task::MultiLabel);
        assert_eq!(card.labels, ["broken", "late"]);
        assert_eq!(card.splits["train"].counts, Some(vec![2, 2]));
        assert!(
            draft
                .text
                .contains(&format!("task = \"multi-label\"  # {reason}")),
            "{}",
            draft.text
        );
        assert!(draft.text.contains(columns), "{}", draft.text);
    }
}

#[test]
fn a_comma_between_labels_is_asked_about_and_one_label_in_each_row_is_a_class() {
    let commas = table(
        "labels",
        ["late", "\"broken,late\"", "\"fine,late\"", "broken"],
    );
    let file = ("a.csv", &*commas);
    let (draft, card) = drafted(&[file], &Hints::default());
    assert_eq!(
        card.task,
        Task::Classification,
        "a comma may be part of a name"
    );
    assert_eq!(
        draft.notes,
        [
            "`labels` has commas in 2 of 4 labels, such as `broken,late`, which is taken for one label; if commas stand between several, give --task multi-label"
        ]
    );
    let asked = |task: Option<Task>, separator: Option<&str>| Hints {
        task,
        label_separator: separator.map(String::from),
        ..Hints::default()
    };
    for hints in [asked(Some(Task::MultiLabel), None), asked(None, Some(","))] {
        let (_, card) = drafted(&[file], &hints);
        assert_eq!((card.task, card.labels.len()), (Task::MultiLabel, 3));
    }
    // A column that is taken for the label since only it has few values.
    let few = table(
        "id,mood,shop",
        ["1,late|x,a", "2,late|x,b", "3,x,c", "4,late,d"],
    );
    let (_, card) = drafted(&[("a.csv", &few)], &Hints::default());
    assert_eq!(
        (card.task, card.labels.join(" ")),
        (Task::MultiLabel, "late x".to_string())
    );
    assert_eq!(card.layouts[0].columns.id.as_deref(), Some("id"));
    let plain = table("labels", ["late", "broken", "late", "broken"]);
    let hints = asked(Some(Task::MultiLabel), None);
    assert_eq!(
        refused(&[("a.csv", &plain)], &hints)
            .replace('\\', "/")
            .split(": ")
            .last(),
        Some(
            "`labels` has no list and none of `|`, `;` and `,` in any field; give --label-separator"
        )
    );
    let both = table("labels", ["late", "broken|late;x", "x;late", "broken"]);
    assert!(
        refused(&[("a.csv", &both)], &hints)
            .ends_with("all divide fields of `labels`; give --label-separator")
    );
}

#[test]
fn labels_have_an_order_only_where_it_is_asked_for() {
    let stars = table("stars", ["5", "1", "10", "1"]);
    let file = ("a.csv", &*stars);
    let (draft, card) = drafted(&[file], &Hints::default());
    assert_eq!(card.task, Task::Classification);
    assert_eq!(draft.notes.len(), 1);
    assert!(
        draft.notes[0].ends_with("give --task ordinal"),
        "{}",
        draft.notes[0]
    );
    let hints = |order: Option<&[&str]>| Hints {
        task: Some(Task::Ordinal),
        order: order.map(|order| order.iter().map(ToString::to_string).collect()),
        ..Hints::default()
    };
    let (_, card) = drafted(&[file], &hints(None));
    assert_eq!(
        (card.task, card.labels.join(" ")),
        (Task::Ordinal, "1 5 10".to_string())
    );
    assert_eq!(card.metrics[0], "quadratic-kappa");
    let scale = table("mood", ["-1", "1", "0", "1"]);
    let (_, card) = drafted(&[("a.csv", &scale)], &hints(None));
    assert_eq!(
        (card.labels.join(" "), &card.layouts[0].unlabelled),
        ("-1 0 1".to_string(), &None)
    );
    let words = table("rating", ["good", "bad", "fair", "bad"]);
    let file = ("a.csv", &*words);
    let error = refused(&[file], &hints(None));
    assert!(
        error.contains("their order is not known: `bad`, `fair`, `good`; give --order"),
        "{error}"
    );
    let error = refused(&[file], &hints(Some(&["bad", "fine", "good"])));
    assert!(
        error.contains("--order: `rating` has `fair`, which is not in it"),
        "{error}"
    );
    let (_, card) = drafted(&[file], &hints(Some(&["bad", "fair", "good", "best"])));
    assert_eq!(card.labels, ["bad", "fair", "good", "best"]);
    assert_eq!(card.splits["train"].counts, Some(vec![2, 1, 1, 0]));
}

#[test]
fn minus_one_is_no_label_only_where_it_is_rare_and_classes_are_counted() {
    let of = |values: &[(&str, usize)]| {
        let rows = values
            .iter()
            .flat_map(|(value, n)| std::iter::repeat_n(*value, *n));
        let lines = rows
            .enumerate()
            .map(|(at, value)| format!("a text of some words {at},{value}\n"));
        format!("text,label\n{}", lines.collect::<String>())
    };
    let draft = |values: &[(&str, usize)], task: Option<Task>| {
        let hints = Hints {
            task,
            ..Hints::default()
        };
        let (draft, card) = drafted(&[("a.csv", &of(values))], &hints);
        (
            card.labels.join(" "),
            card.layouts[0].unlabelled.clone(),
            draft.notes.join("; "),
        )
    };
    let (labels, none, notes) = draft(&[("0", 20), ("1", 20), ("2", 20), ("-1", 2)], None);
    assert_eq!((&*labels, none.as_deref()), ("0 1 2", Some("-1")));
    assert!(
        notes.contains("-1 in 2 of 62 rows, which is taken for no label"),
        "{notes}"
    );
    for (values, expected) in [
        (&[("-1", 20), ("0", 20), ("1", 20)][..], "-1 0 1"),
        (&[("-1", 2), ("1", 40)], "-1 1"),
        (&[("-2", 20), ("-1", 2), ("0", 20)], "-2 -1 0"),
    ] {
        let (labels, none, _) = draft(values, None);
        assert_eq!((&*labels, none), (expected, None));
    }
    let scores = [("-1", 2), ("0", 20), ("1", 20)];
    let hints = Hints {
        task: Some(Task::Regression),
        ..Hints::default()
    };
    let (draft, card) = drafted(&[("a.csv", &of(&scores))], &hints);
    assert_eq!(card.layouts[0].unlabelled, None);
    assert!(draft.text.contains("range = [-1.0, 1.0]"), "{}", draft.text);
    let empty = of(&[("good", 3), ("bad", 3), ("", 2)]);
    let (draft, card) = drafted(&[("a.csv", &empty)], &Hints::default());
    let (none, notes) = (card.layouts[0].unlabelled.clone(), draft.notes.join("; "));
    assert_eq!(none.as_deref(), Some(""));
    assert!(notes.contains("`label` is empty in 2 of 8 rows"), "{notes}");
}

#[test]
fn separators_are_found_next_to_commas_in_texts_and_breaks_in_fields() {
    let rows = |n: usize, line: &str| {
        format!(
            "text{0}label\n{1}",
            line.chars().find(|c| ";\t".contains(*c)).expect("one"),
            line.repeat(n)
        )
    };
    for line in [
        "good, really;yes\nnot so good;no\n",
        "good, really\tyes\nnot so good\tno\n",
    ] {
        let (draft, card) = drafted(&[("a.csv", &rows(3, line))], &Hints::default());
        assert_eq!(card.labels, ["no", "yes"], "{}", draft.text);
    }
    // The 200 lines that are examined end within a field.
    let broken = "\"good,\nreally\";\"yes\"\n\"not\nso\ngood\";\"no\"\n";
    for n in 38..43 {
        let (_, card) = drafted(&[("a.csv", &rows(n, broken))], &Hints::default());
        assert_eq!(card.labels, ["no", "yes"], "{n}");
    }
    let error = refused(
        &[("a.csv", "one;two\nbad film;no;why\nfine;yes\n")],
        &Hints::default(),
    );
    assert!(
        error.ends_with(
            "give --header yes or --header no, and --separator if a character divides it"
        ),
        "{error}"
    );
    let hints = Hints {
        label: Some("score".into()),
        ..Hints::default()
    };
    let error = refused(
        &[("a.csv", "text;score\na fine film;3,5\na film;2\n")],
        &hints,
    );
    assert!(
        error.contains("`score` has numbers with decimal commas, such as `3,5`"),
        "{error}"
    );
    let hints = Hints {
        task: Some(Task::Regression),
        ..hints
    };
    let error = refused(
        &[("a.csv", "text,score\na fine film,3.5\na film,good\n")],
        &hints,
    );
    assert!(
        error.contains("`score` has `good` in row 2; expected numbers"),
        "{error}"
    );
}

#[test]
fn nested_objects_are_no_columns_and_texts_need_no_spaces() {
    let nested = "{\"meta\": {\"by\": 1}, \"content\": \"a fine film\", \"class\": \"good\"}\n{\"meta\": {}, \"content\": \"a poor film\", \"class\": \"bad\"}\n";
    let (_, card) = drafted(&[("a.jsonl", nested)], &Hints::default());
    assert_eq!(card.labels, ["bad", "good"]);
    let chinese = "c,d\n这部电影非常好看我很喜欢,正面\n这部电影太无聊了我不喜欢,负面\n这部电影还可以值得一看的,正面\n";
    let hints = Hints {
        header: Some(true),
        ..Hints::default()
    };
    let (_, card) = drafted(&[("a.csv", chinese)], &hints);
    assert_eq!(card.labels, ["正面", "负面"]);
}

#[test]
fn labels_that_differ_only_in_case_or_spaces_are_noted() {
    let rows = ["Good", "good", "good ", "bad", "so so", "so  So"];
    let text = |row: &&str| {
        (0..3)
            .map(|at| format!("a text of words {row} {at},{row}\n"))
            .collect::<String>()
    };
    let file = format!("text,label\n{}", rows.iter().map(text).collect::<String>());
    let (draft, card) = drafted(&[("a.csv", &file)], &Hints::default());
    assert_eq!(card.labels.len(), 6);
    let end = "differ only in case or spaces and are different labels; write them alike in the file if they are meant to be one";
    let noted = [
        format!("`Good`, `good`, `good ` {end}"),
        format!("`so  So`, `so so` {end}"),
    ];
    assert_eq!(draft.notes, noted);
    let (draft, _) = drafted(
        &[("a.csv", "text,label\na b,x\nc d,y\n")],
        &Hints::default(),
    );
    assert_eq!(draft.notes, [""; 0]);
}

#[test]
fn the_name_of_a_file_says_what_its_first_broken_line_should_be() {
    let hints = Hints::default();
    let broken = "{\"text\": \"a\", \"label\": \"x\"\n";
    let refused = [
        refused(&[("rows.jsonl", broken)], &hints),
        refused(&[("few.conll", "a O\nb\nc B-X\n\nd O\n")], &hints),
    ];
    assert!(
        refused[0].contains("while parsing an object"),
        "{}",
        refused[0]
    );
    assert!(
        refused[1].contains("line 2: `b`: found 1, expected 2 columns"),
        "{}",
        refused[1]
    );
}
