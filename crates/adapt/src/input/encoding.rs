//! How much of an example an encoder reads, and in which form.

use serde::Serialize;
use totune_data::{Dataset, Pairs, WordContext};

use crate::Training;

/// The form in which an encoder reads examples.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct InputEncoding {
    /// Most tokens of an input, special ones included.
    pub max_length: usize,
    /// Whether the two texts of a pair are encoded jointly or separately.
    pub pairs: Pairs,
    /// Of sentences whose words are tagged, the context that is read with them; none of other tasks.
    pub tagged: Option<WordContext>,
}

impl InputEncoding {
    /// That of a training on `dataset`.
    pub fn of(training: &Training, dataset: &Dataset) -> Self {
        Self {
            max_length: training.max_length,
            pairs: training.pairs,
            tagged: dataset.tagging.as_ref().map(|_| training.context),
        }
    }

    /// That of whole texts or pairs of texts.
    pub fn of_texts(max_length: usize, pairs: Pairs) -> Self {
        Self {
            max_length,
            pairs,
            tagged: None,
        }
    }
}
