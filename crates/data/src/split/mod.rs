//! Splits of a dataset into train, dev and test.

mod drawing;
mod files;
mod holdout;
mod kfold;
mod label_sets;
mod numpy;
mod shares;
mod usual;

pub use drawing::DevDrawn;
pub use files::Files;
pub use usual::{LabelledFiles, Splits, left_out};

use crate::duplicates::{first_occurrences, n_known};
use crate::{Dataset, Task};
use anyhow::{Result, anyhow, bail, ensure};
use serde::{Deserialize, Deserializer, Serialize, de::Error};

/// A way to split a dataset into train, dev and test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Split {
    /// One random test set.
    #[serde(deserialize_with = "HoldOut::checked")]
    HoldOut(HoldOut),
    /// Every example is tested once.
    #[serde(rename = "k-fold", deserialize_with = "KFold::checked")]
    KFold(KFold),
    /// The files the dataset comes in.
    #[serde(deserialize_with = "Files::checked")]
    Files(Files),
}

/// One random test set, stratified where there are classes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HoldOut {
    /// Share of the examples that is held out, between 0 and 1.
    pub test: f64,
    /// Share of the others that is dev, from 0 (none) to less than 1; stratified.
    #[serde(default)]
    pub dev: f64,
    /// The seed of the sampling; not the seed of a run, so that runs can share a split.
    pub seed: u64,
    /// Handling of duplicates between test and the rest; between train and dev they are always allowed.
    #[serde(default)]
    pub duplicates: Duplicates,
    /// The number of examples not held out that are used, dev included unless it is sampled before; all if left out.
    /// The sample depends on the seed, is stratified, and a smaller one is part of a larger one.
    #[serde(default)]
    pub train_limit: Option<usize>,
    /// The order of sampling dev and applying `train-limit`: whether the limit counts dev.
    #[serde(default)]
    pub dev_drawn: DevDrawn,
    /// The number of held-out examples that are test, sampled in the same way; all if left out.
    #[serde(default)]
    pub test_limit: Option<usize>,
}

/// Folds as scikit-learn makes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KFold {
    /// The number of folds; at least 2.
    pub folds: usize,
    /// The assignment of examples to folds.
    pub by: FoldKind,
    /// The seed of the shuffling; only for `by = "shuffled"`, and at most 2^32 - 1 as in NumPy.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Handling of duplicates between test and train.
    #[serde(default)]
    pub duplicates: Duplicates,
}

/// The assignment of examples to folds.
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

/// Handling of duplicates: examples with equal texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Duplicates {
    /// Nothing: they may be on both sides.
    #[default]
    Keep,
    /// They are always on the same side.
    Group,
}

/// The parts of one split, as ascending indices into the examples of `train`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitIndices {
    /// Training examples.
    pub train: Vec<usize>,
    /// For validation during training; often none.
    pub dev: Vec<usize>,
    /// For evaluation; none where [`Split::test_split`] names another split, which [`Split::tested`] is for.
    pub test: Vec<usize>,
    /// Test examples whose text is also in `train`.
    pub leaked: usize,
}

impl Split {
    /// The number of folds; 1 unless it is a k-fold split.
    pub fn n_folds(&self) -> usize {
        match self {
            Split::HoldOut(_) | Split::Files(_) => 1,
            Split::KFold(k_fold) => k_fold.folds,
        }
    }

    /// The split of the dataset that is evaluated on; `train` if test is a part of it.
    pub fn test_split(&self) -> &str {
        match self {
            Split::HoldOut(_) | Split::KFold(_) => "train",
            Split::Files(files) => &files.test,
        }
    }

    /// The splits of the dataset that are read.
    pub fn splits(&self) -> Vec<&str> {
        match self {
            Split::HoldOut(_) | Split::KFold(_) => vec!["train"],
            Split::Files(files) => {
                let others = files.dev_split.iter().chain(&files.predict);
                let others = others.map(String::as_str);
                ["train", &files.test].into_iter().chain(others).collect()
            }
        }
    }

    /// Returns whether there is a dev part.
    pub fn has_dev(&self) -> bool {
        match self {
            Split::HoldOut(hold_out) => hold_out.dev > 0.0,
            Split::KFold(_) => false,
            Split::Files(files) => files.dev > 0.0 || files.dev_split.is_some(),
        }
    }

