//! What is learned and scored: encoded examples with their targets, in named splits.

use anyhow::{Result, ensure};
use totune_data::{Encoded, Example, Target, Tokenizer};

/// The data of one run.
#[derive(Debug, Clone)]
pub struct TaskData {
    /// Labels in the dataset's order; scores and predictions refer to them by index.
    pub labels: Vec<String>,
    /// The label that precision, recall and F1 are about, if the task has one.
    pub positive: Option<usize>,
    /// What is learned from.
    pub train: Examples,
    /// What decisions during training may look at, if there is such a part.
    pub dev: Option<Examples>,
    /// What the result is measured on.
    pub test: Examples,
}

/// Encoded examples in order; the three lists have the same length.
#[derive(Debug, Clone, Default)]
pub struct Examples {
    /// Names, for predictions.
    pub ids: Vec<String>,
    /// Wordpieces.
    pub rows: Vec<Encoded>,
    /// What is expected.
    pub targets: Vec<Target>,
}

impl Examples {
    /// Encodes the examples at `indices`, on as many threads as given; their number does not influence the result.
    pub fn encode(
        tokenizer: &Tokenizer,
        examples: &[Example],
        indices: &[usize],
        max_length: usize,
        threads: usize,
    ) -> Result<Self> {
        let chosen: Vec<Example> = indices.iter().map(|&i| examples[i].clone()).collect();
        Ok(Self {
            rows: tokenizer.encode_all(&chosen, max_length, threads)?,
            ids: chosen.iter().map(|example| example.id.clone()).collect(),
            targets: chosen.into_iter().map(|example| example.target).collect(),
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Wordpieces per example.
    pub(crate) fn lengths(&self) -> Vec<usize> {
        self.rows.iter().map(|row| row.ids.len()).collect()
    }

    /// The expected label of each example.
    pub(crate) fn classes(&self) -> Vec<usize> {
        self.targets
            .iter()
            .map(|target| target.class().expect("`check` refuses other targets"))
            .collect()
    }
}

impl TaskData {
    /// The parts to score after each epoch, dev before test.
    pub(crate) fn scored(&self) -> impl Iterator<Item = (&'static str, &Examples)> {
        let dev = self.dev.iter().map(|examples| ("dev", examples));
        dev.chain([("test", &self.test)])
    }

    /// Refuses data that the loop could not make sense of.
    pub(crate) fn check(&self) -> Result<()> {
        let parts = [("train", &self.train)].into_iter().chain(self.scored());
        for (split, examples) in parts {
            ensure!(!examples.is_empty(), "the {split} split has no examples");
            ensure!(
                examples.ids.len() == examples.len() && examples.targets.len() == examples.len(),
                "the {split} split has {} examples, {} names and {} targets",
                examples.len(),
                examples.ids.len(),
                examples.targets.len()
            );
            let odd = examples
                .targets
                .iter()
                .position(|target| target.class().is_none());
            if let Some(at) = odd {
                anyhow::bail!(
                    "example `{}` of the {split} split has no class; expected one to train a classifier on",
                    examples.ids[at]
                );
            }
            let n_labels = self.labels.len();
            if let Some(class) = examples.classes().into_iter().find(|&c| c >= n_labels) {
                anyhow::bail!(
                    "the {split} split has a target {class}, expected less than {n_labels}, the number of labels"
                );
            }
        }
        Ok(())
    }
}
