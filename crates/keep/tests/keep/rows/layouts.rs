//! The form of predictions in each format.

use super::*;
use crate::support::sentences;
use totune_keep::Kind;

#[test]
fn rows_come_out_in_their_order_with_the_labels_of_the_person() {
    let files = Files::new(Task::Classification, &texts());
    // The predictions for texts in memory, whatever their batch.
    let predictions = files.model.predict(texts()).expect("predictions");
    let labels = files.model.manifest.task.labels();
    let named: Vec<&str> = predictions
        .iter()
        .map(|prediction| labels[prediction.predicted.class().expect("a label")].as_str())
        .collect();
    let rows: Vec<String> = texts()
        .iter()
        .map(|input| input.texts()[0].to_string())
        .collect();
    let csv = format!(
        "n,text\n1,\"{}\"\n2,\"{}\"\n3,\"{}\"\n",
        rows[0], rows[1], rows[2]
    );
    let out = files.predicted("new.csv", &csv, false);
    let mut reader = csv::Reader::from_reader(out.as_bytes());
    let header: Vec<String> = reader
        .headers()
        .expect("a header")
        .iter()
        .map(String::from)
        .collect();
    assert_eq!(
        header,
        [
            "n",
            "text",
            "predicted",
            "p_not relevant, or spam",
            "p_01",
            "p_Zoë"
        ]
    );
    let records: Vec<csv::StringRecord> = reader.records().map(|row| row.expect("a row")).collect();
    for (i, record) in records.iter().enumerate() {
        assert_eq!((&record[1], &record[2]), (rows[i].as_str(), named[i]));
        let sum: f32 = (3..6)
            .map(|column| record[column].parse::<f32>().expect("a number"))
            .sum();
        assert!((sum - 1.0).abs() < 1e-5);
    }
    let json = files.predicted("new.csv", &csv, true);
    let first: serde_json::Value =
        serde_json::from_str(json.lines().next().expect("a row")).expect("JSON");
    assert_eq!(
        (&first["n"], &first["predicted"]),
        (&"1".into(), &named[0].into())
    );
    let lines = files.predicted("new.txt", &rows.join("\n"), false);
    assert_eq!(lines.lines().count(), 4);
    // A single column leaves no doubt.
    let only = files.predicted("new.tsv", "body\nA red kite\n", false);
    assert!(only.starts_with("body\tpredicted"), "{only}");
}

#[test]
fn tags_come_out_behind_their_words() {
    let files = Files::new(Task::Tagging, &sentences());
    let words = "-DOCSTART- -X-\n\nZoë NNP\npainted VB\n\n\nMy PRP\nlanterns NN\n";
    let out = files.predicted("new.conll", words, false);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(
        (lines[0], lines[1], lines[4], lines.len()),
        ("-DOCSTART- -X-", "", "", 8)
    );
    let labels = files.model.manifest.task.labels();
    for line in [lines[2], lines[3], lines[5], lines[6]] {
        let tag = line.split(' ').nth(2).expect("a tag");
        assert!(labels.iter().any(|label| label == tag), "{line}");
    }
    let out = files.predicted("new.jsonl", "{\"text\": [\"My\", \"lanterns\"]}\n", false);
    let object: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(object["predicted"].as_array().expect("tags").len(), 2);
}

#[test]
fn objects_come_out_as_they_went_in() {
    let files = Files::new(Task::Classification, &texts());
    let rows = [
        r#"{"zip":"x", "text":"nice","order":12345678901234567890123,"v": 1.10,"in":{"a":{"b":1}}}"#,
        r#"{"text":"so","big":1e400}"#,
        r#"{ "text" : "so" }"#,
    ];
    let out = files.predicted("new.jsonl", &rows.join("\n"), false);
    for (row, out) in rows.iter().zip(out.lines()) {
        let own = row.strip_suffix('}').expect("an object").trim_end();
        let added = out.strip_prefix(own).expect("the same text");
        assert!(added.starts_with(",\"predicted\":\""), "{added}");
    }
    // An element of an array may have several lines.
    let array = "[\n  {\"n\": 1,\n   \"text\": \"a  b\"\n  },\n  {\"text\": \"c\"}\n]\n";
    let out = files.predicted("new.json", array, false);
    assert_eq!(out.lines().count(), 2);
    assert!(
        out.starts_with("{\"n\": 1,\"text\": \"a  b\",\"predicted\":"),
        "{out}"
    );
    let error = files.error("new.jsonl", "{\"text\": \"a\"}\n{\"text\": 1e400}\n", false);
    assert!(
        error.ends_with(
            "new.jsonl: line 2: `text`: number out of range at column 14, expected a text"
        ),
        "{error}"
    );
}