    /// The indices of `test`, the split that [`Split::test_split`] names, that are evaluated on: all of them unless a
    /// limit is set.
    pub fn tested(&self, test: &Dataset) -> Vec<usize> {
        match self {
            Split::HoldOut(_) | Split::KFold(_) => (0..test.examples.len()).collect(),
            Split::Files(files) => files.tested(test),
        }
    }

    /// The split of the dataset that is dev, if that is a file of its own.
    pub fn dev_split(&self) -> Option<&str> {
        match self {
            Split::HoldOut(_) | Split::KFold(_) => None,
            Split::Files(files) => files.dev_split.as_deref(),
        }
    }

    /// The indices of `dev`, the split that [`Split::dev_split`] names, that are used.
    pub fn decided(&self, dev: &Dataset) -> Vec<usize> {
        match self {
            Split::HoldOut(_) | Split::KFold(_) => Vec::new(),
            Split::Files(files) => files.decided(dev),
        }
    }

    /// The splits for which the final model writes predictions without being evaluated on them.
    pub fn predicted(&self) -> &[String] {
        match self {
            Split::HoldOut(_) | Split::KFold(_) => &[],
            Split::Files(files) => &files.predict,
        }
    }

    /// Fold number `fold`, counted from zero, of `dataset`, the `train` split.
    pub fn divide(&self, dataset: &Dataset, fold: usize) -> Result<SplitIndices> {
        self.check()?;
        ensure!(
            fold < self.n_folds(),
            "fold {fold}; expected one below {}",
            self.n_folds()
        );
        if let Split::Files(files) = self {
            let (train, dev) = files.parts(dataset);
            return Ok(SplitIndices {
                train,
                dev,
                test: Vec::new(),
                leaked: 0,
            });
        }
        let classes = match self {
            // Examples with scores or tags are sampled as one class.
            Split::HoldOut(_) if matches!(dataset.task, Task::Regression | Task::Tagging) => {
                vec![0; dataset.examples.len()]
            }
            _ => classes(dataset)?,
        };
        let first = first_occurrences(&dataset.examples);
        let tested: Vec<bool> = match self {
            Split::HoldOut(hold_out) => hold_out.tested(dataset, &classes, &first)?,
            Split::KFold(k_fold) => {
                let folds = k_fold.assign(dataset, &classes, &first)?;
                folds.iter().map(|&of| of == fold).collect()
            }
            Split::Files(_) => unreachable!("divided above"),
        };
        let (mut test, mut train): (Vec<usize>, Vec<usize>) =
            (0..tested.len()).partition(|&index| tested[index]);
        let mut dev = Vec::new();
        if let Split::HoldOut(hold_out) = self {
            (test, train, dev) = hold_out.limited(dataset, test, train);
        }
        ensure!(
            !test.is_empty() && !train.is_empty(),
            "fold {fold}: {} train and {} test examples; expected some of each",
            train.len(),
            test.len()
        );
        let input = |&index: &usize| &dataset.examples[index].input;
        let leaked = n_known(test.iter().map(input), train.iter().map(input));
        Ok(SplitIndices {
            train,
            dev,
            test,
            leaked,
        })
    }

    /// Checks that every setting is in its range; reading a split checks it too.
    pub fn check(&self) -> Result<()> {
        match self {
            Split::HoldOut(hold_out) => hold_out.check(),
            Split::KFold(k_fold) => k_fold.check(),
            Split::Files(files) => files.check(),
        }
    }
}

impl HoldOut {
    fn check(&self) -> Result<()> {
        let test = self.test;
        ensure!(
            test > 0.0 && test < 1.0,
            "test: {test}; expected a share between 0 and 1"
        );
        check_dev(self.dev)?;
        check_limits(&[
            ("train-limit", self.train_limit),
            ("test-limit", self.test_limit),
        ])
    }

    fn checked<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let hold_out = Self::deserialize(deserializer)?;
        hold_out.check().map_err(D::Error::custom)?;
        Ok(hold_out)
    }
}

