//! Values from a file as messages quote them.

/// The most letters of a value that a message quotes.
const LETTERS: usize = 60;

/// The most values that a message lists.
const VALUES: usize = 30;

/// A value as a message quotes it: its beginning, and control characters as escapes, since a terminal may act on them.
pub(super) fn shown(value: &str) -> String {
    let mut shown = String::new();
    for letter in value.chars().take(LETTERS) {
        if letter.is_control() || letter == '\u{fffd}' {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
    if value.chars().nth(LETTERS).is_some() {
        shown.push('…');
    }
    shown
}

/// `a`, `b` and so on, for an error that lists columns or labels.
pub(super) fn listed(names: &[String]) -> String {
    let first = names.iter().take(VALUES);
    let mut parts: Vec<String> = first.map(|name| format!("`{}`", shown(name))).collect();
    if names.len() > VALUES {
        parts.push(format!("and {} more", names.len() - VALUES));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_short_and_have_no_control_characters() {
        assert_eq!(shown("a \u{1b}[31m\tb\n"), "a \\u{1b}[31m\\tb\\n");
        assert_eq!(shown(&"é".repeat(61)), "é".repeat(60) + "…");
        assert_eq!(shown(&"é".repeat(60)), "é".repeat(60));
        let names: Vec<String> = (0..40).map(|at| format!("c{at}")).collect();
        assert_eq!(listed(&names[..2]), "`c0`, `c1`");
        assert!(
            listed(&names).ends_with("`c29`, and 10 more"),
            "{}",
            listed(&names)
        );
    }
}
