//! Prediction on the rows of files with a saved model: inputs, outputs, error cases, and interruptions.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::support::{Untrained, devices, sentences, texts};
use burn::tensor::Device;
use totune_data::{Input, Target as Gold, Task};
use totune_keep::{
    Kind, Layout, Prediction, ReadOptions, RowCount, SavedModel, Source, Target, TaskFacts,
    evaluate, predict,
};

/// `n,text`, `1,A kite` and `2,Zoë €` on three lines, as gzip and zstd store them.
const GZIP: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\xd3)I\xad(\xe12\xd4qT\xc8\xce,I\xe52\xd2\x89\xca?\xbcZ\xe1Q\xd3\x1a.\x00X\xbc[\xe5\x1b\x00\x00\x00";
const ZSTD: &[u8] =
    b"(\xb5/\xfd\x04X\xd9\x00\x00n,text\x0a1,A kite\x0a2,Zo\xc3\xab \xe2\x82\xac\x0a\xff$4\x03";

/// A saved classifier with the labels of the tests, and a file next to it.
struct Files {
    folder: tempfile::TempDir,
    model: SavedModel,
}

impl Files {
    fn new(kind: Task, inputs: &[Input]) -> Self {
        // LibTorch where it is built in, which is the faster one.
        let device = devices().into_iter().nth(1).unwrap_or(Device::flex());
        let model = Untrained::new(("fixture-bert", kind), None, inputs, &device);
        let folder = tempfile::tempdir().expect("a folder");
        let to = folder.path().join("m");
        model.save(&to, &device).expect("saved");
        let model = SavedModel::open(&to, &device, 1).expect("a saved model");
        Self { folder, model }
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, bytes).expect("written");
        path
    }

    fn source(&self, name: &str, text: &str, labelled: bool) -> anyhow::Result<Source> {
        let path = self.write(name, text.as_bytes());
        let reading = ReadOptions::default();
        Source::open(&path, &reading, &self.model.manifest, labelled)
    }

    /// The texts of a file as JSON lines.
    fn texts(&self, path: &Path, reading: &ReadOptions) -> anyhow::Result<(Vec<String>, RowCount)> {
        let mut source = Source::open(path, reading, &self.model.manifest, false)?;
        let mut out = Vec::new();
        let target = (Target::stream(&mut out), Layout::Jsonl);
        let ended = predict(&self.model, &mut source, target, &mut |_| {
            ControlFlow::Continue(())
        })?;
        let rows = String::from_utf8(out).expect("UTF-8");
        let row = |row: &str| -> serde_json::Value { serde_json::from_str(row).expect("JSON") };
        let text = |row: serde_json::Value| match row["text"].as_str() {
            Some(text) => text.to_string(),
            None => row["c2"].as_str().unwrap_or("null").to_string(),
        };
        Ok((rows.lines().map(row).map(text).collect(), ended.empty))
    }

    fn predicted(&self, name: &str, text: &str, json: bool) -> String {
        let mut source = self.source(name, text, false).expect("a file");
        let layout = Layout::of(source.kind(), Path::new("-"), json).expect("a layout");
        let mut out = Vec::new();
        let target = Target::stream(&mut out);
        let ended = predict(&self.model, &mut source, (target, layout), &mut |_| {
            ControlFlow::Continue(())
        });
        assert!(ended.expect("predictions").complete);
        String::from_utf8(out).expect("UTF-8")
    }

    fn error(&self, name: &str, text: &str, labelled: bool) -> String {
        let run = || {
            let mut source = self.source(name, text, labelled)?;
            if labelled {
                evaluate(&self.model, &mut source, &mut |_| ControlFlow::Continue(())).map(drop)
            } else {
                predict(
                    &self.model,
                    &mut source,
                    (Target::stream(Vec::new()), Layout::Jsonl),
                    &mut |_| ControlFlow::Continue(()),
                )
                .map(drop)
            }
        };
        format!("{:#}", run().expect_err("an error"))
    }
}

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
        (Kind::Json, "p.csv", true, Layout::Jsonl),
        (Kind::Words, "p.conll", false, Layout::Words),
        (Kind::Lines, "p.tsv", false, Layout::Delimited(b'\t')),
    ] {
        assert_eq!(layout(kind, out, json).expect(out), expected, "{out}");
    }
    for (kind, out) in [(Kind::Json, "p.csv"), (Kind::Words, "p.tsv")] {
        let error = layout(kind, out, false).expect_err(out).to_string();
        assert!(error.contains(&format!("--out: `{out}`, but")), "{error}");
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

#[test]
fn rows_without_a_label_are_not_scored() {
    let scored = |files: &Files, name: &str, text: &str| {
        let mut source = files.source(name, text, true).expect("a file");
        let found = evaluate(
            &files.model,
            &mut source,
            &mut |_| ControlFlow::Continue(()),
        );
        found.map(|found| (found.rows, found.unlabelled))
    };
    let mut files = Files::new(Task::Classification, &texts());
    let csv = "text,label\nA kite,01\nA mill,\nA hill,-1\n";
    let error = scored(&files, "a.csv", csv).expect_err("-1 is no label");
    assert!(
        error.to_string().contains("line 4: `-1` is no label"),
        "{error}"
    );
    files.model.manifest.columns.unlabelled = Some("-1".into());
    assert_eq!(scored(&files, "a.csv", csv).expect("scores"), (1, 2));
    let null =
        "{\"text\": \"A kite\", \"label\": null}\n{\"text\": \"A mill\", \"label\": \"01\"}\n";
    assert_eq!(scored(&files, "a.jsonl", null).expect("scores"), (1, 1));
    let error = scored(&files, "a.csv", "text,label\nA kite,\n").expect_err("no label");
    assert!(
        error
            .to_string()
            .ends_with("a.csv: found 1 rows and none with a label, expected at least one"),
        "{error}"
    );
    let files = Files::new(Task::Regression, &texts());
    let csv = "text,label\nA kite,1.5\nA mill,\nA hill,2\n";
    assert_eq!(scored(&files, "a.csv", csv).expect("scores"), (2, 1));
    let mut files = Files::new(Task::Tagging, &sentences());
    if let TaskFacts::Tagging { labels, values } = &mut files.model.manifest.task {
        values.clone_from(labels);
    }
    let numbers = "{\"text\": [\"My\", \"lanterns\"], \"label\": [0, 1]}\n";
    assert_eq!(scored(&files, "a.jsonl", numbers).expect("scores"), (1, 0));
}

#[test]
fn scores_are_those_of_the_predictions() {
    let files = Files::new(Task::Classification, &texts());
    let predictions = files.model.predict(texts()).expect("predictions");
    let labels = files.model.manifest.task.labels();
    // All correct by name, one of them by the value in the training file.
    let mut csv = "text,label\n".to_string();
    for (i, (input, prediction)) in texts().iter().zip(&predictions).enumerate() {
        let class = prediction.predicted.class().expect("a label");
        let label = if i == 0 {
            class.to_string()
        } else {
            labels[class].clone()
        };
        csv.push_str(&format!("\"{}\",\"{label}\"\n", input.texts()[0]));
    }
    let mut source = files.source("test.csv", &csv, true).expect("a file");
    let found = evaluate(
        &files.model,
        &mut source,
        &mut |_| ControlFlow::Continue(()),
    )
    .expect("scores");
    assert_eq!(found.rows, 3);
    assert_eq!(found.metrics[0], ("accuracy".to_string(), 1.0));
    let right: usize = (0..3).map(|label| found.confusion[label][label]).sum();
    assert_eq!(right, 3);
    // All right, so in every bin the error is the distance of the probabilities from 1.
    let probability = |prediction: &Prediction| {
        let class = prediction.predicted.class().expect("a label");
        f64::from(prediction.scores[class])
    };
    let mean = predictions.iter().map(probability).sum::<f64>() / 3.0;
    let score = |name: &str| {
        let found = found.metrics.iter().find(|(metric, _)| metric == name);
        found.expect("a score").1
    };
    assert!((score("ece") - (1.0 - mean)).abs() < 1e-6);
    assert!(score("brier") > 0.0 && score("brier") < 2.0);
}

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
            "b.csv: line 2: 1 fields, expected 2: `text`, `x`",
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
            "h.conll",
            "a O\n",
            false,
            "the model reads texts, expected csv, tsv, json or lines",
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
    let tags = Files::new(Task::Tagging, &sentences());
    // Another scheme is converted to BIO.
    let mut bioes = tags
        .source("b.conll", "Zoë S-PER\nmill B-LOC\nhill E-LOC\n", true)
        .expect("a file");
    let found = evaluate(&tags.model, &mut bioes, &mut |_| ControlFlow::Continue(()));
    assert_eq!(found.expect("scores").rows, 1);
    let error = tags.error("a.conll", "Zoë B-PRE\n", true);
    assert!(
        error.contains("line 1: `B-PRE` is no label of the model; did you mean `B-PER`? expected"),
        "{error}"
    );
}

