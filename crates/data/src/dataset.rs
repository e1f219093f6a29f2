//! A dataset as read: examples whose counts agree with the card.

use crate::format::{FormatError, Table};
use crate::hash::{FieldHash, sha256_hex};
use crate::near::quoted;
use crate::{Card, Example, Input, Repeats, SplitFile, Target};
use anyhow::{Context, Result, anyhow, ensure};
use std::collections::HashMap;
use std::path::Path;

/// The examples of one file of a dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// The card's name.
    pub name: String,
    /// SHA-256 of what was read: label names, and id, text, label and group of every example. Two files that read the
    /// same have the same hash, and a card that reads the same file differently has another.
    pub hash: String,
    /// Label names in the order of their indices.
    pub labels: Vec<String>,
    /// The index of the positive label, where the card names one.
    pub positive: Option<usize>,
    /// Examples in file order.
    pub examples: Vec<Example>,
}

impl Card {
    /// Reads the `train` file; most datasets here have no other labelled one.
    pub fn load(&self, root: &Path) -> Result<Dataset> {
        self.load_split(root, "train")
    }

    /// Reads the file of `split` below `root`, and refuses it unless its SHA-256, its rows, its labels and its
    /// repeated texts are what the card says.
    pub fn load_split(&self, root: &Path, split: &str) -> Result<Dataset> {
        let expected = self.splits.get(split).ok_or_else(|| {
            let known = quoted(self.splits.keys().map(String::as_str));
            anyhow!(
                "{}: no split `{split}`; expected {known}",
                self.file.display()
            )
        })?;
        let path = self.locate(root, split).ok_or_else(|| {
            anyhow!(
                self.missing(root)
                    .unwrap_or_else(|| format!("dataset `{}`: split `{split}` is gone", self.name))
            )
        })?;
        let bytes =
            std::fs::read(&path).with_context(|| format!("{}: cannot be read", path.display()))?;
        let examples = self
            .format
            .read(&path, &bytes)
            .and_then(|table| self.examples(&table));
        let found = sha256_hex(&bytes);
        if found != expected.sha256 {
            let why = examples.err().map_or_else(String::new, |error| {
                format!("\nit cannot be read either: {error}")
            });
            let expected = &expected.sha256;
            let card = self.file.display();
            return Err(anyhow!(
                "{}: sha256 {found}; expected {expected} ({card}){why}",
                path.display()
            ));
        }
        let dataset = self.dataset(examples?);
        expected
            .agree(&dataset)
            .with_context(|| path.display().to_string())
            .map_err(|error| anyhow!("{error:#}"))?;
        Ok(dataset)
    }

    fn dataset(&self, examples: Vec<Example>) -> Dataset {
        let labels: Vec<String> = self.labels.iter().map(|label| label.name.clone()).collect();
        let positive = self
            .positive
            .as_ref()
            .and_then(|positive| labels.iter().position(|label| label == positive));
        let hash = content_hash(&labels, &examples);
        Dataset {
            name: self.name.clone(),
            hash,
            labels,
            positive,
            examples,
        }
    }

    /// The rows of `table` as examples, by the card's columns and labels.
    fn examples(&self, table: &Table) -> Result<Vec<Example>, FormatError> {
        let id = self
            .columns
            .id
            .as_ref()
            .map(|name| table.column(name))
            .transpose()?;
        let text = table.column(&self.columns.text)?;
        let label = table.column(&self.columns.label)?;
        let group = self
            .columns
            .group
            .as_ref()
            .map(|name| table.column(name))
            .transpose()?;
        let classes: HashMap<&str, usize> = self
            .labels
            .iter()
            .enumerate()
            .map(|(class, label)| (label.value.as_str(), class))
            .collect();
        let mut seen: HashMap<String, usize> = HashMap::new();
        let mut examples = Vec::with_capacity(table.rows.len());
        for (number, row) in table.rows.iter().enumerate() {
            let id = id.map_or_else(
                || (number + 1).to_string(),
                |column| row.fields[column].clone(),
            );
            if let Some(earlier) = seen.insert(id.clone(), row.line) {
                return Err(table.error(
                    row.line,
                    format!("id `{id}` is already on line {earlier}; expected it once"),
                ));
            }
            let value = row.fields[label].as_str();
            let class = *classes.get(value).ok_or_else(|| {
                let known = quoted(self.labels.iter().map(|label| label.value.as_str()));
                let column = &self.columns.label;
                table.error(
                    row.line,
                    format!("{column} `{value}` is not a label; expected one of {known}"),
                )
            })?;
            let group = group
                .map(|column| row.fields[column].clone())
                .filter(|group| !group.is_empty());
            let input = Input::Text(row.fields[text].clone());
            examples.push(Example {
                id,
                input,
                target: Target::Class(class),
                group,
            });
        }
        Ok(examples)
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

impl SplitFile {
    /// Whether `dataset` is what this card entry says.
    fn agree(&self, dataset: &Dataset) -> Result<()> {
        let rows = dataset.examples.len();
        ensure!(rows == self.rows, "{rows} rows; expected {}", self.rows);
        for ((label, found), expected) in dataset
            .labels
            .iter()
            .zip(dataset.counts())
            .zip(&self.counts)
        {
            ensure!(
                found == *expected,
                "{found} rows are `{label}`; expected {expected}"
            );
        }
        let repeats = dataset.repeats().rows;
        ensure!(
            repeats == self.repeats,
            "{repeats} rows repeat an earlier text; expected {}",
            self.repeats
        );
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
        }
        match &example.target {
            Target::Class(class) => hash.add(&format!("class {class}")),
        }
        match &example.group {
            Some(group) => hash.add(&format!("group {group}")),
            None => hash.add("no group"),
        }
    }
    hash.finish()
}
