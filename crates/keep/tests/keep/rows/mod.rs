//! Prediction on the rows of files with a saved model.

mod inputs;
mod interruptions;
mod layouts;
mod parquet;
mod scores;

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::support::{Untrained, devices, texts};
use burn::tensor::Device;
use totune_data::{Input, Task};
use totune_keep::{Layout, ReadOptions, RowCount, SavedModel, Source, Target, evaluate, predict};

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

    /// Checks that the rows of a file are these inputs, by their predictions.
    #[track_caller]
    fn reads(&self, name: &str, text: &str, inputs: &[Input]) {
        let out = self.predicted(name, text, true);
        let row = |row: &str| -> serde_json::Value { serde_json::from_str(row).expect("JSON") };
        let rows: Vec<serde_json::Value> = out.lines().map(row).collect();
        let predictions = self.model.predict(inputs.to_vec()).expect("predictions");
        assert_eq!(rows.len(), predictions.len(), "{name}");
        let labels = self.model.manifest.task.labels();
        for (row, prediction) in rows.iter().zip(predictions) {
            if let Some(tags) = prediction.predicted.tags() {
                let tags: Vec<&str> = tags.iter().map(|&tag| labels[tag].as_str()).collect();
                assert_eq!(row["predicted"], serde_json::json!(tags), "{name}");
            }
            for (label, score) in labels.iter().zip(prediction.scores) {
                let found = row["probabilities"][label].as_f64().expect("a number");
                assert!(
                    (found - f64::from(score)).abs() < 1e-6,
                    "{name}: {found} for {score}"
                );
            }
        }
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
