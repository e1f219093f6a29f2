//! Lists of names in messages.

/// Quotes at most twenty names.
pub(crate) fn quoted(names: &[String]) -> String {
    let shown = names.iter().take(20).map(|name| format!("`{name}`"));
    let shown: Vec<String> = shown.collect();
    match names.len().saturating_sub(20) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
