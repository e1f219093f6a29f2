//! Forms of input files, and errors in them.

use super::*;
use crate::support::sentences;
use totune_data::format::{Conll, Delimited, Extra, Format, LineBreaks, Quotes, Separator};

/// `n,text`, `1,A kite` and `2,Zoë €` on three lines, as gzip and zstd store them.
const GZIP: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\xd3)I\xad(\xe12\xd4qT\xc8\xce,I\xe52\xd2\x89\xca?\xbcZ\xe1Q\xd3\x1a.\x00X\xbc[\xe5\x1b\x00\x00\x00";
const ZSTD: &[u8] =
    b"(\xb5/\xfd\x04X\xd9\x00\x00n,text\x0a1,A kite\x0a2,Zo\xc3\xab \xe2\x82\xac\x0a\xff$4\x03";

#[test]
fn errors_name_the_file_the_line_and_what_is_expected() {
    let files = Files::new(Task::Classification, &texts());
    let cases = [
        (
            "a.csv",
            "id,texts\n1,a\n",
            false,
            "no column `text`; did you mean `texts`? found `id`, `texts`; --text names another one",
        ),
        (
            "b.csv",
            "text,x\na\n",
            false,
            "b.csv: line 2: fields: found 1, expected 2: `text`, `x`",
        ),
        (
            "b.csv",
            "text\n\"a\n",
            false,
            "b.csv: line 2: a quoted field opens here and the file ends before it closes",
        ),
        ("b.csv", "", false, "b.csv: the file is empty"),
        (
            "b.json",
            "[{\"text\": \"a\"}",
            false,
            "b.json: line 1: found the end of the file",
        ),
        (
            "c.jsonl",
            "{\"text\": \"a\"}\n{\"body\": \"b\"}\n",
            false,
            "line 2: no key `text`; found `body`",
        ),
        ("d.jsonl", "[1]\n", false, "line 1: expected a JSON object"),
        (
            "e.csv",
            "text,label\na,01\nb,10\n",
            true,
            "line 3: `10` is no label of the model",
        ),
        ("f.csv", "text\na\n", true, "no column `label`"),
        ("g.csv", "text,label\n", true, "found no rows to score"),
        (
            "k.csv",
            "text,text\na,b\n",
            false,
            "k.csv: column `text` is named twice; expected it once",
        ),
        (
            "k.jsonl",
            "{\"text\": \"a\", \"text\": \"b\"}\n",
            false,
            "k.jsonl: line 1: `text`: the key is there twice",
        ),
        (
            "h.conll",
            "a O\n",
            false,
            "the model reads texts, expected csv, tsv, json, parquet or lines",
        ),
        (
            "i.bin",
            "",
            false,
            "the name does not say how the file is laid out",
        ),
    ];
    for (name, text, labelled, expected) in cases {
        let error = files.error(name, text, labelled);
        assert!(error.contains(expected), "{name}: {error}");
    }
    let list = "{\"text\": \"A kite\"}\n{\"text\": [\"A\", \"kite\"]}\n";
    let error = files.error("l.jsonl", list, false);
    assert!(
        error.contains("l.jsonl: line 2: found a list of words, expected a text"),
        "{error}"
    );
}

#[test]
fn tags_of_another_scheme_are_converted_and_wrong_ones_named() {
    let tags = Files::new(Task::Tagging, &sentences());
    // Another scheme is converted to BIO.
    let mut bioes = tags
        .source("b.conll", "Zoë S-PER\nmill B-LOC\nhill E-LOC\n", true)
        .expect("a file");
    let found = evaluate(&tags.model, &mut bioes, &mut |_| ControlFlow::Continue(()));
    assert_eq!(found.expect("scores").rows, 1);
    // So is IOB1, though each of its tags is one of BIO.
    let scores = |text: &str| {
        let mut source = tags.source("c.conll", text, true).expect("a file");
        let found = evaluate(&tags.model, &mut source, &mut |_| ControlFlow::Continue(()));
        found.expect("scores").metrics
    };
    assert_eq!(
        scores("Zoë I-PER\nmill I-LOC\nhill I-LOC\n"),
        scores("Zoë B-PER\nmill B-LOC\nhill I-LOC\n")
    );
    let error = tags.error("d.conll", "\nZoë B-PER\nmill B-PRE\n", true);
    assert!(error.contains("d.conll: line 3: `B-PRE`"), "{error}");
    let error = tags.error("a.conll", "Zoë B-PRE\n", true);
    assert!(
        error.contains("line 1: `B-PRE` is no label of the model; did you mean `B-PER`? expected"),
        "{error}"
    );
}

#[test]
fn files_are_read_in_every_form_that_training_files_have() {
    let mut files = Files::new(Task::Classification, &texts());
    let texts = ["A kite", "Zoë €"];
    let expected: Vec<String> = texts.map(String::from).to_vec();
    let csv = "n,text\n1,A kite\n2,Zoë €\n";
    let utf_16: Vec<u8> = std::iter::once(0xfeff)
        .chain(csv.encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    let array = "[\n  {\"text\": \"A kite\"},\n  {\"text\": \"Zoë €\", \"n\": [1]}\n]\n";
    let lines = "{\"text\": \"A kite\"}\n\n{\"text\": \"Zoë €\"}\n";
    let latin = b"n;text\r\n1;A kite\r\n2;Zo\xeb \x80\r\n";
    let windows = Some("windows-1252");
    let cases: [(&str, &[u8], Option<&str>); 9] = [
        ("a.csv", csv.as_bytes(), None),
        ("b.csv.gz", GZIP, None),
        ("c.csv.zst", ZSTD, None),
        ("d.csv", &utf_16, None),
        ("e.csv", latin, windows),
        ("f.json", array.as_bytes(), None),
        ("g.json", lines.as_bytes(), None),
        ("h.jsonl", lines.as_bytes(), Some("utf-8")),
        (
            "i.tsv",
            "n\ttext\n\"1\"\t\"A kite\"\n\"2\"\t\"Zoë €\"\n".as_bytes(),
            None,
        ),
    ];
    for (name, bytes, encoding) in cases {
        let path = files.write(name, bytes);
        let reading = ReadOptions {
            encoding: encoding.map(String::from),
            ..ReadOptions::default()
        };
        let (found, empty) = files.texts(&path, &reading).expect(name);
        assert_eq!(
            (found, empty),
            (expected.clone(), RowCount::default()),
            "{name}"
        );
    }
    let path = files.write("j.csv", latin);
    let error = files
        .texts(&path, &ReadOptions::default())
        .expect_err("not UTF-8");
    assert_eq!(
        error.to_string(),
        format!(
            "{}: line 3: found bytes that are no character in UTF-8; expected another encoding (--encoding)",
            path.display()
        )
    );
    // Trained on a file without a header line.
    files.model.manifest.layout.format = Some(Format::Csv(Delimited {
        header: Some(vec!["c1".into(), "c2".into()]),
        ..Delimited::default()
    }));
    files.model.manifest.layout.text = vec!["c2".into()];
    for (name, text) in [
        ("k.csv", "1,A kite\n2,Zoë €\n"),
        ("l.csv", "c1,c2\n1,A kite\n2,Zoë €\n"),
    ] {
        let path = files.write(name, text.as_bytes());
        let (found, _) = files.texts(&path, &ReadOptions::default()).expect(name);
        assert_eq!(found, expected, "{name}");
    }
    // The same without the labels, so that one column is left.
    files.model.manifest.layout.label = totune_data::Joined::One("c1".into());
    for (name, text) in [
        ("m.csv", "A kite\nZoë €\n"),
        ("n.csv", "c2\nA kite\nZoë €\n"),
    ] {
        let path = files.write(name, text.as_bytes());
        let (found, _) = files.texts(&path, &ReadOptions::default()).expect(name);
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn a_line_that_begins_a_document_is_no_sentence() {
    let files = Files::new(Task::Tagging, &sentences());
    let path = files.write(
        "a.conll",
        b"-DOCSTART- O\n\n-DOCSTART- O\n\nA O\nkite O\n\n-DOCSTART- O\n\nmill O\n",
    );
    let (found, empty) = files.texts(&path, &ReadOptions::default()).expect("words");
    assert_eq!((found.len(), empty), (2, RowCount::default()));
}

#[test]
fn delimited_text_is_read_with_the_settings_of_the_training_file() {
    let mut files = Files::new(Task::Classification, &texts());
    let layout = &mut files.model.manifest.layout;
    layout.format = Some(Format::Tsv(Delimited {
        quotes: Some(Quotes::None),
        extra: Extra::Ignore,
        line_breaks: LineBreaks::BackslashN,
        ..Delimited::default()
    }));
    layout.trim_end = true;
    let text = "text\tlabel\n\"A\\nkite\" \t01\n\"A mill\"\t01\tlicence\n";
    let expected = ["\"A\nkite\"", "\"A mill\""].map(|text| Input::Text(text.into()));
    files.reads("a.tsv", text, &expected);
    let mut source = files.source("b.tsv", text, true).expect("a file");
    evaluate(
        &files.model,
        &mut source,
        &mut |_| ControlFlow::Continue(()),
    )
    .expect("scores");
}

#[test]
fn numbers_in_objects_are_spelled_as_in_training() {
    let mut files = Files::new(Task::Classification, &texts());
    files.model.manifest.layout.text = vec!["text".into(), "price".into()];
    let text = "{\"text\": \"A kite\", \"price\": 5.0}\n{\"text\": \"A mill\", \"price\": 12}\n";
    let expected = ["A kite 5", "A mill 12"].map(|text| Input::Text(text.into()));
    files.reads("a.jsonl", text, &expected);
}

#[test]
fn words_and_tags_are_in_the_columns_of_the_training_file() {
    let mut files = Files::new(Task::Tagging, &sentences());
    let layout = &mut files.model.manifest.layout;
    layout.format = Some(Format::Conll(Conll {
        columns: ["place", "tag", "word"].map(String::from).to_vec(),
        separator: Separator::Tab,
        comment: Some("# ".into()),
    }));
    layout.text = vec!["word".into()];
    layout.label = totune_data::Joined::One("tag".into());
    let text = "# id 1\n1\tB-PER\tZoë\n2\tO\tpainted\n\n# id 2\n1\tO\tMy\n";
    let sentences: [&[&str]; 2] = [&["Zoë", "painted"], &["My"]];
    let words = |words: &[&str]| Input::Words(words.iter().map(|word| word.to_string()).collect());
    files.reads("a.conll", text, &sentences.map(words));
    let mut source = files.source("b.conll", text, true).expect("a file");
    evaluate(
        &files.model,
        &mut source,
        &mut |_| ControlFlow::Continue(()),
    )
    .expect("scores");
    // The same without tags; a comment comes out as it is.
    let out = files.predicted("c.conll", "# id 1\n1\tZoë\n2\tpainted\n", false);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "# id 1");
    assert!(lines[1].starts_with("1\tZoë\t"), "{out}");
}

#[test]
fn rows_without_a_text_are_predicted_too_and_counted() {
    let files = Files::new(Task::Classification, &texts());
    for (name, text) in [
        ("a.csv", "n,text\n1,A kite\n2,\n3,A mill\n4, \n"),
        (
            "a.jsonl",
            "{\"text\": \"A kite\"}\n\n{\"text\": null}\n{\"text\": \"\"}\n{\"text\": \"b\"}\n",
        ),
        ("a.txt", "A kite\nA mill\n\nand\n \n"),
    ] {
        let path = files.write(name, text.as_bytes());
        let (found, empty) = files.texts(&path, &ReadOptions::default()).expect(name);
        assert_eq!(
            (found.len(), empty),
            (
                4 + usize::from(name == "a.txt"),
                RowCount { rows: 2, first: 3 }
            ),
            "{name}"
        );
    }
}
