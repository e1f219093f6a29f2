//! How an encoder reads examples: what of them it sees, and how much.

use serde::Serialize;
use totune_data::{Dataset, Pairs, WordContext};

use crate::{ProbeWork, TuneWork};

/// How an encoder reads examples.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Reading {
    pub max_length: usize,
    pub pairs: Pairs,
    /// Of sentences whose words are tagged, what is read beside them.
    pub tagged: Option<WordContext>,
}

impl Reading {
    /// How a run's encoder reads `dataset`.
    pub fn of(work: &TuneWork, dataset: &Dataset) -> Self {
        let training = &work.training;
        Self {
            max_length: training.max_length,
            pairs: training.pairs,
            tagged: dataset.tagging.as_ref().map(|_| training.context),
        }
    }

    /// How an encoder reads texts whose vectors are taken.
    pub fn of_texts(max_length: usize, pairs: Pairs) -> Self {
        Self {
            max_length,
            pairs,
            tagged: None,
        }
    }

    /// How the encoder of a probe reads texts.
    pub fn probed(work: &ProbeWork) -> Self {
        Self::of_texts(work.max_length, work.pairs)
    }
}
