//! Output of a model for a batch.

use burn::tensor::Tensor;

use crate::Crf;

/// Output of a model for a batch.
// One is made per batch, and holds only handles of tensors.
#[expect(clippy::large_enum_variant)]
#[derive(Debug, Clone)]
pub enum Output {
    /// Scores of labels, or one number, for each example: `[batch, n_outputs]`.
    Labels(Tensor<2>),
    /// Scores of tags for each word.
    Tags(Tags),
}

/// Scores of tags.
#[derive(Debug, Clone)]
pub struct Tags {
    /// `[batch, words, tags]`.
    pub emissions: Tensor<3>,
    /// 1 for a word, 0 for padding, `[batch, words]`.
    pub mask: Tensor<2>,
    /// CRF over the tags of a sentence; none if each word is tagged independently.
    pub crf: Option<Crf>,
}

impl Output {
    /// The scores of each example.
    ///
    /// # Panics
    /// When they are those of words.
    pub fn labels(self) -> Tensor<2> {
        match self {
            Self::Labels(scores) => scores,
            Self::Tags(_) => panic!("a tagger scores words, not examples"),
        }
    }
}
