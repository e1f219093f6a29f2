//! The files a dataset comes in, with a part of `train` held out as dev.

use super::drawing::{DevDrawn, DevOf, limited};
use super::{check_dev, check_limits};
use crate::Dataset;
use anyhow::{Result, ensure};
use serde::{Deserialize, Deserializer, Serialize, de::Error};

/// `train`, a part of it held out as dev, and another file as test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Files {
    /// The split to evaluate on, such as `dev`.
    pub test: String,
    /// Share of `train` that is held out, from 0 (none) to less than 1; stratified for a classification.
    pub dev: f64,
    /// A split to validate on instead of a share of `train`, such as `dev` where `test` has published targets.
    #[serde(default)]
    pub dev_split: Option<String>,
    /// The seed of the sampling; not the seed of a run, so that runs can share a split.
    pub seed: u64,
    /// Splits without published targets for which the final model writes predictions, such as a `test` for a
    /// submission.
    #[serde(default)]
    pub predict: Vec<String>,
    /// The number of examples of `train` that are used, dev included unless it is sampled before; all if left out. The
    /// sample depends on the seed, is stratified, and a smaller one is part of a larger one.
    #[serde(default)]
    pub train_limit: Option<usize>,
    /// The order of sampling dev and applying `train-limit`: whether the limit counts dev.
    #[serde(default)]
    pub dev_drawn: DevDrawn,
    /// The number of examples of `dev-split` that are used, sampled in the same way; all if left out.
    #[serde(default)]
    pub dev_limit: Option<usize>,
    /// The number of examples of the test split that are used, sampled in the same way; all if left out.
    #[serde(default)]
    pub test_limit: Option<usize>,
}

impl Files {
    /// All of the split `test`, all of `train`, and all of the split `dev` where there is one.
    pub fn whole(test: &str, dev: Option<&str>) -> Self {
        Self {
            test: test.to_string(),
            dev: 0.0,
            dev_split: dev.map(String::from),
            seed: 0,
            predict: Vec::new(),
            train_limit: None,
            dev_drawn: DevDrawn::AfterLimit,
            dev_limit: None,
            test_limit: None,
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        check_dev(self.dev)?;
        ensure!(
            self.test != "train",
            "test: `train`; expected the name of another split"
        );
        ensure!(
            self.dev_split.is_none() || self.dev == 0.0,
            "dev: {}; expected 0 with `dev-split`, which is used for validation instead",
            self.dev
        );
        check_limits(&[
            ("train-limit", self.train_limit),
            ("dev-limit", self.dev_limit),
            ("test-limit", self.test_limit),
        ])
    }

    pub(super) fn checked<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let files = Self::deserialize(deserializer)?;
        files.check().map_err(D::Error::custom)?;
        Ok(files)
    }

    /// The examples of `train` to train on, and those held out, in ascending order.
    pub(super) fn parts(&self, train: &Dataset) -> (Vec<usize>, Vec<usize>) {
        let dev = DevOf {
            share: self.dev,
            drawn: self.dev_drawn,
            seed: self.seed,
        };
        dev.divide(train, all(train), self.train_limit)
    }

    /// The examples of the split to evaluate on, in ascending order.
    pub(super) fn tested(&self, test: &Dataset) -> Vec<usize> {
        limited(test, all(test), self.test_limit, self.seed)
    }

    /// The examples of `dev-split`, in ascending order.
    pub(super) fn decided(&self, dev: &Dataset) -> Vec<usize> {
        limited(dev, all(dev), self.dev_limit, self.seed)
    }
}

fn all(dataset: &Dataset) -> Vec<usize> {
    (0..dataset.examples.len()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Example, Input, Target};

    /// `n` examples, every fourth of class 1.
    fn dataset(n: usize) -> Dataset {
        let example = |index: usize| Example {
            id: index.to_string(),
            input: Input::Text(format!("text {index}")),
            target: Target::Class(usize::from(index.is_multiple_of(4))),
            group: None,
        };
        Dataset {
            name: "t".into(),
            loss: crate::ClassLoss::PLAIN,
            task: crate::Task::Classification,
            hash: String::new(),
            labels: vec!["a".into(), "b".into()],
            positive: None,
            examples: (0..n).map(example).collect(),
            metrics: Vec::new(),
            tagging: None,
        }
    }

    fn files(train_limit: Option<usize>, test_limit: Option<usize>) -> Files {
        Files {
            test: "dev".into(),
            dev: 0.1,
            dev_split: None,
            seed: 13,
            predict: Vec::new(),
            train_limit,
            dev_drawn: DevDrawn::AfterLimit,
            dev_limit: None,
            test_limit,
        }
    }

    #[test]
    fn a_limit_keeps_the_share_of_every_class_on_both_sides() {
        let dataset = dataset(400);
        let ones = |part: &[usize]| {
            part.iter()
                .filter(|&&index| index.is_multiple_of(4))
                .count()
        };
        let (learn, dev) = files(Some(200), None).parts(&dataset);
        assert_eq!((learn.len(), ones(&learn)), (180, 45));
        assert_eq!((dev.len(), ones(&dev)), (20, 5));
        assert!(learn.iter().all(|index| !dev.contains(index)));
        let tested = files(None, Some(40)).tested(&dataset);
        assert_eq!((tested.len(), ones(&tested)), (40, 10));
        assert!(tested.is_sorted() && learn.is_sorted() && dev.is_sorted());
    }

    #[test]
    fn a_limit_above_the_number_of_examples_changes_nothing() {
        let dataset = dataset(40);
        let without = files(None, None);
        let with = files(Some(40), Some(1000));
        assert_eq!(with.parts(&dataset), without.parts(&dataset));
        assert_eq!(with.tested(&dataset).len(), 40);
    }

    #[test]
    fn dev_drawn_before_the_limit_is_the_same_for_every_limit() {
        let dataset = dataset(400);
        let parts = |limit: usize| {
            let files = Files {
                dev_drawn: DevDrawn::BeforeLimit,
                ..files(Some(limit), None)
            };
            files.parts(&dataset)
        };
        let [(few, dev), (many, same), (all, _)] = [20, 100, 1000].map(parts);
        assert_eq!((few.len(), many.len(), all.len()), (20, 100, 360));
        assert_eq!((dev.len(), &dev), (40, &same));
        let inside = |few: &[usize], many: &[usize]| few.iter().all(|index| many.contains(index));
        assert!(inside(&few, &many) && inside(&many, &all));
        assert!(all.iter().all(|index| !dev.contains(index)));
    }

    #[test]
    fn a_limit_of_nothing_is_refused() {
        let error = files(Some(0), None).check().expect_err("refused");
        assert_eq!(error.to_string(), "train-limit: 0; expected at least 1");
    }
}