#[test]
fn what_predictions_add_is_not_there_before() {
    let files = Files::new(Task::Classification, &texts());
    for (name, text, expected) in [
        (
            "a.csv",
            "text,predicted\na,1\n",
            "has a column `predicted`; expected none",
        ),
        (
            "a.csv",
            "text,probabilities\na,1\n",
            "has a column `probabilities`; expected none",
        ),
        (
            "a.jsonl",
            "{\"text\": \"a\"}\n{\"text\": \"a\", \"predicted\": 1}\n",
            "a.jsonl: line 2: has a key `predicted`; expected none",
        ),
        (
            "a.jsonl",
            "{\"probabilities\": 1, \"text\": \"a\"}\n",
            "a.jsonl: line 1: has a key `probabilities`; expected none",
        ),
    ] {
        let error = files.error(name, text, false);
        assert!(error.contains(expected), "{name}: {error}");
    }
    let mut source = files
        .source("a.csv", "text,p_01\na,1\n", false)
        .expect("a file");
    let target = (Target::stream(Vec::new()), Layout::Delimited(b','));
    let ended = predict(&files.model, &mut source, target, &mut |_| {
        ControlFlow::Continue(())
    });
    let error = ended.expect_err("a column of that name").to_string();
    assert!(
        error.contains("a.csv: has a column `p_01`; expected none"),
        "{error}"
    );
}

#[test]
fn a_file_is_written_in_the_format_that_its_name_says() {
    let layout = |kind: Kind, out: &str, json: bool| Layout::of(kind, Path::new(out), json);
    for (kind, out, json, expected) in [
        (
            Kind::Csv(Some(b';')),
            "p.csv",
            false,
            Layout::Delimited(b';'),
        ),
        (Kind::Csv(None), "p.jsonl", false, Layout::Jsonl),
        (Kind::Json, "-", false, Layout::Jsonl),
        (Kind::Csv(None), "p.json", true, Layout::Jsonl),
        (Kind::Words, "p.conll", false, Layout::Words),
        (Kind::Lines, "p.tsv", false, Layout::Delimited(b'\t')),
    ] {
        assert_eq!(layout(kind, out, json).expect(out), expected, "{out}");
    }
    for (kind, out, json) in [
        (Kind::Json, "p.csv", false),
        (Kind::Words, "p.tsv", false),
        (Kind::Csv(None), "p.tsv", true),
        (Kind::Tsv, "p.xlsx", false),
        (Kind::Csv(None), "p.json", false),
    ] {
        let error = layout(kind, out, json).expect_err(out).to_string();
        assert!(error.contains(&format!("--out: `{out}`, ")), "{error}");
    }
}

#[test]
fn texts_whose_words_are_tagged_are_divided_at_white_space() {
    let files = Files::new(Task::Tagging, &sentences());
    let out = files.predicted("new.txt", "Zoë painted  My lanterns .\nZoë\n\n", false);
    let rows: Vec<Vec<&str>> = out.lines().map(|row| row.split(',').collect()).collect();
    assert_eq!(rows[0], ["text", "predicted"]);
    let tags = rows[1..]
        .iter()
        .map(|row| row[1].split_whitespace().count());
    assert_eq!(tags.collect::<Vec<_>>(), [5, 1, 0]);
    let object = files.predicted("new.jsonl", "{\"text\": \"My red lanterns\"}\n", false);
    let object: serde_json::Value = serde_json::from_str(&object).expect("JSON");
    assert_eq!(object["predicted"].as_array().expect("tags").len(), 3);
    let apart = files.predicted("new.txt", "My lanterns\n\nZoë painted\n", false);
    assert_eq!(apart.lines().count(), 4, "{apart}");
    // Columns of words, whatever the name of the file.
    for words in ["Zoë\npainted\n\nMy\nlanterns\n", "Zoë B-PER\npainted O\n"] {
        let out = files.predicted("new.txt", words, false);
        let width = |text: &str| {
            text.lines()
                .next()
                .map_or(0, |line| line.split(' ').count())
        };
        assert_eq!(width(&out), width(words) + 1, "{out}");
    }
    let error = files.error("new.csv", "text\nZoë painted\n", false);
    assert!(
        error.contains(
            "new.csv: found fields, but the model tags words; expected a text on each line (.txt"
        ),
        "{error}"
    );
}
