//! The question: a person's data, divided, and what is asked of a model.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use totune_data::{Card, Dataset, LabelledFiles, Splits};

/// Below this many labelled examples a held-out part is too small to choose on, and folds are used instead.
pub const SMALL: usize = 1000;
/// Folds of a small dataset.
const FOLDS: usize = 5;
/// Seed of the folds; that of a run never changes them.
const SEED: u64 = 13;

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
        let mut notes = Vec::new();
        let parts = Self::divided(card.labelled_files(root)?, &mut notes);
        Ok(Self {
            name: card.name.clone(),
            title: card.title.clone(),
            fixture: card.fixture,
            pairs: card.is_of_pairs(),
            parts: parts.with_context(|| card.file.display().to_string())?,
            notes,
        })
    }

    fn divided(files: LabelledFiles, notes: &mut Vec<String>) -> Result<Parts> {
        let n = files.train.examples.len();
        ensure!(
            n >= 50,
            "found {n} examples to learn from, expected at least 50"
        );
        let n_files = [&files.dev, &files.test].into_iter().flatten().count();
        if n_files == 0 && n < SMALL {
            let folds = files
                .train
                .split_by_shares(&[1.0 / FOLDS as f64; FOLDS], SEED)?;
            notes.push(format!(
                "With {n} examples a dev split would be too small to choose a strategy on: all scores are of {FOLDS}-fold \
                 cross-validation, in which each example is predicted by a model that was not trained on it, and the \
                 interval of the choice is corrected for the choice on the same examples."
            ));
            return Ok(Parts::Folds {
                all: Box::new(files.train),
                folds,
            });
        }
        let Splits { train, dev, test } = files.splits()?;
        let [n_train, n_dev, n_test] = [&train, &dev, &test].map(|part| part.examples.len());
        match n_files {
            0 => notes.push(format!(
                "Of {n} examples {n_train} are train, {n_dev} dev and {n_test} test examples; duplicates and groups stay in \
                 one split, and classes are stratified."
            )),
            1 => notes.push(format!(
                "{n_dev} of the {n} training examples are held out as dev examples."
            )),
            _ => {}
        }
        Ok(Parts::Three {
            train: Box::new(train),
            dev: Box::new(dev),
            test: Box::new(test),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::dataset;

    fn divided(n: usize, dev: Option<usize>, test: Option<usize>) -> Result<(Vec<usize>, String)> {
        let of = |n: usize| dataset(n);
        let mut notes = Vec::new();
        let files = LabelledFiles {
            train: of(n),
            dev: dev.map(of),
            test: test.map(of),
        };
        let sizes = match Question::divided(files, &mut notes)? {
            Parts::Three { train, dev, test } => {
                [train, dev, test].map(|part| part.examples.len()).to_vec()
            }
            Parts::Folds { folds, .. } => folds.iter().map(Vec::len).collect(),
        };
        Ok((sizes, notes.join(" ")))
    }

    #[test]
    fn small_data_without_files_of_its_own_for_dev_and_test_is_split_into_folds() {
        for (n, dev, test, sizes, note) in [
            (
                2000,
                None,
                None,
                &[1300, 300, 400][..],
                "1300 are train, 300 dev and 400 test",
            ),
            (
                2000,
                None,
                Some(300),
                &[1700, 300, 300],
                "300 of the 2000 training examples",
            ),
            (500, Some(60), Some(70), &[500, 60, 70], ""),
            (
                500,
                None,
                Some(70),
                &[425, 75, 70],
                "75 of the 500 training examples",
            ),
            (
                500,
                None,
                None,
                &[99, 99, 100, 101, 101],
                "5-fold cross-validation",
            ),
        ] {
            let (found, notes) = divided(n, dev, test).unwrap();
            assert_eq!(found, sizes, "{n}");
            assert!(notes.contains(note), "{notes}");
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
