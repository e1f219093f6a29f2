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

/// One example as a model reads it. Of a sentence whose words are tagged and which is too long for one input, a part.
#[derive(Debug, Clone)]
pub struct Row {
    /// Name of the example, for predictions; the parts of a sentence share one.
    pub id: String,
    /// Its tokens.
    pub encoded: Encoded,
    /// What is expected.
    pub target: Target,
    /// Where the words lie that are tagged; none where an example has one label or score.
    pub words: Option<Places>,
}

/// Examples in order; the parts of a sentence follow each other.
#[derive(Debug, Clone, Default)]
pub struct Examples {
    /// The examples.
    pub rows: Vec<Row>,
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
        let encoded = tokenizer.encode_all(&chosen, max_length, threads)?;
        let row = |(example, encoded): (Example, Encoded)| Row {
            id: example.id,
            encoded,
            target: example.target,
            words: None,
        };
        Ok(Self {
            rows: chosen.into_iter().zip(encoded).map(row).collect(),
            kept: Vec::new(),
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
        let lengths = self.rows.iter().map(|row| row.encoded.ids.len());
        lengths.collect()
    }

    /// What is expected of those at `indices`, in that order.
    pub(crate) fn targets(&self, indices: &[usize]) -> Vec<&Target> {
        indices.iter().map(|&i| &self.rows[i].target).collect()
    }

    /// Those at `indices`, in that order.
    pub fn part(&self, indices: &[usize]) -> Self {
        fn chosen<T: Clone>(all: &[T], indices: &[usize]) -> Vec<T> {
            indices.iter().map(|&i| all[i].clone()).collect()
        }
        let kept = self.kept.iter().map(|kept| KeptExamples {
            activations: kept.activations.clone(),
            places: chosen(&kept.places, indices),
        });
        Self {
            rows: chosen(&self.rows, indices),
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
            self.question.check(split, examples)?;
        }
        Ok(())
    }
}
