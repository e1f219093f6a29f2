//! Encoded examples with their targets.

use totune_data::{Encoded, Target};

use crate::cache::{CachedActivations, EntryLayer};

/// Positions of the scored words of a row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Places {
    /// Positions of their first subwords.
    pub starts: Vec<u32>,
    /// Positions of their last subwords.
    pub ends: Vec<u32>,
}

/// One example as a model reads it, or a part of a sentence whose words are tagged and which is too long for one input.
#[derive(Debug, Clone)]
pub struct Row {
    /// Name of the example, for predictions; the parts of a sentence share one.
    pub id: String,
    /// Tokens of the example.
    pub encoded: Encoded,
    /// Gold target.
    pub target: Target,
    /// Positions of the words to be tagged; none if an example has one label or score.
    pub words: Option<Places>,
}

/// Examples in order; the parts of a sentence follow each other.
#[derive(Debug, Clone, Default)]
pub struct Examples {
    /// The examples.
    pub rows: Vec<Row>,
    /// Cached activations of the frozen layers for them, for one entry layer or for several.
    pub cached: Vec<CachedActivations>,
}

impl Examples {
    /// Number of rows that fill `most` tokens, after which they may have been cut. Sentences to tag are split instead, and
    /// texts apart have limits of their own.
    pub fn n_full(&self, most: usize) -> usize {
        let is_full =
            |row: &&Row| row.words.is_none() && !row.encoded.apart && row.encoded.ids.len() >= most;
        self.rows.iter().filter(is_full).count()
    }

    /// Number of examples.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns true if there are no examples.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Wordpieces per example.
    pub(crate) fn lengths(&self) -> Vec<usize> {
        let lengths = self.rows.iter().map(|row| row.encoded.ids.len());
        lengths.collect()
    }

    /// Targets of the examples at `indices`, in that order.
    pub(crate) fn targets(&self, indices: &[usize]) -> Vec<&Target> {
        indices.iter().map(|&i| &self.rows[i].target).collect()
    }

    /// Returns the examples at `indices`, in that order.
    pub fn part(&self, indices: &[usize]) -> Self {
        fn chosen<T: Clone>(all: &[T], indices: &[usize]) -> Vec<T> {
            indices.iter().map(|&i| all[i].clone()).collect()
        }
        let kept = self.cached.iter().map(|kept| CachedActivations {
            activations: kept.activations.clone(),
            places: chosen(&kept.places, indices),
        });
        Self {
            rows: chosen(&self.rows, indices),
            cached: kept.collect(),
        }
    }

    /// The cached activations of the examples for a run that enters at `start`.
    pub(crate) fn cached(&self, start: Option<EntryLayer>) -> Option<&CachedActivations> {
        let start = start?;
        self.cached
            .iter()
            .find(|kept| kept.activations.start() == start)
    }
}