impl KFold {
    fn check(&self) -> Result<()> {
        ensure!(
            self.folds >= 2,
            "folds: {}; expected at least 2",
            self.folds
        );
        match (self.by, self.seed) {
            (FoldKind::Shuffled, None) => {
                bail!("seed: missing; expected one with `by = \"shuffled\"`")
            }
            (FoldKind::Shuffled, Some(seed)) if seed > u64::from(u32::MAX) => {
                bail!("seed: {seed}; expected at most 4294967295, as NumPy has it")
            }
            (FoldKind::File | FoldKind::Group, Some(seed)) => {
                bail!("seed: {seed}; expected none, as only `by = \"shuffled\"` draws")
            }
            _ => Ok(()),
        }
    }

    fn checked<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let k_fold = Self::deserialize(deserializer)?;
        k_fold.check().map_err(D::Error::custom)?;
        Ok(k_fold)
    }
}

fn check_dev(share: f64) -> Result<()> {
    ensure!(
        (0.0..1.0).contains(&share),
        "dev: {share}; expected a share from 0 to less than 1"
    );
    Ok(())
}

fn check_limits(limits: &[(&str, Option<usize>)]) -> Result<()> {
    for (key, limit) in limits {
        ensure!(*limit != Some(0), "{key}: 0; expected at least 1");
    }
    Ok(())
}

/// The class of each example to stratify by; of a multi-label dataset its rarest label, and one more for no label.
fn classes(dataset: &Dataset) -> Result<Vec<usize>> {
    if dataset.task == Task::MultiLabel {
        let strata = label_sets::strata(dataset).into_iter();
        let none = dataset.labels.len();
        return Ok(strata.map(|stratum| stratum.unwrap_or(none)).collect());
    }
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

/// A dataset of these examples with the labels `a` and `b`, for tests of each kind of split.
#[cfg(test)]
fn two_classes(examples: Vec<crate::Example>) -> Dataset {
    Dataset {
        name: "t".into(),
        loss: crate::ClassLoss::PLAIN,
        task: Task::Classification,
        hash: String::new(),
        labels: vec!["a".into(), "b".into()],
        positive: None,
        examples,
        metrics: Vec::new(),
        tagging: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_reads_back_from_the_json_it_is_stored_as() {
        // With every setting, and without those that may be left out.
        for (full, short) in [
            (
                r#"{"kind":"hold-out","test":0.2,"dev":0.0,"seed":7,"duplicates":"keep","train-limit":null,"dev-drawn":"after-limit","test-limit":null}"#,
                r#"{"kind":"hold-out","test":0.2,"seed":7}"#,
            ),
            (
                r#"{"kind":"hold-out","test":0.2,"dev":0.1,"seed":7,"duplicates":"group","train-limit":90,"dev-drawn":"before-limit","test-limit":9}"#,
                r#"{"kind":"hold-out","test":0.2,"dev":0.1,"seed":7,"duplicates":"group","train-limit":90,"dev-drawn":"before-limit","test-limit":9}"#,
            ),
            (
                r#"{"kind":"k-fold","folds":10,"by":"file","seed":null,"duplicates":"group"}"#,
                r#"{"kind":"k-fold","folds":10,"by":"file","duplicates":"group"}"#,
            ),
            (
                r#"{"kind":"files","test":"dev","dev":0.1,"dev-split":null,"seed":3,"predict":[],"train-limit":null,"dev-drawn":"after-limit","dev-limit":null,"test-limit":null}"#,
                r#"{"kind":"files","test":"dev","dev":0.1,"seed":3}"#,
            ),
        ] {
            let split: Split = serde_json::from_str(full).expect(full);
            assert_eq!(serde_json::to_string(&split).expect("JSON"), full);
            assert_eq!(serde_json::from_str::<Split>(short).expect(short), split);
        }
    }

    #[test]
    fn a_fold_beyond_the_last_is_an_error() {
        let split = Split::KFold(KFold {
            folds: 2,
            by: FoldKind::File,
            seed: None,
            duplicates: Duplicates::Keep,
        });
        let dataset = Dataset {
            name: "t".into(),
            loss: crate::ClassLoss::PLAIN,
            task: Task::Classification,
            hash: String::new(),
            labels: vec![],
            positive: None,
            examples: vec![],
            metrics: Vec::new(),
            tagging: None,
        };
        assert_eq!(
            split
                .divide(&dataset, 2)
                .expect_err("two folds")
                .to_string(),
            "fold 2; expected one below 2"
        );
    }
}
