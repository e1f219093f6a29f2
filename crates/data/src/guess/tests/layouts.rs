//! Forms of files: separators, encodings, compression, JSON, and their broken lines.

use super::*;

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
            "';' divides line 13 into 1 and 12 of 13 lines into 2; correct that line, or give --separator",
        ),
    ] {
        let error = refused(&[("a.txt", &text)], &hints);
        assert!(error.contains(says), "{says}: {error}");
    }
}

#[test]
fn quotes_of_a_tab_separated_file_enclose_tabs_and_line_breaks() {
    for field in ["a\tfine film", "a\nfine film", "a \"\"fine\"\" film"] {
        let text = format!("text\tlabel\n\"{field}\"\tgood\nbad film\tbad\nno film\tbad\n");
        let (draft, card) = drafted(&[("a.tsv", &text)], &Hints::default());
        assert!(
            draft.text.contains("quotes = \"doubled\""),
            "{}",
            draft.text
        );
        assert_eq!(card.splits["train"].rows, 3, "{field}");
    }
    // Elsewhere they are letters.
    let text = "text\tlabel\n\"a film\tgood\nbad\" film\tbad\n";
    let (draft, _) = drafted(&[("a.tsv", text)], &Hints::default());
    assert!(!draft.text.contains("quotes"), "{}", draft.text);
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
    for number in ["3,5", "1,250", "-1,234,567.8"] {
        let rows = format!("text;score\na fine film;{number}\na film;2\n");
        let error = refused(&[("a.csv", &rows)], &hints);
        let expected = format!("`score` has numbers with commas, such as `{number}`; expected");
        assert!(error.contains(&expected), "{error}");
    }
    let hints = Hints {
        task: Some(Task::Regression),
        ..hints
    };
    let error = refused(
        &[("a.csv", "text,score\na fine film,3.5\na film,good\n")],
        &hints,
    );
    assert!(
        error.contains("`score` has `good` on line 3; expected numbers"),
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
fn what_is_no_text_is_named_and_quoted_without_control_characters() {
    let of = |name: &str, bytes: &[u8], encoding: Option<&str>| {
        let dir = folder(&[]);
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).expect("a file");
        let hints = Hints {
            encoding: encoding.map(String::from),
            ..Hints::default()
        };
        let error = draft(&path, &hints, dir.path(), true).expect_err(name);
        let error = format!("{error:#}");
        let (_, after) = error.split_once(&format!("{name}: ")).expect(&error);
        after.to_string()
    };
    let wide: Vec<u8> = "text,label\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    for (bytes, encoding, expected) in [
        (
            &b"PK\x03\x04\x14\0\x06\0"[..],
            None,
            "found an Excel or zip file, expected text or parquet; save it as CSV",
        ),
        (
            b"PK\x03\x04\x14\0\x06\0",
            Some("latin1"),
            "found an Excel or zip file, expected text or parquet; save it as CSV",
        ),
        (
            b"\x1f\x8b\x08\0",
            None,
            "found a file compressed with gzip, expected a name that ends in .gz, such as `a.csv.gz`",
        ),
        (
            b"text,label\nwell \xff\0,x\n",
            None,
            "line 2: found a NUL byte, which no text has; expected UTF-8 text or parquet; of UTF-16 give --encoding utf-16le",
        ),
        (
            b"text,label\nwell \xff\0,x\n",
            Some("latin1"),
            "line 2: found a NUL byte, which no text has; expected text in latin1",
        ),
        (
            &wide,
            None,
            "line 1: found a NUL byte, which no text has; expected UTF-8 text or parquet; of UTF-16 give --encoding utf-16le",
        ),
        (
            b"\n \n\r\n\t\n",
            None,
            "has only blank lines, expected rows",
        ),
        (
            b"\xef\xbb\xbf\n\n",
            None,
            "has only blank lines, expected rows",
        ),
        (
            b"al\x1bpha,beta\nx,y\nz,w\n",
            None,
            "the first line may be names or a row: `al\\u{1b}pha`, `beta`; give --header yes or --header no",
        ),
    ] {
        assert_eq!(of("a.csv", bytes, encoding), expected);
    }
    let long = format!("{},b\nx,y\nz,w\n", "a".repeat(5000));
    assert!(of("a.csv", long.as_bytes(), None).len() < 200);
}

/// The labels and the number of rows of a file that is drafted without options.
fn read(name: &str, text: &str) -> (Vec<String>, usize) {
    let (_, card) = drafted(&[(name, text)], &Hints::default());
    (card.labels.clone(), card.splits["train"].rows)
}

