//! A card and its files in a temporary folder.

use crate::Card;
use std::path::PathBuf;
use tempfile::TempDir;

/// A card with two layouts, three splits and few facts.
pub(crate) const CARD: &str = r#"
name = "synthetic"
title = "Synthetic"
task = "classification"
metrics = ["accuracy"]
labels = ["yes", "no"]

[splits.train]
rows = 4
counts = [3, 1]

[splits.test]
rows = 2
labelled = false

[[layouts]]
name = "own"
format = { kind = "csv" }
columns = { id = "id", text = "text", label = "label" }
files.train.path = "train.csv"
files.dev.path = "dev.csv"
files.test.path = "test.csv"

[[layouts]]
name = "other"
format = { kind = "csv" }
columns = { text = "sentence", label = "gold" }
values = ["1", "0"]
files.train.path = "other/train.csv"
"#;

/// A temporary folder with `datasets/synthetic.toml` and `data/`.
pub(crate) struct Project(TempDir);

pub(crate) fn project(card: &str, files: &[(&str, &str)]) -> Project {
    let project = Project(tempfile::tempdir().expect("a temporary folder"));
    let write = |path: PathBuf, text: &str| {
        let folder = path.parent().expect("a file in a folder");
        std::fs::create_dir_all(folder).expect("a folder");
        std::fs::write(path, text).expect("a file");
    };
    write(project.0.path().join("datasets/synthetic.toml"), card);
    for (path, text) in files {
        write(project.data().join(path), text);
    }
    project
}

impl Project {
    pub(crate) fn data(&self) -> PathBuf {
        self.0.path().join("data")
    }

    pub(crate) fn card(&self) -> Card {
        Card::read(&self.0.path().join("datasets/synthetic.toml")).expect("a valid card")
    }
}
