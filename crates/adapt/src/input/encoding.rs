//! Form in which an encoder reads examples, and their maximum length.

use serde::Serialize;
use totune_data::{Dataset, Pairs, WordContext};

use crate::Training;

/// The form in which an encoder reads examples.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct InputEncoding {
    /// Maximum length of an input in tokens, special ones included.
    pub max_length: usize,
    /// Joint or separate encoding of the two texts of a pair.
    pub pairs: Pairs,
    /// Context that is read with sentences whose words are tagged; none in other tasks.
    pub tagged: Option<WordContext>,
}

impl InputEncoding {
    /// Input encoding of a training on `dataset`.
    pub fn of(training: &Training, dataset: &Dataset) -> Self {
        Self {
            max_length: training.max_length,
            pairs: training.pairs,
            tagged: dataset.tagging.as_ref().map(|_| training.context),
        }
    }

    /// Input encoding of whole texts or pairs of texts.
    pub fn of_texts(max_length: usize, pairs: Pairs) -> Self {
        Self {
            max_length,
            pairs,
            tagged: None,
        }
    }
}