fn repeated(first: &str, rows: [&str; 2]) -> String {
    let rows = (0..8).map(|at| format!("{}\n", rows[at % 2].replace('#', &at.to_string())));
    [format!("{first}\n")].into_iter().chain(rows).collect()
}

#[test]
fn questions_and_numbers_of_columns_are_headers_and_a_value_that_recurs_is_none() {
    let form = "When,What did you like about the course?,How satisfied are you overall?";
    let scores = [
        "2024-0#,it was fun # times,4",
        "2023-0#,it was dull # times,2",
    ];
    let labels = |labels: [&str; 2]| labels.map(String::from).to_vec();
    assert_eq!(
        read("form.csv", &repeated(form, scores)),
        (labels(["2", "4"]), 8)
    );
    let ask = "What did you like about it?,Would you recommend it to a friend?";
    let answers = ["it was fun # times,Yes", "it was dull # times,No"];
    assert_eq!(
        read("ask.csv", &repeated(ask, answers)),
        (labels(["No", "Yes"]), 8)
    );
    let counted = ["it was fun # times,pos", "it was dull # times,neg"];
    assert_eq!(
        read("counted.csv", &repeated("0,1", counted)),
        (labels(["neg", "pos"]), 8)
    );
    let none = [
        "few stars for this shop #,rating",
        "the food came cold #,dish",
    ];
    let first = "the stars are too low here,rating";
    assert_eq!(
        read("none.csv", &repeated(first, none)),
        (labels(["dish", "rating"]), 9)
    );
}

#[test]
fn a_separator_that_a_spreadsheet_wrote_or_that_the_name_does_not_tell_is_found() {
    let rows = ["it was fun # times|pos", "it was dull # times|neg"];
    let (labels, n) = read("pipe.csv", &repeated("text|label", rows));
    assert_eq!((labels.len(), n), (2, 8));
    let text = format!("sep=;\n{}", repeated("text;label", rows).replace('|', ";"));
    let error = refused(&[("sheet.csv", &text)], &Hints::default());
    assert!(
        error.contains("line 1: `sep=;`, which spreadsheets read"),
        "{error}"
    );
}

#[test]
fn keys_that_the_first_object_lacks_are_columns_too() {
    let first = "{\"text\": \"a fine day\", \"shop\": \"north\"}\n";
    let other = "{\"text\": \"a dull day\", \"shop\": \"east\", \"label\": \"bad\"}\n";
    let last = other.replace("bad", "good");
    let text = [first, other, &last].concat();
    let error = refused(&[("a.jsonl", &text)], &Hints::default());
    assert!(error.contains("line 1: no key `label`; found"), "{error}");
}

/// The draft for a committed file of parquet, and its card.
fn of_parquet(path: &str, hints: &Hints) -> Result<(Draft, Card)> {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let file = dir.path().join("mine.parquet");
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/data");
    std::fs::copy(fixtures.join(path), &file).expect("a committed file");
    let draft = draft(&file, hints, dir.path(), true)?;
    std::fs::write(dir.path().join("mine.toml"), &draft.text).expect("a card");
    let card = Card::read(&dir.path().join("mine.toml"))?;
    for checked in check(&card, Path::new("nowhere")) {
        assert_eq!(checked.verdict, Verdict::Agrees, "{}", draft.text);
    }
    Ok((draft, card))
}

#[test]
fn lists_in_parquet_are_labels_or_words_and_tags() {
    let (draft, card) = of_parquet("own/topics.parquet", &Hints::default()).expect("a draft");
    assert_eq!(card.task, Task::MultiLabel, "{}", draft.text);
    assert_eq!(card.labels, ["price", "service", "taste"]);
    let error = of_parquet("ner/hub/train.parquet", &Hints::default());
    let error = format!("{:#}", error.expect_err("integers without names"));
    assert!(
        error.contains("give --tags with the tag that each integer"),
        "{error}"
    );
    let tags = "O,B-PER,I-PER,B-ORG,I-ORG,B-LOC,I-LOC,B-MISC,I-MISC";
    let named = Hints {
        tags: Some(tags.split(',').map(str::to_owned).collect()),
        ..Hints::default()
    };
    let (draft, card) = of_parquet("ner/hub/train.parquet", &named).expect("a draft");
    assert_eq!(card.task, Task::Tagging, "{}", draft.text);
}
