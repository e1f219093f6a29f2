//! Lists of names in messages.

use totune_toml::near;

/// Text between an unknown name and the list of known ones.
pub(crate) fn hint(name: &str, known: &[String]) -> String {
    match near(name, known.iter().map(String::as_str)) {
        Some(near) => format!("; did you mean `{near}`? "),
        None => "; ".to_string(),
    }
}

/// Quotes at most twenty names.
pub(crate) fn quoted(names: &[String]) -> String {
    let shown = names.iter().take(20).map(|name| format!("`{name}`"));
    let shown: Vec<String> = shown.collect();
    match names.len().saturating_sub(20) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
