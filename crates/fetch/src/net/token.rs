//! Secrets that are sent and never shown.

use std::fmt;

/// A secret; it cannot be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A token, without the spaces and line ends around it; none if it is empty.
    pub fn new(text: &str) -> Option<Self> {
        let text: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_string()))
    }

    pub(crate) fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(hidden)")
    }
}
