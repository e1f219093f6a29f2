//! Kinds of tasks.

use serde::Deserialize;

/// A kind of task: the type of target that a model predicts.
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
