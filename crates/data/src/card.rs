//! Dataset cards: the facts about a dataset, as TOML.

use crate::format::Format;
use crate::near::quoted;
use crate::toml_file::read_toml;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::{BTreeMap, HashSet};
use std::path::{Component, Path, PathBuf};

/// What `datasets/<name>.toml` says about a dataset.
///
/// A corrected dataset or a changed meaning is a new card under a new name, so that old results keep theirs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// The name used in experiment files; also the name of the card's file.
    pub name: String,
    /// The name for people.
    pub title: String,
    /// What is asked of a model.
    pub task: Task,
    /// Whether the files are committed fixtures, found in `fixtures/data` beside the folder of cards instead of below
    /// the data root.
    #[serde(default)]
    pub fixture: bool,
    /// Metrics to report, the main one first, by the names of the result rows.
    pub metrics: Vec<String>,
    /// Licence or terms of use.
    pub licence: String,
    /// How to cite it.
    pub citation: String,
    /// Where it is described.
    pub homepage: String,
    /// How to get the files by hand and where to put them.
    pub instructions: String,
    /// How the files are laid out.
    pub format: Format,
    /// Which column is what.
    pub columns: Columns,
    /// Labels in the order of their indices.
    pub labels: Vec<Label>,
    /// The label that precision, recall and F1 of "the positive class" are about.
    #[serde(default)]
    pub positive: Option<String>,
    /// The files, by split; a dataset without an official split has `train` alone.
    pub splits: BTreeMap<String, SplitFile>,
    /// The card's own file.
    #[serde(skip)]
    pub file: PathBuf,
}

/// What is asked of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// One label for one text.
    Single,
}

/// Which column is what.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Columns {
    /// A unique name for the row; without it, rows are numbered from 1.
    #[serde(default)]
    pub id: Option<String>,
    /// The text.
    pub text: String,
    /// The label.
    pub label: String,
    /// What the row belongs to; an empty field means nothing.
    #[serde(default)]
    pub group: Option<String>,
}

/// One label.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Label {
    /// Its name in tables.
    pub name: String,
    /// Its value in the file.
    pub value: String,
}

/// One file of a dataset, and what must be true of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplitFile {
    /// Path below the data root.
    pub path: PathBuf,
    /// SHA-256 of the file.
    pub sha256: String,
    /// Rows without the header.
    pub rows: usize,
    /// Rows of each label, in the order of `labels`.
    pub counts: Vec<usize>,
    /// Rows whose text an earlier row already has.
    pub repeats: usize,
}

impl Card {
    /// Reads and checks the card at `path`.
    pub fn read(path: &Path) -> Result<Self> {
        let mut card: Card = read_toml(path)?;
        card.file = path.to_path_buf();
        card.check()
            .with_context(|| path.display().to_string())
            .map_err(|error| anyhow::anyhow!("{error:#}"))?;
        Ok(card)
    }

    /// Where the file of `split` lies, if it exists.
    pub fn locate(&self, root: &Path, split: &str) -> Option<PathBuf> {
        let path = self.root(root).join(&self.splits.get(split)?.path);
        path.is_file().then_some(path)
    }

    /// One message saying which files are missing, how to get them and where to put them; nothing if all are there.
    pub fn missing(&self, root: &Path) -> Option<String> {
        let absent: Vec<String> = self
            .splits
            .iter()
            .filter(|(split, _)| self.locate(root, split).is_none())
            .map(|(_, file)| self.root(root).join(&file.path).display().to_string())
            .collect();
        let files = quoted(absent.iter().map(String::as_str));
        let how = self.instructions.trim();
        (!absent.is_empty()).then(|| format!("dataset `{}`: missing {files}\n{how}", self.name))
    }

    /// The folder the paths of this card are below.
    pub(crate) fn root(&self, root: &Path) -> PathBuf {
        if !self.fixture {
            return root.to_path_buf();
        }
        let cards = self.file.parent().unwrap_or(Path::new(""));
        // `datasets` has the empty path as its parent when the program runs in the project's folder.
        cards
            .parent()
            .unwrap_or(Path::new(".."))
            .join("fixtures")
            .join("data")
    }

    fn check(&self) -> Result<()> {
        let stem = self
            .file
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or_default();
        ensure!(
            stem == self.name,
            "name: `{}`; expected `{stem}`, the name of the file",
            self.name
        );
        ensure!(
            self.labels.len() >= 2,
            "labels: {} listed; expected at least 2",
            self.labels.len()
        );
        for (key, values) in [
            (
                "name",
                self.labels
                    .iter()
                    .map(|label| &label.name)
                    .collect::<Vec<_>>(),
            ),
            (
                "value",
                self.labels.iter().map(|label| &label.value).collect(),
            ),
        ] {
            let mut seen = HashSet::new();
            let twice = values.iter().find(|value| !seen.insert(**value));
            ensure!(
                twice.is_none(),
                "labels: {key} `{}` is listed twice; expected once",
                twice.map_or("", |t| t)
            );
        }
        if let Some(positive) = &self.positive {
            let names = || self.labels.iter().map(|label| label.name.as_str());
            let hint = crate::near::did_you_mean(positive, names());
            let known = quoted(names());
            ensure!(
                names().any(|name| name == positive),
                "positive: `{positive}` is not a label{hint}expected {known}"
            );
        }
        ensure!(
            !self.splits.is_empty(),
            "splits: none listed; expected at least `[splits.train]`"
        );
        for (split, file) in &self.splits {
            file.check(self.labels.len())
                .with_context(|| format!("splits.{split}"))?;
        }
        Ok(())
    }
}

impl SplitFile {
    fn check(&self, n_labels: usize) -> Result<()> {
        let inside = self
            .path
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        ensure!(
            inside,
            "path: `{}`; expected a path below the data root without `..`",
            self.path.display()
        );
        let hex = self.sha256.len() == 64
            && self
                .sha256
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        ensure!(
            hex,
            "sha256: `{}`; expected 64 lower-case hexadecimal digits",
            self.sha256
        );
        ensure!(
            self.counts.len() == n_labels,
            "counts: {} numbers; expected one for each of {n_labels} labels",
            self.counts.len()
        );
        let total: usize = self.counts.iter().sum();
        ensure!(
            total == self.rows,
            "counts: {total} in all; expected {} as `rows` says",
            self.rows
        );
        Ok(())
    }
}
