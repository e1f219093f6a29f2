//! Errors of settings, in terms of the options that set them.

use anyhow::{Error, anyhow};

/// Keys of settings, and the options of `totune train` that set them.
pub(super) const OPTIONS: [(&str, &str); 7] = [
    ("adaptation.k", "--strategy"),
    ("adaptation.lr", "--lr"),
    ("adaptation.head-lr", "--head-lr"),
    ("batch-size", "--batch-size"),
    ("epochs", "--epochs"),
    ("gradient-checkpointing", "--gradient-checkpointing"),
    ("max-length", "--max-length"),
];

/// The error with the option in place of the key that it begins with; as it is if it begins with none of them.
pub(crate) fn as_options(error: Error, options: &[(&str, &str)]) -> Error {
    let text = format!("{error:#}");
    let named = options.iter().find_map(|(key, option)| {
        let rest = text.strip_prefix(key)?.strip_prefix(": ")?;
        Some(anyhow!("{option}: {rest}"))
    });
    named.unwrap_or(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_option_instead_of_the_key() {
        let said = |text: &'static str| as_options(anyhow!(text), &OPTIONS).to_string();
        assert_eq!(said("epochs: found 0"), "--epochs: found 0");
        assert_eq!(said("adaptation.k: found 9"), "--strategy: found 9");
        for other in [
            "epochs of the head: found 0",
            "cannot read",
            "seeds: found 0",
        ] {
            assert_eq!(said(other), other);
        }
    }
}
