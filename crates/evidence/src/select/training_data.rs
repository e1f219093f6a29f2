//! Tasks in the training data of encoders, from the encoders' cards.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::plan::Plan;
use crate::toml_file;

/// The part of an encoder's card that is read here.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Card {
    title: String,
    #[serde(default)]
    trained_on: BTreeSet<String>,
    #[serde(default)]
    shares_texts: BTreeMap<String, BTreeSet<String>>,
}

/// The training data of encoders.
#[derive(Debug, Default)]
pub(crate) struct TrainingData {
    cards: BTreeMap<String, Card>,
}

impl TrainingData {
    /// Reads the cards of `encoders/` in these folders; of several with one name the first counts. Empty where there is
    /// no such folder.
    ///
    /// # Errors
    ///
    /// If a card cannot be read.
    pub(crate) fn read(folders: &[&Path]) -> Result<Self> {
        let mut cards = BTreeMap::new();
        let folders = folders.iter().map(|folder| folder.join("encoders"));
        for folder in folders.filter(|folder| folder.is_dir()) {
            let entries = fs::read_dir(&folder).context("encoders: could not be listed")?;
            for entry in entries {
                let path = entry.context("encoders: could not be listed")?.path();
                let name = path.file_stem().unwrap_or_default().to_string_lossy();
                let is_card = path.extension().is_some_and(|ending| ending == "toml");
                if is_card && !cards.contains_key(&*name) {
                    let card = toml_file::read(&path, &format!("encoders/{name}.toml"))?;
                    cards.insert(name.into_owned(), card);
                }
            }
        }
        Ok(Self { cards })
    }

    /// Notes on the runs, given by dataset and encoder, whose data or texts the encoder was trained on: up to two
    /// sentences for each encoder, with the titles of the plan's tasks. A control with random weights has another name
    /// than its encoder, and was trained on nothing.
    pub(crate) fn notes<'r>(
        &self,
        runs: impl Iterator<Item = (&'r str, &'r str)>,
        plan: &Plan,
    ) -> Vec<String> {
        let mut datasets: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (dataset, encoder) in runs {
            datasets.entry(encoder).or_default().insert(dataset);
        }
        let known = datasets.into_iter().filter_map(|(encoder, datasets)| {
            let card = self.cards.get(encoder)?;
            Some(card.notes(&datasets, plan))
        });
        known.flatten().collect()
    }
}

impl Card {
    /// Notes on scores on these datasets.
    fn notes(&self, datasets: &BTreeSet<&str>, plan: &Plan) -> Vec<String> {
        let title = &self.title;
        let mut notes = Vec::new();
        let trained_on = titles(&self.trained_on, datasets, plan);
        if !trained_on.is_empty() {
            notes.push(format!(
                "{title} was trained on data of {trained_on}, according to its card: scores there are not scores on \
                 unseen data"
            ));
        }
        for (source, sharing) in &self.shares_texts {
            let sharing = titles(sharing, datasets, plan);
            if !sharing.is_empty() {
                notes.push(format!(
                    "{title} was trained on {source}, from which texts of {sharing} were taken: it may have seen these \
                     texts, without their labels"
                ));
            }
        }
        notes
    }
}

/// The titles of the plan's tasks for those of `datasets` that are `listed`, or the dataset's name where it has no task.
fn titles(listed: &BTreeSet<String>, datasets: &BTreeSet<&str>, plan: &Plan) -> String {
    let listed = datasets.iter().filter(|dataset| listed.contains(**dataset));
    let titles: BTreeSet<&str> = listed
        .map(|dataset| {
            let of_plan = plan.tasks.values();
            let mut of_plan = of_plan.filter(|task| task.datasets.iter().any(|d| d == dataset));
            of_plan.next().map_or(*dataset, |task| task.title.as_str())
        })
        .collect();
    Vec::from_iter(titles).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARD: &str =
        "title = 'Tiny'\ntrained-on = ['letters', 'News']\nshares-texts = { News = ['notes'] }";

    fn project() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("encoders")).unwrap();
        fs::write(folder.path().join("encoders/tiny.toml"), CARD).unwrap();
        fs::write(folder.path().join("encoders/other.toml"), "title = 'O'").unwrap();
        folder
    }

    #[test]
    fn runs_on_training_data_are_told_once() {
        let data = TrainingData::read(&[project().path()]).unwrap();
        let plan = Plan::default();
        let elsewhere = [
            ("letters", "other"),
            ("letters", "tiny@random"),
            ("numbers", "tiny"),
            ("letters", ""),
        ];
        assert_eq!(data.notes(elsewhere.into_iter(), &plan), [""; 0]);
        let told = "Tiny was trained on data of letters, according to its card: scores there are not scores on unseen data";
        assert_eq!(
            data.notes([("letters", "tiny"); 2].into_iter(), &plan),
            [told]
        );
        let shared = "Tiny was trained on News, from which texts of notes were taken: it may have seen these texts, without their labels";
        let both = [("notes", "tiny"), ("letters", "tiny"), ("notes", "other")];
        assert_eq!(data.notes(both.into_iter(), &plan), [told, shared]);
    }

    #[test]
    fn a_project_need_not_have_cards_and_a_wrong_one_is_named() {
        let empty = tempfile::tempdir().unwrap();
        TrainingData::read(&[empty.path()]).unwrap();
        let project = project();
        fs::write(
            project.path().join("encoders/bad.toml"),
            "title = 'B'\ntrained-on = 'x'",
        )
        .unwrap();
        let error = TrainingData::read(&[project.path()])
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("encoders/bad.toml: line 2:"), "{error}");
    }
}
