//! Default splits of a dataset: labelled files of its own, and parts of `train` for missing ones.

use std::path::Path;

use anyhow::{Context, Result};

use crate::{Card, Dataset};

/// Share of `train` that is held out as dev, and the most examples: more would take time from training and add little.
const DEV: (f64, usize) = (0.15, 1000);
/// Share of `train` that is held out as test, and the most examples.
const TEST: (f64, usize) = (0.2, 2000);
/// Seed of the split; that of a run never changes it.
const SEED: u64 = 13;

/// The files of a dataset that have labels.
#[derive(Debug, Clone)]
pub struct LabelledFiles {
    /// The training examples, and whatever is held out of them.
    pub train: Dataset,
    /// The file of dev.
    pub dev: Option<Dataset>,
    /// The file of test.
    pub test: Option<Dataset>,
}

/// Train, dev and test examples. Parts of one file share no text and no group.
#[derive(Debug, Clone)]
pub struct Splits {
    /// The training examples.
    pub train: Dataset,
    /// The dev (validation) examples.
    pub dev: Dataset,
    /// The test examples.
    pub test: Dataset,
}

impl Card {
    /// Reads the labelled files that are there: `train`, `dev`, `test`.
    ///
    /// # Errors
    /// When that of `train` is missing, or one is not what the card says.
    pub fn labelled_files(&self, root: &Path) -> Result<LabelledFiles> {
        let load = |split: &str| {
            let facts = self.splits.get(split);
            let is_there =
                facts.is_none_or(|facts| facts.labelled) && !self.found(root, split).is_empty();
            is_there.then(|| self.load_split(root, split)).transpose()
        };
        Ok(LabelledFiles {
            train: self.load_split(root, "train")?,
            dev: load("dev")?,
            test: load("test")?,
        })
    }
}

impl LabelledFiles {
    /// The usual splits: the files, and for missing ones 15 % of `train` (at most 1,000 examples) as dev and 20 % (at
    /// most 2,000) as test, as [`Dataset::split_by_shares`] samples them. A single file in addition to `train` is test,
    /// whatever its name.
    ///
    /// # Errors
    /// When there are too few examples to hold some out.
    pub fn splits(self) -> Result<Splits> {
        let Self { train, dev, test } = self;
        let n = train.examples.len();
        let share = |(share, most): (f64, usize)| f64::min(share, most as f64 / n as f64);
        let held_out = |shares: &[f64]| {
            let rest = 1.0 - shares.iter().sum::<f64>();
            let shares: Vec<f64> = [rest].into_iter().chain(shares.iter().copied()).collect();
            let parts = train.split_by_shares(&shares, SEED)?;
            let parts = parts.iter().map(|part| train.part(part, &train.name));
            anyhow::Ok(parts.collect::<Vec<_>>().into_iter())
        };
        let expected = "as many parts as shares";
        Ok(match (dev, test) {
            (Some(dev), Some(test)) => Splits { train, dev, test },
            (Some(test), None) | (None, Some(test)) => {
                let mut parts = held_out(&[share(DEV)])?;
                let mut next = || parts.next().context(expected);
                Splits {
                    train: next()?,
                    dev: next()?,
                    test,
                }
            }
            (None, None) => {
                let mut parts = held_out(&[share(DEV), share(TEST)])?;
                let mut next = || parts.next().context(expected);
                Splits {
                    train: next()?,
                    dev: next()?,
                    test: next()?,
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::shares::tests::dataset;

    #[test]
    fn what_no_file_has_is_held_out_of_train() {
        let of = |n: usize| dataset(n, |_| None);
        for (n, dev, test, sizes) in [
            (2000, None, None, [1300, 300, 400]),
            (20_000, None, None, [17_000, 1000, 2000]),
            (2000, None, Some(300), [1700, 300, 300]),
            (2000, Some(200), None, [1700, 300, 200]),
            (500, Some(60), Some(70), [500, 60, 70]),
            (500, None, None, [325, 75, 100]),
        ] {
            let files = LabelledFiles {
                train: of(n),
                dev: dev.map(of),
                test: test.map(of),
            };
            let Splits { train, dev, test } = files.splits().expect("enough examples");
            let found = [train, dev, test].map(|part| part.examples.len());
            assert_eq!(found, sizes, "{n}");
        }
    }
}
