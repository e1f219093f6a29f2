//! What is learned and scored: encoded examples with their targets, in named splits.

use anyhow::{Result, ensure};
use totune_data::{Encoded, Example, Target, Tokenizer};

use crate::cache::{KeptExamples, Start};
use crate::question::Question;

/// The data of one run.
#[derive(Debug, Clone)]
pub struct TaskData {
    /// What is asked about each example.
    pub question: Question,
    /// Metrics to report, the main one first: it decides where training may end sooner.
    pub metrics: Vec<String>,
    /// What is learned from.
    pub train: Examples,
    /// What decisions during training may look at, if there is such a part.
    pub dev: Option<Examples>,
    /// What the result is measured on.
    pub test: Examples,
    /// What the final model answers without being judged on it, by the names of the splits.
    pub predict: Vec<(String, Examples)>,
}

/// Where the scored words of a row lie.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Places {
    /// Of their first pieces.
    pub starts: Vec<u32>,
    /// Of their last pieces.
    pub ends: Vec<u32>,
}

/// Encoded examples in order; the first three lists have the same length. Of sentences whose words are tagged, a long one
/// is several rows that follow each other under one name.
#[derive(Debug, Clone, Default)]
pub struct Examples {
    /// Names, for predictions.
    pub ids: Vec<String>,
    /// Wordpieces.
    pub rows: Vec<Encoded>,
    /// What is expected.
    pub targets: Vec<Target>,
    /// Where the words lie that are tagged; none where examples have one answer each.
    pub places: Vec<Places>,
    /// What was kept of the frozen part of the model for them, from one start or from several.
    pub kept: Vec<KeptExamples>,
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
            ..Self::default()
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

    /// Those at `indices`, in that order.
    pub(crate) fn part(&self, indices: &[usize]) -> Self {
        fn chosen<T: Clone>(all: &[T], indices: &[usize]) -> Vec<T> {
            indices.iter().map(|&i| all[i].clone()).collect()
        }
        let kept = self.kept.iter().map(|kept| KeptExamples {
            activations: kept.activations.clone(),
            places: chosen(&kept.places, indices),
        });
        Self {
            ids: chosen(&self.ids, indices),
            rows: chosen(&self.rows, indices),
            targets: chosen(&self.targets, indices),
            places: match self.places.is_empty() {
                true => Vec::new(),
                false => chosen(&self.places, indices),
            },
            kept: kept.collect(),
        }
    }

    /// What was kept of the examples for a run that begins at `start`.
    pub(crate) fn kept(&self, start: Option<Start>) -> Option<&KeptExamples> {
        let start = start?;
        self.kept
            .iter()
            .find(|kept| kept.activations.start() == start)
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
            self.question.check(split, examples)?;
        }
        Ok(())
    }
}
