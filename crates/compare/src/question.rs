//! The question: a person's data, divided, and what is asked of a model.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use totune_data::{Card, Dataset};

use crate::parts::{divide, part};

/// Below this many labelled examples a held-out part is too small to choose on, and folds are used instead.
pub const SMALL: usize = 1000;
/// Folds of a small dataset.
const FOLDS: usize = 5;
/// Seed of all divisions; that of a run never changes them.
const SEED: u64 = 13;
/// Most examples that are decided by: more would take time from training and decide little.
const MOST_DEV: usize = 1000;
/// Most examples that are reported on, where the data does not say which.
const MOST_TEST: usize = 2000;

/// A dataset as it is used here.
#[derive(Debug, Clone)]
pub struct Question {
    /// Name of the dataset.
    pub name: String,
    /// For people.
    pub title: String,
    /// Whether committed fixtures are read, which say nothing about anything.
    pub fixture: bool,
    /// Whether its examples are pairs of texts.
    pub pairs: bool,
    /// How it is divided.
    pub parts: Parts,
    /// What a reader of the answer should know of that.
    pub notes: Vec<String>,
}

/// How data is divided.
#[derive(Debug, Clone)]
pub enum Parts {
    /// Learned from, decided by, reported on.
    Three {
        /// Learned from.
        train: Box<Dataset>,
        /// Decided by.
        dev: Box<Dataset>,
        /// Reported on.
        test: Box<Dataset>,
    },
    /// Each example is answered once by a model that did not see it.
    Folds {
        /// All examples.
        all: Box<Dataset>,
        /// Of each fold, the examples that it answers.
        folds: Vec<Vec<usize>>,
    },
}

impl Parts {
    /// A part to ask facts of: labels, metrics, the kind of answer.
    pub fn any(&self) -> &Dataset {
        match self {
            Self::Three { train, .. } => train,
            Self::Folds { all, .. } => all,
        }
    }
}

impl Question {
    /// The data of `card`, whose files are below `root`.
    ///
    /// # Errors
    /// When its files are missing or not what the card says, or there is too little of it.
    pub fn read(card: &Card, root: &Path) -> Result<Self> {
        let load = |split: &str| {
            let facts = card.splits.get(split);
            let there =
                facts.is_some_and(|facts| facts.labelled) && !card.found(root, split).is_empty();
            there.then(|| card.load_split(root, split)).transpose()
        };
        let train = card.load_split(root, "train")?;
        let mut notes = Vec::new();
        let (dev, test) = (load("dev")?, load("test")?);
        let parts = Self::divided(train, dev, test, &mut notes);
        Ok(Self {
            name: card.name.clone(),
            title: card.title.clone(),
            fixture: card.fixture,
            pairs: card.is_of_pairs(),
            parts: parts.with_context(|| card.file.display().to_string())?,
            notes,
        })
    }

    fn divided(
        train: Dataset,
        dev: Option<Dataset>,
        test: Option<Dataset>,
        notes: &mut Vec<String>,
    ) -> Result<Parts> {
        let n = train.examples.len();
        ensure!(
            n >= 50,
            "found {n} examples to learn from, expected at least 50"
        );
        let three = |train, dev, test| Parts::Three {
            train: Box::new(train),
            dev: Box::new(dev),
            test: Box::new(test),
        };
        let held_out = |share: f64, most: usize| share.min(most as f64 / n as f64);
        let of = |dataset: &Dataset, indices: &[usize]| part(dataset, indices, &dataset.name);
        Ok(match (dev, test) {
            (Some(dev), Some(test)) => three(train, dev, test),
            (None, Some(test)) | (Some(test), None) => {
                // A file of another split is what is reported on, whatever it is called.
                let share = held_out(0.15, MOST_DEV);
                let parts = divide(&train, &[1.0 - share, share], SEED)?;
                notes.push(format!(
                    "{} of the {n} training examples were held out to choose on.",
                    parts[1].len()
                ));
                three(of(&train, &parts[0]), of(&train, &parts[1]), test)
            }
            (None, None) if n < SMALL => {
                let folds = divide(&train, &[1.0 / FOLDS as f64; FOLDS], SEED)?;
                notes.push(format!(
                    "With {n} examples a held-out part would be too small to choose on: every score is of {FOLDS}-fold \
                     cross-validation, in which each example is answered by a model that did not learn from it, and the \
                     interval of the choice is corrected for having been chosen on the same examples."
                ));
                Parts::Folds {
                    all: Box::new(train),
                    folds,
                }
            }
            (None, None) => {
                let (dev, test) = (held_out(0.15, MOST_DEV), held_out(0.2, MOST_TEST));
                let parts = divide(&train, &[1.0 - dev - test, dev, test], SEED)?;
                notes.push(format!(
                    "Of {n} examples {} were learned from, {} chosen on and {} reported on; equal texts and groups stay on \
                     one side.",
                    parts[0].len(),
                    parts[1].len(),
                    parts[2].len()
                ));
                three(
                    of(&train, &parts[0]),
                    of(&train, &parts[1]),
                    of(&train, &parts[2]),
                )
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::tests::dataset;

    fn divided(n: usize, dev: Option<usize>, test: Option<usize>) -> Result<(Vec<usize>, String)> {
        let of = |n: usize| dataset(n, |_| None);
        let mut notes = Vec::new();
        let parts = Question::divided(of(n), dev.map(of), test.map(of), &mut notes)?;
        let sizes = match parts {
            Parts::Three { train, dev, test } => {
                [train, dev, test].map(|part| part.examples.len()).to_vec()
            }
            Parts::Folds { folds, .. } => folds.iter().map(Vec::len).collect(),
        };
        Ok((sizes, notes.join(" ")))
    }

    #[test]
    fn data_is_divided_by_what_there_is_of_it() {
        for (n, dev, test, sizes) in [
            (2000, None, None, &[1300, 300, 400][..]),
            (20_000, None, None, &[17_000, 1000, 2000]),
            (2000, None, Some(300), &[1700, 300, 300]),
            (2000, Some(200), None, &[1700, 300, 200]),
            (500, Some(60), Some(70), &[500, 60, 70]),
            (500, None, None, &[99, 99, 100, 101, 101]),
        ] {
            assert_eq!(divided(n, dev, test).unwrap().0, sizes, "{n}");
        }
    }

    #[test]
    fn too_little_is_an_error() {
        let error = divided(49, None, None).unwrap_err().to_string();
        assert_eq!(
            error,
            "found 49 examples to learn from, expected at least 50"
        );
    }
}
