//! The files a dataset comes in, with a part of `train` held out to decide by.

use super::quotas;
use crate::Dataset;
use crate::random::{shuffle, stream};
use anyhow::{Result, ensure};
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use std::collections::BTreeMap;

/// `train` to learn from, a part of it held out to decide by, another file to be judged on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// The split to be judged on, such as `dev`.
    pub test: String,
    /// Share of `train` that is held out, from 0 (none) to less than 1; of a classification, of every class.
    pub dev: f64,
    /// The seed of the drawing; not the seed of a run, so that runs can share a split.
    pub seed: u64,
    /// Splits without published answers that the final model answers, such as a `test` for a submission.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub predict: Vec<String>,
}

impl Files {
    pub(super) fn check(&self) -> Result<()> {
        ensure!(
            (0.0..1.0).contains(&self.dev),
            "dev: {}; expected a share from 0 to less than 1",
            self.dev
        );
        ensure!(
            self.test != "train",
            "test: `train`; expected the name of another split"
        );
        Ok(())
    }

    pub(super) fn checked<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let files = Self::deserialize(deserializer)?;
        files.check().map_err(D::Error::custom)?;
        Ok(files)
    }

    /// Which examples of `train` are held out. Those without a class are drawn as if they had the same.
    pub(super) fn held_out(&self, train: &Dataset) -> Vec<bool> {
        let mut strata: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
        for (index, example) in train.examples.iter().enumerate() {
            strata
                .entry(example.target.class())
                .or_default()
                .push(index);
        }
        let sizes: Vec<usize> = strata.values().map(Vec::len).collect();
        let mut held_out = vec![false; train.examples.len()];
        let quotas = quotas(&sizes, self.dev);
        for ((stratum, (_, mut members)), quota) in (0..).zip(strata).zip(quotas) {
            shuffle(&mut members, &mut stream(self.seed, "dev", stratum));
            members[..quota]
                .iter()
                .for_each(|&index| held_out[index] = true);
        }
        held_out
    }
}
