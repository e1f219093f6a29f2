//! Counts that any dataset has, in the terms of a card.

use super::terminal::thousands;
use crate::{Dataset, Input};
use serde::Serialize;

/// The facts a card may state about a split.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Measured {
    /// Examples.
    pub rows: usize,
    /// Examples of each label; of a tagging dataset, spans of each type.
    pub counts: Vec<(String, usize)>,
    /// Examples whose text an earlier one already has.
    pub repeats: usize,
    /// Words of a tagging dataset.
    pub words: Option<usize>,
    /// Examples without a target.
    pub unlabelled: usize,
    /// [`Dataset::hash`].
    pub hash: String,
}

impl Measured {
    /// Counts `dataset`.
    pub fn of(dataset: &Dataset) -> Self {
        let words = dataset.examples.iter().map(|example| match &example.input {
            Input::Words(words) => Some(words.len()),
            Input::Text(_) | Input::Pair(..) => None,
        });
        let words: Vec<usize> = words.flatten().collect();
        let unknown = |target: &crate::Target| *target == crate::Target::Unknown;
        Self {
            rows: dataset.examples.len(),
            counts: dataset.named_counts(),
            repeats: dataset.repeats().rows,
            words: (!words.is_empty()).then(|| words.iter().sum()),
            unlabelled: dataset
                .examples
                .iter()
                .filter(|example| unknown(&example.target))
                .count(),
            hash: dataset.hash.clone(),
        }
    }
}

/// The facts on one line.
pub(super) fn shown(measured: &Measured) -> String {
    let mut parts = vec![format!("{} rows", thousands(measured.rows))];
    let labelled = measured.unlabelled < measured.rows;
    if labelled && measured.counts.len() <= 4 {
        let counts = measured.counts.iter();
        parts.extend(counts.map(|(label, n)| format!("{} {label}", thousands(*n))));
    } else if labelled {
        parts.push(format!("{} labels", measured.counts.len()));
    }
    if measured.unlabelled > 0 {
        parts.push(format!(
            "{} without an answer",
            thousands(measured.unlabelled)
        ));
    }
    parts.extend(
        measured
            .words
            .map(|words| format!("{} words", thousands(words))),
    );
    parts.push(format!("{} repeats", thousands(measured.repeats)));
    parts.join(", ")
}
