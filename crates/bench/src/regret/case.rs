//! Cases: a dataset cut to a number of rows, and the test examples on which every side is scored.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result, ensure};
use totune_compare::{DatasetSplits, SMALL};
use totune_data::{Card, Dataset, LabelledFiles, Task, more_is_better};

/// The most test examples.
const MOST_TEST: usize = 2000;
/// Share of the rows that are test examples where the dataset has no file of them.
const TEST: f64 = 0.2;
/// Seed of all samples.
const SEED: u64 = 13;

/// Number of rows to train on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// A stratified sample of so many.
    Some(usize),
    /// All of the dataset.
    All,
}

impl FromStr for Rows {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        let expected = |_| format!("found `{text}`, expected a number of rows or `all`");
        text.parse().map(Self::Some).map_err(expected)
    }
}

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Some(n) => write!(f, "{n}"),
            Self::All => f.write_str("all"),
        }
    }
}

/// A dataset cut to a number of rows.
pub(super) struct Case {
    pub card: Card,
    rows: Rows,
    /// The rows that each side has, to hold dev examples out of where it needs some.
    pub train: Dataset,
    /// The test examples, which no side sees.
    pub test: Dataset,
}

impl Case {
    /// Samples the rows and the test examples: those of the test file, else of the dev file, else a part of the rows.
    ///
    /// # Errors
    /// When a file is missing, or the dataset has no more rows than are wanted.
    pub fn read(card: &Card, root: &Path, rows: Rows) -> Result<Self> {
        ensure!(
            !matches!(card.task, Task::MultiLabel | Task::Ordinal),
            "{}: the task is {}; expected another, since the example script that is compared with has no such loss",
            card.name,
            card.task.word()
        );
        let LabelledFiles {
            train, dev, test, ..
        } = card.labelled_files(root)?;
        let (train, test) = match test.or(dev) {
            Some(test) => (train, test),
            None => {
                let share = TEST.min(MOST_TEST as f64 / train.examples.len() as f64);
                let parts = train.split_by_shares(&[1.0 - share, share], SEED)?;
                let part = |at: usize| train.part(&parts[at], &train.name);
                (part(0), part(1))
            }
        };
        let train = match rows {
            Rows::All => train,
            Rows::Some(n) => {
                let all = train.examples.len();
                ensure!(
                    n < all,
                    "--rows: found {n}, expected fewer than the {all} rows of {}, or `all`",
                    card.name
                );
                sampled(&train, n)?
            }
        };
        Ok(Self {
            card: card.clone(),
            rows,
            train,
            test: sampled(&test, MOST_TEST)?,
        })
    }

    /// Its name, also that of its folder.
    pub fn name(&self) -> String {
        format!("{}-{}", self.card.name, self.rows)
    }

    /// The metric of all scores.
    pub fn metric(&self) -> Result<String> {
        let mut metrics = self.train.metrics.iter();
        let metric = metrics.find(|metric| more_is_better(metric));
        metric
            .cloned()
            .with_context(|| format!("{}: found no metric to rank by", self.card.name))
    }

    /// Returns whether a comparison chooses by cross-validation: a file of so few rows has no test examples.
    pub fn is_small(&self) -> bool {
        self.train.examples.len() < SMALL
    }

    /// The data of a comparison: the rows, and the test examples unless it chooses by cross-validation.
    pub fn splits(&self) -> Result<DatasetSplits> {
        let test = (!self.is_small()).then(|| self.test.clone());
        let files = LabelledFiles::new(self.train.clone(), None, test);
        DatasetSplits::of(&self.card, files)
    }
}

/// A stratified sample of about `n` examples, one by one: groups of examples would make a sample of a few groups.
fn sampled(part: &Dataset, n: usize) -> Result<Dataset> {
    let share = n as f64 / part.examples.len() as f64;
    if share >= 1.0 {
        return Ok(part.clone());
    }
    let mut single = part.clone();
    for example in &mut single.examples {
        example.group = None;
    }
    let parts = single.split_by_shares(&[share, 1.0 - share], SEED)?;
    Ok(part.part(&parts[0], &part.name))
}
