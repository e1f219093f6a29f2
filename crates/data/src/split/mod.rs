//! Dividing a dataset into what a model learns from and what it is judged on.

mod holdout;
mod kfold;
mod numpy;

use crate::duplicates::first_occurrences;
use crate::{Dataset, Input};
use anyhow::{Result, anyhow, bail, ensure};
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use std::collections::HashSet;

/// How a dataset is divided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Split {
    /// One test set, drawn once.
    HoldOut(HoldOut),
    /// Every example is tested once.
    #[serde(rename = "k-fold")]
    KFold(KFold),
}

/// One test set drawn at random, with the same share of every class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HoldOut {
    /// Share of the examples that is held out, between 0 and 1.
    #[serde(deserialize_with = "share")]
    pub test: f64,
    /// The seed of the drawing; not the seed of a run, so that runs can share a split.
    pub seed: u64,
    /// Whether equal texts may be on both sides.
    #[serde(default)]
    pub duplicates: Duplicates,
}

/// Folds as scikit-learn makes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KFold {
    /// How many; at least 2.
    #[serde(deserialize_with = "at_least_two")]
    pub folds: usize,
    /// How examples come into them.
    pub by: FoldKind,
    /// The seed of the shuffling; only for `by = "shuffled"`, and at most 2^32 - 1 as in NumPy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Whether equal texts may be on both sides.
    #[serde(default)]
    pub duplicates: Duplicates,
}

/// How examples come into folds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FoldKind {
    /// In file order within each class: `StratifiedKFold`.
    File,
    /// Shuffled within each class: `StratifiedKFold(shuffle=True, random_state=seed)`.
    Shuffled,
    /// Groups stay whole: `StratifiedGroupKFold`. Examples without a group are one group.
    Group,
}

/// What happens to equal texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Duplicates {
    /// Nothing: they may be on both sides.
    #[default]
    Keep,
    /// They are always on the same side.
    Group,
}

/// Both sides of a division, as ascending indices into the examples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// To learn from.
    pub train: Vec<usize>,
    /// To be judged on.
    pub test: Vec<usize>,
    /// Test examples whose text is also in `train`.
    pub leaked: usize,
}

impl Split {
    /// How many divisions there are.
    pub fn n_folds(&self) -> usize {
        match self {
            Split::HoldOut(_) => 1,
            Split::KFold(k_fold) => k_fold.folds,
        }
    }

    /// Division number `fold`, counted from zero.
    pub fn divide(&self, dataset: &Dataset, fold: usize) -> Result<Parts> {
        self.check()?;
        ensure!(
            fold < self.n_folds(),
            "fold {fold}; expected one below {}",
            self.n_folds()
        );
        let classes = classes(dataset)?;
        let first = first_occurrences(&dataset.examples);
        let tested: Vec<bool> = match self {
            Split::HoldOut(hold_out) => hold_out.tested(&classes, &first)?,
            Split::KFold(k_fold) => {
                let folds = k_fold.assign(dataset, &classes, &first)?;
                folds.iter().map(|&of| of == fold).collect()
            }
        };
        let (test, train): (Vec<usize>, Vec<usize>) =
            (0..tested.len()).partition(|&index| tested[index]);
        ensure!(
            !test.is_empty() && !train.is_empty(),
            "fold {fold}: {} train and {} test examples; expected some of each",
            train.len(),
            test.len()
        );
        let known: HashSet<&Input> = train
            .iter()
            .map(|&index| &dataset.examples[index].input)
            .collect();
        let leaked = test
            .iter()
            .filter(|&&index| known.contains(&dataset.examples[index].input))
            .count();
        Ok(Parts {
            train,
            test,
            leaked,
        })
    }

    /// Whether the settings make sense together.
    pub fn check(&self) -> Result<()> {
        match self {
            Split::HoldOut(hold_out) => {
                check_share(hold_out.test).map_err(|problem| anyhow!("test: {problem}"))
            }
            Split::KFold(k_fold) => {
                check_folds(k_fold.folds).map_err(|problem| anyhow!("folds: {problem}"))?;
                match (k_fold.by, k_fold.seed) {
                    (FoldKind::Shuffled, None) => {
                        bail!("seed: missing; expected one with `by = \"shuffled\"`")
                    }
                    (FoldKind::Shuffled, Some(seed)) => {
                        ensure!(
                            seed <= u64::from(u32::MAX),
                            "seed: {seed}; expected at most 4294967295, as NumPy has it"
                        );
                    }
                    (_, Some(seed)) => {
                        bail!("seed: {seed}; expected none, as only `by = \"shuffled\"` draws")
                    }
                    (_, None) => {}
                }
                Ok(())
            }
        }
    }
}

fn classes(dataset: &Dataset) -> Result<Vec<usize>> {
    let class = |example: &crate::Example| {
        example.target.class().ok_or_else(|| {
            anyhow!(
                "example `{}` has no class; expected one to stratify by",
                example.id
            )
        })
    };
    dataset.examples.iter().map(class).collect()
}

fn check_share(test: f64) -> Result<(), String> {
    if test > 0.0 && test < 1.0 {
        Ok(())
    } else {
        Err(format!("{test}; expected a share between 0 and 1"))
    }
}

fn check_folds(folds: usize) -> Result<(), String> {
    if folds >= 2 {
        Ok(())
    } else {
        Err(format!("{folds}; expected at least 2"))
    }
}

fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let test = f64::deserialize(deserializer)?;
    check_share(test)
        .map(|()| test)
        .map_err(|problem| D::Error::custom(format!("test: {problem}")))
}

fn at_least_two<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let folds = usize::deserialize(deserializer)?;
    check_folds(folds)
        .map(|()| folds)
        .map_err(|problem| D::Error::custom(format!("folds: {problem}")))
}
