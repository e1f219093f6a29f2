//! What is predicted.

use serde::Deserialize;

/// What a model predicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// One label for a text or a pair of texts.
    Classification,
    /// A number for a text or a pair of texts.
    Regression,
    /// A tag for each word of a sentence.
    Tagging,
}
