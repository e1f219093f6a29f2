//! Kinds of tasks.

use serde::Deserialize;

/// A kind of task: the type of target that a model predicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// One label for a text or a pair of texts.
    Classification,
    /// Any number of labels, or none, for a text or a pair of texts.
    MultiLabel,
    /// One of several labels in an order, such as stars, for a text or a pair of texts.
    Ordinal,
    /// A number for a text or a pair of texts.
    Regression,
    /// A tag for each word of a sentence.
    Tagging,
}

impl Task {
    /// Every kind of task.
    pub const ALL: [Task; 5] = [
        Task::Classification,
        Task::MultiLabel,
        Task::Ordinal,
        Task::Regression,
        Task::Tagging,
    ];

    /// The word that cards use.
    pub fn word(self) -> &'static str {
        match self {
            Task::Classification => "classification",
            Task::MultiLabel => "multi-label",
            Task::Ordinal => "ordinal",
            Task::Regression => "regression",
            Task::Tagging => "tagging",
        }
    }

    /// Returns whether each example has exactly one of the labels.
    pub fn has_one_label(self) -> bool {
        match self {
            Task::Classification | Task::Ordinal => true,
            Task::MultiLabel | Task::Regression | Task::Tagging => false,
        }
    }
}
