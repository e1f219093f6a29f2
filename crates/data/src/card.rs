//! Dataset cards: the facts about a dataset, as TOML.

use crate::label_sets::SEPARATOR;
use crate::layout::{Layout, OneOf};
use crate::loss::ClassLoss;
use crate::task::Task;
use anyhow::{Context, Result, anyhow, ensure};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use totune_toml::{CardFile, Cards, did_you_mean, parse_toml, quoted, read_extended, set_in};

/// The contents of `datasets/<name>.toml`: the description of a dataset.
///
/// A corrected dataset or a changed meaning is a new card under a new name, so that old results keep theirs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// The name used in experiment files; also the name of the card's file.
    pub name: String,
    /// The display name.
    pub title: String,
    /// The kind of target that a model predicts.
    pub task: Task,
    /// True for committed fixtures, whose files are in `fixtures/data` next to the folder of cards instead of below the
    /// data root.
    #[serde(default)]
    pub fixture: bool,
    /// True if the paths are below the card's own folder instead of the data root, as is handy for your own data. If a
    /// card inherits this key from one that it extends, the paths are below the folder of that one.
    #[serde(default, rename = "relative-to-card")]
    pub relative_to_card: bool,
    /// Metrics to report, the main one first, by the names of the result rows.
    pub metrics: Vec<String>,
    /// Class names in the order of their indices, which is the order of an ordinal dataset; of a tagging dataset, the types of span; of a regression, none.
    #[serde(default)]
    pub labels: Vec<String>,
    /// The label that precision, recall and F1 of "the positive class" are about.
    #[serde(default)]
    pub positive: Option<String>,
    /// The lowest and the highest score of a regression.
    #[serde(default)]
    pub range: Option<[f64; 2]>,
    /// Weighting of the loss, where labels are rare or noisy: that of `totune train`, `totune compare` and of an
    /// experiment that `totune experiment new` writes. Any other experiment says its own.
    #[serde(default)]
    pub loss: ClassLoss,
    /// Expected facts about each split, whatever layout it is read from.
    #[serde(default)]
    pub splits: BTreeMap<String, SplitFacts>,
    /// Splits of which only a sample is used.
    #[serde(default)]
    pub sample: BTreeMap<String, Sample>,
    /// The file name of each split's predictions on the benchmark's site.
    #[serde(default)]
    pub submission: BTreeMap<String, String>,
    /// The layouts the dataset circulates in; a split is read from the first one whose file is there.
    pub layouts: Vec<Layout>,
    /// Row filter for every file: rows that have one of these values in each of these columns belong to the dataset.
    #[serde(default, rename = "where")]
    pub rows: BTreeMap<String, OneOf>,
    /// Licence or terms of use.
    #[serde(default)]
    pub licence: String,
    /// Citation.
    #[serde(default)]
    pub citation: String,
    /// Homepage: the address of a description.
    #[serde(default)]
    pub homepage: String,
    /// Instructions for getting the files by hand and where to put them.
    #[serde(default)]
    pub instructions: String,
    /// Downloads of the files; empty where they cannot be had without a person.
    #[serde(default)]
    pub fetch: Vec<totune_fetch::Fetch>,
    /// Note for readers of results: for instance that this is a subset, or that rows were converted.
    #[serde(default)]
    pub note: Option<String>,
    /// The card's own file.
    #[serde(skip)]
    pub file: PathBuf,
    /// The file whose folder paths are relative to, where `relative_to_card` says so.
    #[serde(skip)]
    pub(crate) relative_to: PathBuf,
}

/// Expected facts about a split. Facts that are not stated are not checked.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplitFacts {
    /// Examples; of a tagging dataset, sentences.
    pub rows: usize,
    /// Examples of each label, in the order of `labels`, one with several labels in each; of a tagging dataset, spans of
    /// each type.
    #[serde(default)]
    pub counts: Option<Vec<usize>>,
    /// Examples whose text an earlier one already has.
    #[serde(default)]
    pub repeats: Option<usize>,
    /// Words of a tagging dataset.
    #[serde(default)]
    pub words: Option<usize>,
    /// True if the targets are published; otherwise the split can be read and predicted, but not scored.
    #[serde(default = "yes")]
    pub labelled: bool,
}

/// A random sample with the same number of examples of each label, in file order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Sample {
    /// Examples of each label.
    pub per_label: usize,
    /// The seed of the draw; another seed is another dataset.
    pub seed: u64,
}

/// The key of [`Card::relative_to_card`].
const RELATIVE: &str = "relative-to-card";

fn yes() -> bool {
    true
}

/// Dataset cards of a folder, or of several.
pub type Catalogue = Cards<Card>;

impl CardFile for Card {
    const KIND: &'static str = "dataset";
    const LIST: &'static str = "totune data list";

