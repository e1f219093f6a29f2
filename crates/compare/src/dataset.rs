//! A user's data with its splits.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use totune_data::{Card, Dataset, LabelledFiles, Splits};

/// Below this many labelled examples a dev split is too small to choose on, and cross-validation takes its place.
pub const SMALL: usize = 1000;
/// Folds of a small dataset.
const FOLDS: usize = 5;
/// Seed of the folds and of samples; that of a run never changes them.
const SEED: u64 = 13;

/// A dataset with its splits.
#[derive(Debug, Clone)]
pub struct DatasetSplits {
    /// Name of the dataset.
    pub name: String,
    /// Display name.
    pub title: String,
    /// Its card.
    pub card: PathBuf,
    /// True if committed fixtures are read, so that scores mean nothing.
    pub fixture: bool,
    /// Hash of the content of its training file.
    pub hash: String,
    /// The splits.
    pub splits: SplitKind,
    /// Notes about them for the reader of the comparison.
    pub notes: Vec<String>,
}

/// The splits on which strategies are chosen and evaluated.
#[derive(Debug, Clone)]
pub enum SplitKind {
    /// Trained on train, chosen on dev, evaluated on test.
    TrainDevTest(Box<Splits>),
    /// Cross-validation: each example is predicted once, by a model that was not trained on it.
    Folds {
        /// All examples.
        all: Box<Dataset>,
        /// The test indices of each fold.
        folds: Vec<Vec<usize>>,
    },
}

impl SplitKind {
    /// The training examples; with folds all examples.
    pub fn train(&self) -> &Dataset {
        match self {
            Self::TrainDevTest(splits) => &splits.train,
            Self::Folds { all, .. } => all,
        }
    }
}

impl DatasetSplits {
    /// The dataset of `card`, whose files are below `root`.
    ///
    /// # Errors
    /// When its files are missing or not what the card says, or there is too little of it.
    pub fn read(card: &Card, root: &Path) -> Result<Self> {
        Self::of(card, card.labelled_files(root)?)
    }

    /// The dataset of `card` with these files, which may be parts of its own.
    ///
    /// # Errors
    /// When there is too little of it.
    pub fn of(card: &Card, files: LabelledFiles) -> Result<Self> {
        let hash = files.train.hash.clone();
        let (splits, notes) = split(files).with_context(|| card.file.display().to_string())?;
        Ok(Self {
            name: card.name.clone(),
            title: card.title.clone(),
            card: card.file.clone(),
            fixture: card.fixture,
            hash,
            splits,
            notes,
        })
    }

    /// A few examples of each split under another `name`, on which costs are measured before anything large is tokenized.
    pub(crate) fn cost_sample(&self, name: &str) -> Vec<(String, Dataset)> {
        let (train, dev, test) = match &self.splits {
            SplitKind::TrainDevTest(splits) => (&splits.train, Some(&splits.dev), &splits.test),
            SplitKind::Folds { all, .. } => (&**all, None, &**all),
        };
        let sizes = [
            Some(("train", train, 96)),
            dev.map(|dev| ("dev", dev, 32)),
            Some(("test", test, 8)),
        ];
        let sample = |(split, part, n): (&str, &Dataset, usize)| {
            let step = (part.examples.len() / n).max(1);
            let indices: Vec<usize> = (0..part.examples.len()).step_by(step).take(n).collect();
            (split.to_string(), part.part(&indices, name))
        };
        sizes.into_iter().flatten().map(sample).collect()
    }
}

/// The splits of these files, and notes about them for the reader.
fn split(files: LabelledFiles) -> Result<(SplitKind, Vec<String>)> {
    let n = files.train.examples.len();
    let about_files = files.notes();
    ensure!(
        n >= 50,
        "found {n} training examples, expected at least 50 to compare on; `totune train` takes fewer"
    );
    let n_files = [&files.dev, &files.test].into_iter().flatten().count();
    if n_files == 0 && n < SMALL {
        let shares = [1.0 / FOLDS as f64; FOLDS];
        let folds = files.train.split_by_shares(&shares, SEED)?;
        let note = format!(
            "With {n} examples a dev split would be too small to choose a strategy on: all scores are of {FOLDS}-fold \
             cross-validation, in which each example is predicted by a model that was not trained on it, and the \
             score of the choice is corrected for the choice on the same examples."
        );
        let all = Box::new(files.train);
        return Ok((
            SplitKind::Folds { all, folds },
            about_files.into_iter().chain([note]).collect(),
        ));
    }
    let splits = files.splits()?;
    let [n_train, n_dev, n_test] =
        [&splits.train, &splits.dev, &splits.test].map(|part| part.examples.len());
    let note = match n_files {
        0 => Some(format!(
            "Of {n} examples {n_train} are train, {n_dev} dev and {n_test} test examples; duplicates and groups stay in \
             one split, and classes are stratified."
        )),
        1 => Some(format!(
            "{n_dev} of the {n} training examples are held out as dev examples."
        )),
        _ => None,
    };
    let splits = SplitKind::TrainDevTest(Box::new(splits));
    Ok((splits, about_files.into_iter().chain(note).collect()))
}

/// A split, or a stratified sample of `most` of its examples.
pub(crate) fn reduced(
    part: &Dataset,
    most: usize,
    split: &str,
    notes: &mut Vec<String>,
) -> Result<Dataset> {
    let n = part.examples.len();
    ensure!(
        n > 0,
        "{}: found no examples of {split}, expected some",
        part.name
    );
    if n <= most {
        return Ok(part.clone());
    }
    let share = most as f64 / n as f64;
    let sampled = part.split_by_shares(&[share, 1.0 - share], SEED)?;
    notes.push(format!(
        "The budget suffices for {} of the {n} {split} examples.",
        sampled[0].len()
    ));
    Ok(part.part(&sampled[0], &part.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::dataset;

    fn sizes(n: usize, dev: Option<usize>, test: Option<usize>) -> Result<(Vec<usize>, String)> {
        let files = LabelledFiles::new(dataset(n), dev.map(dataset), test.map(dataset));
        let (splits, notes) = split(files)?;
        let sizes = match splits {
            SplitKind::TrainDevTest(splits) => [splits.train, splits.dev, splits.test]
                .map(|part| part.examples.len())
                .to_vec(),
            SplitKind::Folds { folds, .. } => folds.iter().map(Vec::len).collect(),
        };
        Ok((sizes, notes.join(" ")))
    }

    #[test]
    fn small_data_without_files_of_its_own_for_dev_and_test_is_split_into_folds() {
        for (n, dev, test, expected, note) in [
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
            (500, None, None, &[100; 5], "5-fold cross-validation"),
        ] {
            let (found, notes) = sizes(n, dev, test).unwrap();
            assert_eq!(found, expected, "{n}");
            assert!(notes.contains(note), "{notes}");
        }
    }

    #[test]
    fn too_little_is_an_error() {
        let error = sizes(49, None, None).unwrap_err().to_string();
        let expected = "found 49 training examples, expected at least 50 to compare on";
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn a_split_beyond_the_budget_is_sampled() {
        let mut notes = Vec::new();
        let part = reduced(&dataset(300), 90, "test", &mut notes).unwrap();
        assert_eq!(part.examples.len(), 90);
        assert_eq!(
            notes,
            ["The budget suffices for 90 of the 300 test examples."]
        );
        let whole = reduced(&dataset(300), 300, "test", &mut notes).unwrap();
        assert_eq!((whole.examples.len(), notes.len()), (300, 1));
    }
}