/// Runs [`predict`]: to its end, or for a number of windows.
fn run(files: &Files, path: &Path, out: &Path, windows: usize) -> anyhow::Result<Vec<usize>> {
    let mut source = Source::open(path, &ReadOptions::default(), &files.model.manifest, false)?;
    let layout = Layout::of(source.kind(), out, false)?;
    let mut seen = Vec::new();
    let noted = std::cell::Cell::new(0);
    let target = Target::file(out, false)?;
    let resumed = target.resumed();
    let target = (target.when_resuming(|rows| noted.set(rows)), layout);
    let ended = predict(&files.model, &mut source, target, &mut |rows| {
        seen.push(rows);
        if seen.len() == windows {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    // What is refused is not said to be resumed.
    assert_eq!(noted.get(), if ended.is_ok() { resumed } else { 0 });
    ended?;
    Ok(seen)
}

#[test]
fn an_interrupted_file_is_resumed_with_the_same_bytes() {
    let files = Files::new(Task::Regression, &texts());
    let row = |i: usize| format!("{i},{}\n", "kite ".repeat(1 + i * 7 % 5));
    let rows: String = (0..4200).map(row).collect();
    let path = files.write("new.csv", format!("n,text\n{rows}").as_bytes());
    let at = |name: &str| files.folder.path().join(name);
    let (whole, out) = (at("whole.csv"), at("out.csv"));
    assert_eq!(run(&files, &path, &whole, 9).expect("rows"), [4096, 4200]);
    let whole = fs::read(whole).expect("predictions");

    assert_eq!(run(&files, &path, &out, 1).expect("rows"), [4096]);
    assert!(!out.exists(), "half a file looks like a whole one");
    // Killed while writing the next window: bytes that the state does not record.
    let part = at("out.csv.part");
    let mut bytes = fs::read(&part).expect("a part");
    bytes.extend_from_slice(b"4096,kite ki");
    fs::write(&part, bytes).expect("written");
    assert_eq!(run(&files, &path, &out, 9).expect("rows"), [4200]);
    assert!(fs::read(&out).expect("predictions") == whole);
    let left: Vec<_> = fs::read_dir(files.folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .filter(|name| name.to_string_lossy().contains(".part"))
        .collect();
    assert!(left.is_empty(), "{left:?}");

    // Killed after the last window, before the file got its name.
    fs::remove_file(&out).expect("removed");
    assert_eq!(run(&files, &path, &out, 2).expect("rows"), [4096, 4200]);
    assert!(run(&files, &path, &out, 9).expect("rows").is_empty());
    assert!(fs::read(&out).expect("predictions") == whole);
}

#[test]
fn a_part_of_something_else_is_not_gone_on_with() {
    let files = Files::new(Task::Regression, &texts());
    let rows = |n: usize| -> String {
        let rows = (0..n).map(|i| format!("kite {i}\n"));
        "text\n".to_string() + &rows.collect::<String>()
    };
    let path = files.write("new.csv", rows(5000).as_bytes());
    let out = files.folder.path().join("out.csv");
    let error = |windows: usize| {
        let error = run(&files, &path, &out, windows).expect_err("another input");
        let error = error.to_string();
        assert!(
            error.contains("out.csv.part: has predictions of an"),
            "{error}"
        );
        assert!(error.contains("--restart discards them"), "{error}");
        error
    };
    assert_eq!(run(&files, &path, &out, 1).expect("rows"), [4096]);
    fs::write(&path, rows(5000).replace("kite 17\n", "kite 18\n")).expect("written");
    assert!(error(9).contains("of another input"));
    fs::write(&path, rows(100)).expect("written");
    assert!(error(9).contains("of another input"));
    fs::write(&path, rows(5000).replace("text", "body")).expect("written");
    assert!(error(9).contains("of another model, other columns"));
    // Rows after the predicted ones may differ.
    fs::write(&path, rows(4500)).expect("written");
    assert_eq!(run(&files, &path, &out, 1).expect("rows"), [4500]);
    fs::write(&path, rows(4600)).expect("written");
    assert!(error(9).contains("of another input"));
    let held = Target::file(&out, false).expect("a part");
    let second = Target::file(&out, false).err().expect("it is held");
    assert!(second.to_string().contains("another process"), "{second}");
    drop(held);
    drop(Target::file(&out, true).expect("discarded"));
    assert_eq!(Target::file(&out, true).expect("a part").resumed(), 0);
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
    files.model.manifest.columns.header = Some(vec!["c1".into(), "c2".into()]);
    files.model.manifest.columns.text = vec!["c2".into()];
    for (name, text) in [
        ("k.csv", "1,A kite\n2,Zoë €\n"),
        ("l.csv", "c1,c2\n1,A kite\n2,Zoë €\n"),
    ] {
        let path = files.write(name, text.as_bytes());
        let (found, _) = files.texts(&path, &ReadOptions::default()).expect(name);
        assert_eq!(found, expected, "{name}");
    }
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

#[test]
fn a_long_file_takes_several_windows_and_can_be_broken_off() {
    let files = Files::new(Task::Regression, &texts());
    let rows: String = (0..5000).map(|i| format!("kite {i}\n")).collect();
    let mut source = files.source("new.txt", &rows, false).expect("a file");
    let mut seen = Vec::new();
    let mut out = Vec::new();
    let mut progress = |rows| {
        seen.push(rows);
        ControlFlow::Continue(())
    };
    let target = (Target::stream(&mut out), Layout::Jsonl);
    predict(&files.model, &mut source, target, &mut progress).expect("predictions");
    assert_eq!(seen, [4096, 5000]);
    let texts = String::from_utf8(out).expect("UTF-8");
    let last: serde_json::Value =
        serde_json::from_str(texts.lines().last().expect("a row")).expect("JSON");
    assert_eq!(last["text"], "kite 4999");
    let alone = files
        .model
        .predict(vec![Input::Text("kite 4999".into())])
        .expect("a prediction");
    let Gold::Value(alone) = alone[0].predicted else {
        panic!("a number");
    };
    assert!((last["predicted"].as_f64().expect("a number") - alone).abs() < 1e-5);
    let mut source = files.source("new.txt", &rows, false).expect("a file");
    let target = (Target::stream(Vec::new()), Layout::Jsonl);
    let ended = predict(&files.model, &mut source, target, &mut |_| {
        ControlFlow::Break(())
    });
    assert!(!ended.expect("an end").complete);
}

#[test]
fn several_labels_come_out_between_bars_and_are_scored_in_each_layout() {
    let files = Files::new(Task::MultiLabel, &texts());
    let columns = "n,text,predicted,\"p_late, or lost\",p_01,p_Zoë";
    let out = files.predicted("new.csv", "n,text\n1,A red kite\n", false);
    let (head, row) = out.trim_end().split_once('\n').expect("a header and a row");
    assert_eq!(head, columns);
    let fields: Vec<&str> = row.split(',').collect();
    let p: Vec<f64> = fields[fields.len() - 3..]
        .iter()
        .map(|p| p.parse().expect("a probability"))
        .collect();
    let labels = ["late, or lost", "01", "Zoë"];
    let likely = labels.iter().zip(&p).filter(|(_, p)| **p > 0.5);
    let likely: Vec<&str> = likely.map(|(label, _)| *label).collect();
    let one: serde_json::Value = serde_json::from_str(
        files
            .predicted("new.csv", "n,text\n1,A red kite\n", true)
            .trim_end(),
    )
    .expect("JSON");
    assert_eq!(one["predicted"], serde_json::json!(likely));
    assert_eq!(
        one["probabilities"]["01"].as_f64().map(|p| p as f32),
        Some(p[1] as f32)
    );
    assert!(row.contains(&likely.join("|")), "{row}");

    // Gold labels by the values of the training file (0, 1, 2) or by name.
    let metrics = |name: &str, text: &str| {
        let mut source = files.source(name, text, true).expect("a file");
        let found = evaluate(
            &files.model,
            &mut source,
            &mut |_| ControlFlow::Continue(()),
        );
        let found = found.expect("scores");
        assert_eq!(found.of_labels.len(), 3);
        let support: Vec<usize> = found.of_labels.iter().map(|of| of.support).collect();
        (found.metrics, support)
    };
    let delimited = metrics("a.csv", "text,label\nA red kite,0;Zoë\nA mill,\n");
    assert_eq!(delimited.1, [1, 0, 1]);
    let lists = "{\"text\": \"A red kite\", \"label\": [0, \"Zoë\"]}\n{\"text\": \"A mill\", \"label\": []}\n";
    assert_eq!(metrics("a.jsonl", lists), delimited);
    let names: Vec<&str> = delimited.0.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        ["f1-micro", "f1-macro", "exact-match", "map", "lrap"]
    );
    let error = files.error("b.csv", "text,label\nA red kite,0;Zoe\n", true);
    assert!(
        error.ends_with("b.csv: line 2: `Zoe` is no label of the model; did you mean `Zoë`? expected one of `late, or lost`, `01`, `Zoë`"),
        "{error}"
    );
}

#[test]
fn labels_in_an_order_are_predicted_by_a_head_that_only_totune_has() {
    let files = Files::new(Task::Ordinal, &texts());
    let card = fs::read_to_string(files.folder.path().join("m/README.md")).expect("a card");
    assert!(
        card.contains("transformers has no ordinal classification"),
        "{card}"
    );
    assert!(card.contains("in an order, from the lowest to the highest: `low`, `middle`, `high`"));
    let out = files.predicted("new.csv", "text\nA red kite\n", false);
    let (head, row) = out.trim_end().split_once('\n').expect("a header and a row");
    assert_eq!(head, "text,predicted,p_low,p_middle,p_high");
    let fields: Vec<&str> = row.split(',').collect();
    let p: Vec<f64> = fields[2..]
        .iter()
        .map(|p| p.parse().expect("a probability"))
        .collect();
    assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{p:?}");
    // The median.
    let expected = match p {
        _ if p[0] >= 0.5 => "low",
        _ if p[2] > 0.5 => "high",
        _ => "middle",
    };
    assert_eq!(fields[1], expected);
    let mut source = files
        .source("a.csv", "text,label\nA red kite,low\nA mill,high\n", true)
        .expect("a file");
    let found = evaluate(
        &files.model,
        &mut source,
        &mut |_| ControlFlow::Continue(()),
    );
    let found = found.expect("scores");
    let names: Vec<&str> = found
        .metrics
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert!(
        names.contains(&"quadratic-kappa") && names.contains(&"brier"),
        "{names:?}"
    );
    assert_eq!(found.confusion.iter().flatten().sum::<usize>(), 2);
}