    fn read(path: &Path) -> Result<Self> {
        Self::read(path)
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl Card {
    /// Returns whether its examples are pairs of texts.
    pub fn is_of_pairs(&self) -> bool {
        let mut layouts = self.layouts.iter();
        layouts.any(|layout| layout.columns_of("train").second.is_some())
    }

    /// Reads and checks the card at `path`.
    pub fn read(path: &Path) -> Result<Self> {
        let mut card: Card = read_extended(path)?;
        card.narrow();
        card.file = path.to_path_buf();
        if card.relative_to_card {
            card.relative_to = set_in(path, RELATIVE)?.unwrap_or_else(|| path.to_path_buf());
        }
        card.check()
            .with_context(|| path.display().to_string())
            .map_err(|error| anyhow!("{error:#}"))?;
        Ok(card)
    }

    /// The card in `text`, as if it had been read from `path`.
    pub(crate) fn parse(text: &str, path: &Path) -> Result<Self> {
        let mut card: Card = parse_toml(text)?;
        card.narrow();
        card.file = path.to_path_buf();
        card.relative_to = path.to_path_buf();
        card.check()?;
        Ok(card)
    }

    /// The names of all splits that some layout has a file for.
    pub fn split_names(&self) -> BTreeSet<&str> {
        let files = self.layouts.iter().flat_map(|layout| layout.files.keys());
        files.map(String::as_str).collect()
    }

    /// Finds `split` on disk, if it is there: the first layout whose file exists, and that file.
    pub fn locate(&self, root: &Path, split: &str) -> Option<(&Layout, PathBuf)> {
        self.found(root, split).into_iter().next()
    }

    /// Finds `split` in each layout whose files exist, in the order of preference.
    pub fn found(&self, root: &Path, split: &str) -> Vec<(&Layout, PathBuf)> {
        let mut places = self.places(root, split);
        let root = self.root(root);
        places.retain(|(layout, _)| {
            let file = layout.files.get(split);
            file.is_some_and(|file| file.paths().all(|path| root.join(path).is_file()))
        });
        places
    }

    /// Every file that reading `split` opens; none where the split is not there.
    pub fn files(&self, root: &Path, split: &str) -> Vec<PathBuf> {
        let read = self.locate(root, split);
        let file = read.and_then(|(layout, _)| layout.files.get(split));
        let paths = file.iter().flat_map(|file| file.paths());
        paths.map(|path| self.root(root).join(path)).collect()
    }

    /// The path of `split` in each layout that has it, present or not, in the order of preference.
    pub fn places(&self, root: &Path, split: &str) -> Vec<(&Layout, PathBuf)> {
        let root = self.root(root);
        let place = |layout: &'_ Layout| Some(root.join(&layout.files.get(split)?.path));
        self.layouts
            .iter()
            .filter_map(|layout| Some((layout, place(layout)?)))
            .collect()
    }

    /// A message that lists the missing ones among `splits`, with how to get them and where to put them; none if all
    /// are there.
    pub fn missing(&self, root: &Path, splits: &[&str]) -> Option<String> {
        let absent: Vec<String> = splits
            .iter()
            .filter(|split| self.locate(root, split).is_none())
            .map(|split| {
                let places = self.places(root, split);
                let paths = places
                    .iter()
                    .map(|(_, path)| format!("`{}`", path.display()));
                paths.collect::<Vec<_>>().join(" or ")
            })
            .collect();
        let mut how = self.instructions.trim().to_string();
        if !self.fetch.is_empty() {
            how = format!(
                "`totune data fetch {}` gets what can be fetched\n{how}",
                self.name
            );
        }
        let files = absent.join(", ");
        (!absent.is_empty()).then(|| {
            format!(
                "dataset `{}`: missing {files}\n{}",
                self.name,
                how.trim_end()
            )
        })
    }

    /// The index of the positive label, if the card names one.
    pub fn positive_index(&self) -> Option<usize> {
        let positive = self.positive.as_ref()?;
        self.labels.iter().position(|label| label == positive)
    }

    /// The folder the paths of this card are below.
    pub(crate) fn root(&self, root: &Path) -> PathBuf {
        let cards = self.file.parent().unwrap_or(Path::new(""));
        if self.relative_to_card {
            let folder = self.relative_to.parent().unwrap_or(Path::new(""));
            return folder.to_path_buf();
        }
        if !self.fixture {
            return root.to_path_buf();
        }
        // `datasets` has the empty path as its parent when the program runs in the project's folder.
        cards
            .parent()
            .unwrap_or(Path::new(".."))
            .join("fixtures")
            .join("data")
    }

    /// Copies the card's own `where` to each of its files.
    fn narrow(&mut self) {
        let files = self
            .layouts
            .iter_mut()
            .flat_map(|layout| layout.files.values_mut());
        for file in files {
            let own = std::mem::take(&mut file.r#where);
            file.r#where = self.rows.clone();
            file.r#where.extend(own);
        }
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
        self.check_labels()?;
        self.loss.check()?;
        self.loss.check_for(self.task)?;
        ensure!(
            !self.layouts.is_empty(),
            "layouts: none listed; expected at least one `[[layouts]]`"
        );
        let mut names = HashSet::new();
        for layout in &self.layouts {
            ensure!(
                names.insert(&layout.name),
                "layouts: `{}` is listed twice; expected once",
                layout.name
            );
            layout
                .check(self.task, self.labels.len())
                .with_context(|| format!("layouts.{}", layout.name))?;
        }
        let known = self.split_names();
        for (split, facts) in &self.splits {
            let hint = did_you_mean(split, known.iter().copied());
            ensure!(
                known.contains(split.as_str()),
                "splits.{split}: no layout has a file for it{hint}known splits: {}",
                quoted(known.iter().copied())
            );
            facts
                .check(self.labels.len(), self.task)
                .with_context(|| format!("splits.{split}"))?;
        }
        for split in self.submission.keys() {
            let hint = did_you_mean(split, known.iter().copied());
            ensure!(
                known.contains(split.as_str()),
                "submission.{split}: no layout has a file for it{hint}known splits: {}",
                quoted(known.iter().copied())
            );
        }
        for (split, sample) in &self.sample {
            let hint = did_you_mean(split, known.iter().copied());
            ensure!(
                known.contains(split.as_str()),
                "sample.{split}: no layout has a file for it{hint}known splits: {}",
                quoted(known.iter().copied())
            );
            ensure!(
                self.task.has_one_label(),
                "sample.{split}: expected none, since the task is {}, which has no single label to balance",
                self.task.word()
            );
            ensure!(
                sample.per_label > 0,
                "sample.{split}: per-label: 0; expected at least 1"
            );
        }
        self.check_metrics()
    }

    fn check_labels(&self) -> Result<()> {
        let (least, range) = match self.task {
            Task::Classification | Task::Ordinal => (2, false),
            Task::MultiLabel | Task::Tagging => (1, false),
            Task::Regression => (0, true),
        };
        let n = self.labels.len();
        ensure!(n >= least, "labels: {n} listed; expected at least {least}");
        ensure!(
            !range || n == 0,
            "labels: {n} listed; expected none, since this is a regression"
        );
        let mut seen = HashSet::new();
        if let Some(twice) = self.labels.iter().find(|label| !seen.insert(*label)) {
            return Err(anyhow!("labels: `{twice}` is listed twice; expected once"));
        }
        let text = self.labels.iter().find(|label| {
            label.trim() != label.as_str() || label.is_empty() || label.contains(SEPARATOR)
        });
        if let (Task::MultiLabel, Some(label)) = (self.task, text) {
            return Err(anyhow!(
                "labels: `{label}`; expected a text without `{SEPARATOR}`, which separates the labels of a prediction, and \
                 without white space around it"
            ));
        }
        match self.range {
            Some([low, high]) => ensure!(
                range && low < high,
                "range: [{low}, {high}]; expected the lowest and the highest score of a regression"
            ),
            None => ensure!(
                !range,
                "range: not given; expected the lowest and the highest score, such as [0, 5]"
            ),
        }
        if let Some(positive) = &self.positive {
            ensure!(
                self.task == Task::Classification,
                "positive: `{positive}`; expected none, since the task is {}",
                self.task.word()
            );
            let names = || self.labels.iter().map(String::as_str);
            let hint = did_you_mean(positive, names());
            ensure!(
                self.positive_index().is_some(),
                "positive: `{positive}` is not a label{hint}expected {}",
                quoted(names())
            );
        }
        Ok(())
    }
}

impl SplitFacts {
    fn check(&self, n_labels: usize, task: Task) -> Result<()> {
        ensure!(
            task == Task::Tagging || self.words.is_none(),
            "words: given; expected none, since the task is not tagging"
        );
        let Some(counts) = &self.counts else {
            return Ok(());
        };
        ensure!(
            self.labelled,
            "counts: given; expected none, since the split has no labels"
        );
        ensure!(
            counts.len() == n_labels,
            "counts: {} numbers; expected one for each of {n_labels} labels",
            counts.len()
        );
        let total = counts
            .iter()
            .fold(0, |total: usize, &n| total.saturating_add(n));
        // A sentence may have any number of spans, and a row of a multi-label dataset any number of labels.
        ensure!(
            total == self.rows || !task.has_one_label(),
            "counts: {total} in all; expected {} as `rows` says",
            self.rows
        );
        let most = counts.iter().max().copied().unwrap_or(0);
        ensure!(
            task != Task::MultiLabel || most <= self.rows,
            "counts: {most}; expected at most {}, the number of rows",
            self.rows
        );
        Ok(())
    }
}
