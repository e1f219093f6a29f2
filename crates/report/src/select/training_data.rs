//! Which tasks an encoder has been trained on already, from what the encoders' cards list.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::plan::Plan;
use crate::toml_file;

/// What of an encoder's card is read here.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Card {
    title: String,
    #[serde(default)]
    trained_on: BTreeSet<String>,
}

/// The training data of encoders, and what has been selected of runs on it since it was last asked.
#[derive(Debug, Default)]
pub(crate) struct TrainingData {
    cards: BTreeMap<String, Card>,
    /// Encoders with datasets that they were trained on.
    selected: RefCell<BTreeSet<(String, String)>>,
}

impl TrainingData {
    /// What the cards of `encoders/` say; nothing where there is no such folder.
    ///
    /// # Errors
    ///
    /// If a card cannot be read.
    pub(crate) fn read(project_root: &Path) -> Result<Self> {
        let folder = project_root.join("encoders");
        let mut cards = BTreeMap::new();
        if folder.is_dir() {
            let entries = fs::read_dir(&folder).context("encoders: could not be listed")?;
            for entry in entries {
                let path = entry.context("encoders: could not be listed")?.path();
                let name = path.file_stem().unwrap_or_default().to_string_lossy();
                if path.extension().is_some_and(|ending| ending == "toml") {
                    let card = toml_file::read(&path, &format!("encoders/{name}.toml"))?;
                    cards.insert(name.into_owned(), card);
                }
            }
        }
        Ok(Self {
            cards,
            selected: RefCell::default(),
        })
    }

    /// Notes that a run of this dataset and encoder was selected. A control with random weights has another name than its
    /// encoder, and was trained on nothing.
    pub(crate) fn select(&self, dataset: &str, encoder: &str) {
        let card = self.cards.get(encoder);
        if card.is_some_and(|card| card.trained_on.contains(dataset)) {
            let pair = (encoder.to_owned(), dataset.to_owned());
            self.selected.borrow_mut().insert(pair);
        }
    }

    /// What was noted since it was last asked, as one sentence for each encoder, with the titles of the plan's tasks.
    pub(crate) fn notes(&self, plan: &Plan) -> Vec<String> {
        let mut tasks: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        let selected = self.selected.take();
        for (encoder, dataset) in &selected {
            let of_plan = plan.tasks.values();
            let mut of_plan = of_plan.filter(|task| task.datasets.contains(dataset));
            let title = of_plan.next().map_or(dataset.as_str(), |task| &task.title);
            tasks.entry(encoder.clone()).or_default().insert(title);
        }
        let note = |(encoder, tasks): (String, BTreeSet<&str>)| {
            let tasks: Vec<&str> = tasks.into_iter().collect();
            format!(
                "{} has been trained on data of {}, as its card lists: scores there are not those of unseen data",
                self.cards[&encoder].title,
                tasks.join(", ")
            )
        };
        tasks.into_iter().map(note).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARD: &str = "title = 'Tiny'\ntrained-on = ['letters', 'News']\nfolders = ['x']";

    fn project() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("encoders")).unwrap();
        fs::write(folder.path().join("encoders/tiny.toml"), CARD).unwrap();
        fs::write(folder.path().join("encoders/other.toml"), "title = 'O'").unwrap();
        folder
    }

    #[test]
    fn what_was_selected_of_training_data_is_told_once() {
        let data = TrainingData::read(project().path()).unwrap();
        let plan = Plan::default();
        for (dataset, encoder) in [
            ("letters", "other"),
            ("letters", "tiny@random"),
            ("numbers", "tiny"),
            ("letters", ""),
        ] {
            data.select(dataset, encoder);
            assert_eq!(data.notes(&plan), [""; 0], "{dataset}, {encoder}");
        }
        data.select("letters", "tiny");
        data.select("letters", "tiny");
        let told = "Tiny has been trained on data of letters, as its card lists: scores there are not those of unseen data";
        assert_eq!(data.notes(&plan), [told]);
        assert_eq!(data.notes(&plan), [""; 0]);
    }

    #[test]
    fn a_project_need_not_have_cards_and_a_wrong_one_is_named() {
        let empty = tempfile::tempdir().unwrap();
        TrainingData::read(empty.path()).unwrap();
        let project = project();
        fs::write(
            project.path().join("encoders/bad.toml"),
            "title = 'B'\ntrained-on = 'x'",
        )
        .unwrap();
        let error = TrainingData::read(project.path()).unwrap_err().to_string();
        assert!(error.starts_with("encoders/bad.toml: line 2:"), "{error}");
    }
}
