//! Folders as totune reads them back: heads of every kind, what is refused, and files whose rows pass through.

mod support;

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use burn::tensor::Device;
use support::{Untrained, devices, pairs, sentences, texts};
use totune_data::{Input, Pairs, Target, Task};
use totune_keep::{Columns, Layout, SavedAs, SavedModel, Source, evaluate, predict};
use totune_model::{HeadSpec, LowRankSpec, add_low_rank};

fn head(toml: &str) -> Option<HeadSpec> {
    Some(toml::from_str(toml).expect("a head"))
}

/// A classifier with a linear head on the smallest encoder.
fn classifier(device: &Device) -> Untrained {
    let task = Task::Classification;
    Untrained::new(("fixture-bert", task), None, &texts(), device)
}

/// Saves a model and reads it back.
fn read_back(model: &Untrained, to: &Path, device: &Device) -> (SavedAs, SavedModel) {
    let saved = model.save(to, device).expect("saved");
    assert_eq!(saved.compared, model.sample.len());
    (
        saved.saved_as,
        SavedModel::open(to, device, 1).expect("a saved model"),
    )
}

#[test]
fn heads_that_transformers_lacks_come_back_too() {
    use Task::{Classification, Regression, Tagging};
    let cases = [
        (
            "fixture-bert",
            Classification,
            "pooling = \"mean\"\ndropout = 0.1",
            "pooling = \"mean\"",
        ),
        (
            "fixture-bert",
            Regression,
            "pooling = \"mean\"\ndropout = 0.1\nlayers = { kind = \"scalar-mix\", embeddings = true }",
            "a mix of layers",
        ),
        (
            "fixture-bert",
            Tagging,
            "kind = \"tagger\"\nrecurrent-layers = 1\nhidden = 5\noutput = \"crf\"",
            "a BiLSTM with a CRF",
        ),
        (
            "fixture-bert",
            Classification,
            "kind = \"bcn\"\npre-encode = 8\nhidden = 6\nmaxout = [12, 6]",
            "`bcn`",
        ),
        (
            "fixture-elmo",
            Classification,
            "pooling = \"max\"\ndropout = 0.1",
            "no elmo",
        ),
        (
            "distilbert",
            Classification,
            "kind = \"fully-connected\"\nmlp-hidden = 10",
            "`fully-connected`",
        ),
    ];
    for (encoder, kind, spec, reason) in cases {
        for device in devices() {
            let folder = tempfile::tempdir().expect("a folder");
            let inputs = if kind == Tagging {
                sentences()
            } else {
                texts()
            };
            let model = Untrained::new((encoder, kind), head(spec), &inputs, &device);
            let (saved_as, read) = read_back(&model, &folder.path().join("m"), &device);
            let SavedAs::Totune { reason: found } = saved_as else {
                panic!("{encoder} {spec}: transformers has no such head");
            };
            assert!(found.contains(reason), "{found}");
            let card = fs::read_to_string(folder.path().join("m/README.md")).expect("a card");
            assert!(
                card.contains("transformers cannot load the whole of it"),
                "{card}"
            );
            let predictions = read.predict(inputs.clone()).expect("predictions");
            assert_eq!(predictions.len(), inputs.len());
            for (prediction, input) in predictions.iter().zip(&inputs) {
                let words = input.words().map_or(0, <[String]>::len);
                assert_eq!(prediction.predicted.tags().map_or(0, <[usize]>::len), words);
            }
        }
    }
}

#[test]
fn low_rank_updates_are_merged() {
    let device = Device::flex();
    let mut model = Untrained::new(
        ("fixture-bert", Task::Classification),
        None,
        &texts(),
        &device,
    );
    let spec = LowRankSpec {
        rank: 2,
        alpha: 4.0,
        dropout: 0.0,
        targets: vec!["query".into()],
        layers: 0..4,
    };
    model.model.encoder = add_low_rank(model.model.encoder, &spec, 1).expect("updates");
    let folder = tempfile::tempdir().expect("a folder");
    let (saved_as, _) = read_back(&model, &folder.path().join("m"), &device);
    assert!(matches!(saved_as, SavedAs::Transformers { .. }));
}

#[test]
fn what_is_there_is_never_replaced_and_nothing_is_left_half_written() {
    let device = Device::flex();
    let model = classifier(&device);
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("m");
    fs::create_dir(&to).expect("a folder");
    model
        .save(&to, &device)
        .expect("an empty folder is as good as none");
    let error = model
        .save(&to, &device)
        .expect_err("it is there")
        .to_string();
    assert!(error.contains("already there and not empty"), "{error}");
    let file = folder.path().join("file");
    fs::write(&file, "").expect("a file");
    model.save(&file, &device).expect_err("a file is no folder");
    model
        .save(&file.join("m"), &device)
        .expect_err("nor is what lies below it");
    let names = fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(names, 2, "temporary folders are left");
}

