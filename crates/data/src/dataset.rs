//! A dataset as read: examples whose counts agree with the card.

use crate::hash::{FieldHash, sha256_hex};
use crate::near::quoted;
use crate::{Card, Example, Input, Repeats, SplitFacts, Target};
use anyhow::{Context, Result, anyhow, ensure};
use std::path::Path;

/// The examples of one file of a dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// The card's name.
    pub name: String,
    /// SHA-256 of what was read: label names, and id, text, label and group of every example. Two files that read the
    /// same have the same hash, and a card that reads the same file differently has another.
    pub hash: String,
    /// Label names in the order of their indices; none of a regression.
    pub labels: Vec<String>,
    /// The index of the positive label, where the card names one.
    pub positive: Option<usize>,
    /// Examples in file order.
    pub examples: Vec<Example>,
}

impl Card {
    /// Reads the `train` split; most datasets here have no other labelled one.
    pub fn load(&self, root: &Path) -> Result<Dataset> {
        self.load_split(root, "train")
    }

    /// Reads `split` below `root`, and refuses it unless its SHA-256, its rows, its labels and its repeated texts are
    /// what the card says.
    pub fn load_split(&self, root: &Path, split: &str) -> Result<Dataset> {
        let known = self.split_names();
        if !known.contains(split) {
            let known = quoted(known);
            let card = self.file.display();
            return Err(anyhow!("{card}: no split `{split}`; expected {known}"));
        }
        let (layout, path) = self.locate(root, split).ok_or_else(|| {
            anyhow!(
                self.missing(root, &[split])
                    .unwrap_or_else(|| format!("dataset `{}`: split `{split}` is gone", self.name))
            )
        })?;
        let bytes =
            std::fs::read(&path).with_context(|| format!("{}: cannot be read", path.display()))?;
        let examples = self.examples(layout, split, &path, &bytes);
        let expected = layout
            .files
            .get(split)
            .and_then(|file| file.sha256.as_ref());
        let found = sha256_hex(&bytes);
        if let Some(expected) = expected.filter(|expected| **expected != found) {
            let why = examples.err().map_or_else(String::new, |error| {
                format!("\nit cannot be read either: {error}")
            });
            let card = self.file.display();
            return Err(anyhow!(
                "{}: sha256 {found}; expected {expected} ({card}){why}",
                path.display()
            ));
        }
        let mut examples = examples?;
        if let Some(sample) = self.sample.get(split) {
            examples = sample
                .draw(split, &self.labels, examples)
                .with_context(|| path.display().to_string())
                .map_err(|error| anyhow!("{error:#}"))?;
        }
        let dataset = self.dataset(examples);
        if let Some(facts) = self.splits.get(split) {
            facts
                .agree(&dataset)
                .with_context(|| path.display().to_string())
                .map_err(|error| anyhow!("{error:#}"))?;
        }
        Ok(dataset)
    }

    pub(crate) fn dataset(&self, examples: Vec<Example>) -> Dataset {
        let labels = self.labels.clone();
        let hash = content_hash(&labels, &examples);
        Dataset {
            name: self.name.clone(),
            hash,
            labels,
            positive: self.positive_index(),
            examples,
        }
    }
}

impl Dataset {
    /// How many examples each label has.
    pub fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.labels.len()];
        for class in self
            .examples
            .iter()
            .filter_map(|example| example.target.class())
        {
            counts[class] += 1;
        }
        counts
    }

    /// How often texts are repeated.
    pub fn repeats(&self) -> Repeats {
        Repeats::of(&self.examples)
    }
}

impl SplitFacts {
    /// Whether `dataset` is what this card entry says.
    fn agree(&self, dataset: &Dataset) -> Result<()> {
        let rows = dataset.examples.len();
        ensure!(rows == self.rows, "{rows} rows; expected {}", self.rows);
        for ((label, found), expected) in dataset
            .labels
            .iter()
            .zip(dataset.counts())
            .zip(self.counts.iter().flatten())
        {
            ensure!(
                found == *expected,
                "{found} rows are `{label}`; expected {expected}"
            );
        }
        if let Some(expected) = self.repeats {
            let repeats = dataset.repeats().rows;
            ensure!(
                repeats == expected,
                "{repeats} rows repeat an earlier text; expected {expected}"
            );
        }
        Ok(())
    }
}

fn content_hash(labels: &[String], examples: &[Example]) -> String {
    let mut hash = FieldHash::new();
    hash.add(&labels.len().to_string());
    labels.iter().for_each(|label| hash.add(label));
    for example in examples {
        hash.add(&example.id);
        match &example.input {
            Input::Text(text) => {
                hash.add("text");
                hash.add(text);
            }
            Input::Pair(first, second) => {
                hash.add("pair");
                hash.add(first);
                hash.add(second);
            }
            Input::Words(words) => {
                hash.add(&format!("words {}", words.len()));
                words.iter().for_each(|word| hash.add(word));
            }
        }
        match &example.target {
            Target::Unknown => hash.add("unknown"),
            Target::Class(class) => hash.add(&format!("class {class}")),
            // The shortest text that reads back as the same number.
            Target::Value(value) => hash.add(&format!("value {value}")),
            Target::Tags(tags) => hash.add(&format!("tags {tags:?}")),
        }
        match &example.group {
            Some(group) => hash.add(&format!("group {group}")),
            None => hash.add("no group"),
        }
    }
    hash.finish()
}
