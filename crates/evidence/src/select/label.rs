//! Labels of runs: caveats that appear wherever the runs do; see [`crate::plan::LabelPlan`].

/// A title with the labels of its runs: `ELMo, frozen (format check, not a result)`.
pub fn labelled<'a>(title: &str, labels: impl IntoIterator<Item = &'a String>) -> String {
    let labels: Vec<&str> = labels.into_iter().map(String::as_str).collect();
    if labels.is_empty() {
        title.to_owned()
    } else {
        format!("{title} ({})", labels.join("; "))
    }
}
