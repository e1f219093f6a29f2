//! Labels of runs: what a reader must not take some runs for, wherever they show.

use serde::Deserialize;

use crate::plan::Where;

/// Words that every run which meets the conditions carries, into each table, figure and claim.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LabelPlan {
    /// Such as `format check, not a result`.
    pub(crate) text: String,
    #[serde(rename = "where")]
    pub(crate) conditions: Where,
}

/// A title with the labels of its runs: `ELMo, frozen (format check, not a result)`.
pub(crate) fn labelled<'a>(title: &str, labels: impl IntoIterator<Item = &'a String>) -> String {
    let labels: Vec<&str> = labels.into_iter().map(String::as_str).collect();
    if labels.is_empty() {
        title.to_owned()
    } else {
        format!("{title} ({})", labels.join("; "))
    }
}
