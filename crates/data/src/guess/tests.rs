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
