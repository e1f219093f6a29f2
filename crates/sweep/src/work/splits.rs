//! The examples that a run is trained on, selects checkpoints by, is evaluated on, and only predicts.

use std::collections::HashSet;

use anyhow::{Result, ensure};
use totune_data::{Dataset, Input, Split};

use crate::{Inputs, RunSpec};

/// Some examples of one split of a dataset.
#[derive(Debug, Clone)]
pub(crate) struct Subset<'a> {
    /// Name of the split, such as `train`.
    pub split: &'a str,
    /// The split.
    pub dataset: &'a Dataset,
    /// Indices into its examples.
    pub indices: Vec<usize>,
}

/// The examples of a run, for every kind of work and every kind of split.
#[derive(Debug)]
pub(crate) struct Splits<'a> {
    pub train: Subset<'a>,
    pub dev: Option<Subset<'a>>,
    pub test: Subset<'a>,
    /// Parts that are predicted without being evaluated.
    pub predict: Vec<Subset<'a>>,
}

impl<'a> Splits<'a> {
    /// The examples of a run.
    ///
    /// # Errors
    /// When a split was not loaded, or there is nothing to train or to evaluate on.
    pub fn of(spec: &'a RunSpec, inputs: &'a Inputs) -> Result<Self> {
        let load = |split: &str| inputs.dataset(&spec.dataset, split);
        Self::new(&spec.split, spec.fold, &load)
    }

    fn new(
        split: &'a Split,
        fold: usize,
        load: &dyn Fn(&str) -> Result<&'a Dataset>,
    ) -> Result<Self> {
        let train = load("train")?;
        let divided = split.divide(train, fold)?;
        let of_train = |indices: Vec<usize>| Subset {
            split: "train",
            dataset: train,
            indices,
        };
        let of_file = |name: &'a str, chosen: &dyn Fn(&Dataset) -> Vec<usize>| {
            let dataset = load(name)?;
            let indices = chosen(dataset);
            let split = name;
            anyhow::Ok(Subset {
                split,
                dataset,
                indices,
            })
        };
        let whole = |dataset: &Dataset| (0..dataset.examples.len()).collect();
        let predict = split.predicted().iter();
        let splits = Self {
            dev: match split.dev_split() {
                Some(name) => Some(of_file(name, &|dataset| split.decided(dataset))?),
                None if divided.dev.is_empty() => None,
                None => Some(of_train(divided.dev)),
            },
            test: match split.test_split() {
                "train" => of_train(divided.test),
                name => of_file(name, &|dataset| split.tested(dataset))?,
            },
            train: of_train(divided.train),
            predict: predict
                .map(|name| of_file(name, &whole))
                .collect::<Result<_>>()?,
        };
        for (what, part) in [("train", &splits.train), ("test", &splits.test)] {
            ensure!(
                !part.indices.is_empty(),
                "split: found no {what} examples in `{}` of `{}`, expected at least 1",
                part.split,
                part.dataset.name
            );
        }
        Ok(splits)
    }

    /// All examples of the split `train`, including those held out from it, in ascending order.
    pub fn of_train(&self) -> Vec<usize> {
        let parts = [Some(&self.train), self.dev.as_ref(), Some(&self.test)];
        let parts = parts.into_iter().flatten();
        let of_train = parts.filter(|part| part.split == "train");
        let mut indices: Vec<usize> = of_train.flat_map(|part| part.indices.clone()).collect();
        indices.sort_unstable();
        indices
    }

    /// Test examples whose text is also in train.
    pub fn leaked(&self) -> usize {
        let known: HashSet<&Input> = self.train.inputs().collect();
        self.test
            .inputs()
            .filter(|input| known.contains(input))
            .count()
    }
}

impl<'a> Subset<'a> {
    /// Model inputs of its examples.
    pub fn inputs(&self) -> impl Iterator<Item = &'a Input> {
        let dataset = self.dataset;
        let indices = self.indices.iter();
        indices.map(move |&index| &dataset.examples[index].input)
    }
}