#[test]
fn a_folder_that_was_changed_is_refused() {
    let device = Device::flex();
    let model = classifier(&device);
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("m");
    model.save(&to, &device).expect("saved");
    let open = || {
        SavedModel::open(&to, &device, 1)
            .expect_err("refused")
            .to_string()
    };
    let weights = to.join("model.safetensors");
    let mut bytes = fs::read(&weights).expect("weights");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&weights, &bytes).expect("written");
    assert!(open().contains("expected"), "{}", open());
    let manifest = to.join("totune.json");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    fs::write(&manifest, text.replace("\"format\": 1", "\"format\": 9")).expect("written");
    assert!(open().contains("format: found 9, expected 1"), "{}", open());
    fs::write(
        &manifest,
        text.replace("model.safetensors", "../model.safetensors"),
    )
    .expect("written");
    assert!(
        open().contains("expected the name of a file in the folder"),
        "{}",
        open()
    );
    fs::remove_file(&manifest).expect("removed");
    assert!(open().contains("found no `totune.json`"), "{}", open());
}

#[test]
fn texts_of_pairs_may_be_read_separately() {
    let device = Device::flex();
    let mut model = Untrained::new(("fixture-bert", Task::Regression), None, &pairs(), &device);
    model.training.pairs = Pairs::Separate;
    let folder = tempfile::tempdir().expect("a folder");
    let (saved_as, read) = read_back(&model, &folder.path().join("m"), &device);
    assert!(matches!(saved_as, SavedAs::Totune { .. }));
    assert_eq!(read.predict(pairs()).expect("predictions").len(), 2);
    let error = read.predict(texts()).expect_err("not a pair").to_string();
    assert_eq!(error, "input 1: found a text, expected a pair of texts");
}

/// A saved classifier with the labels of the tests, and a file next to it.
struct Files {
    folder: tempfile::TempDir,
    model: SavedModel,
}

impl Files {
    fn new(kind: Task, inputs: &[Input]) -> Self {
        let device = Device::flex();
        let model = Untrained::new(("fixture-bert", kind), None, inputs, &device);
        let folder = tempfile::tempdir().expect("a folder");
        let (_, model) = read_back(&model, &folder.path().join("m"), &device);
        Self { folder, model }
    }

    fn source(&self, name: &str, text: &str, labelled: bool) -> anyhow::Result<Source> {
        let path = self.folder.path().join(name);
        fs::write(&path, text).expect("written");
        Source::open(
            &path,
            None,
            &Columns::default(),
            &self.model.manifest,
            labelled,
        )
    }

    fn predicted(&self, name: &str, text: &str, json: bool) -> String {
        let mut source = self.source(name, text, false).expect("a file");
        let layout = Layout::of(source.kind(), Path::new("-"), json);
        let mut out = Vec::new();
        let ended = predict(&self.model, &mut source, (&mut out, layout), &mut |_| {
            ControlFlow::Continue(())
        });
        assert!(ended.expect("predictions").complete);
        String::from_utf8(out).expect("UTF-8")
    }

    fn error(&self, name: &str, text: &str, labelled: bool) -> String {
        let run = || {
            let mut source = self.source(name, text, labelled)?;
            match labelled {
                true => {
                    evaluate(&self.model, &mut source, &mut |_| ControlFlow::Continue(())).map(drop)
                }
                false => predict(
                    &self.model,
                    &mut source,
                    (&mut Vec::new(), Layout::Jsonl),
                    &mut |_| ControlFlow::Continue(()),
                )
                .map(drop),
            }
        };
        format!("{:#}", run().expect_err("an error"))
    }
}

#[test]
fn rows_come_out_in_their_order_with_the_labels_of_the_person() {
    let files = Files::new(Task::Classification, &texts());
    // The predictions for texts at hand, whatever shares their batch.
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
    // One column leaves no doubt.
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
fn scores_are_those_of_the_predictions() {
    let files = Files::new(Task::Classification, &texts());
    let predictions = files.model.predict(texts()).expect("predictions");
    let labels = files.model.manifest.task.labels();
    // All right by name, one of them by the value that the training file had.
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
        ("b.csv", "text,x\na\n", false, "b.csv"),
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
            "the model reads texts, expected csv, tsv, jsonl or lines",
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
    // Another scheme is none: it is read as what it stands for.
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
    predict(
        &files.model,
        &mut source,
        (&mut out, Layout::Jsonl),
        &mut progress,
    )
    .expect("predictions");
    assert_eq!(seen, [4096, 5000]);
    let texts = String::from_utf8(out).expect("UTF-8");
    let last: serde_json::Value =
        serde_json::from_str(texts.lines().last().expect("a row")).expect("JSON");
    assert_eq!(last["text"], "kite 4999");
    let alone = files
        .model
        .predict(vec![Input::Text("kite 4999".into())])
        .expect("a prediction");
    let Target::Value(alone) = alone[0].predicted else {
        panic!("a number");
    };
    assert!((last["predicted"].as_f64().expect("a number") - alone).abs() < 1e-5);
    let mut source = files.source("new.txt", &rows, false).expect("a file");
    let ended = predict(
        &files.model,
        &mut source,
        (&mut Vec::new(), Layout::Jsonl),
        &mut |_| ControlFlow::Break(()),
    );
    assert!(!ended.expect("an end").complete);
}
