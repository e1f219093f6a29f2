//! Goals of the cases of a benchmark.

use serde::{Deserialize, Serialize};

/// A goal of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Target {
    /// A speed-up.
    Faster {
        /// The faster side.
        side: String,
        /// The slower side.
        than: String,
        /// Smallest accepted speed-up factor.
        at_least: f64,
    },
    /// A share of the speed of the machine's plain product.
    Product {
        /// The side.
        side: String,
        /// Smallest accepted share.
        of_product: f64,
    },
    /// Operators of a step.
    Operators {
        /// The side with fewer.
        side: String,
        /// The side with more.
        of: String,
        /// Largest accepted share of the other side's.
        at_most: f64,
    },
}

impl Target {
    /// A goal of `at_least` times the speed of `than`.
    pub fn faster(side: &str, than: &str, at_least: f64) -> Self {
        Self::Faster {
            side: side.to_string(),
            than: than.to_string(),
            at_least,
        }
    }

    /// A goal of at least this share of the speed of the machine's plain product.
    pub fn product(side: &str, of_product: f64) -> Self {
        Self::Product {
            side: side.to_string(),
            of_product,
        }
    }

    /// A goal of at most so many operators for each of `of`'s.
    pub fn operators(side: &str, of: &str, at_most: f64) -> Self {
        Self::Operators {
            side: side.to_string(),
            of: of.to_string(),
            at_most,
        }
    }

    /// Returns true if `found` reaches the goal.
    pub fn is_reached(&self, found: f64) -> bool {
        match self {
            Self::Faster { at_least, .. } => found >= *at_least,
            Self::Product { of_product, .. } => found >= *of_product,
            Self::Operators { at_most, .. } => found <= *at_most,
        }
    }

    /// The goal in words, and its figure.
    pub(crate) fn shown(&self) -> (String, f64) {
        match self {
            Self::Faster {
                side,
                than,
                at_least,
            } => (format!("{side} faster than {than}"), *at_least),
            Self::Product { side, of_product } => {
                (format!("{side}, share of the product"), *of_product)
            }
            Self::Operators { side, of, at_most } => {
                (format!("operators of {side} / {of}'s"), *at_most)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_goal_is_read_as_what_was_written() {
        let before = r#"{"side":"totune","than":"pytorch","at_least":1.25}"#;
        let before: Target = serde_json::from_str(before).expect("a target of before");
        for target in [
            before,
            Target::product("totune", 0.8),
            Target::operators("totune", "pytorch", 0.8),
        ] {
            let json = serde_json::to_string(&target).expect("plain data");
            let read: Target = serde_json::from_str(&json).expect("a target");
            assert_eq!(read, target, "{json}");
        }
    }
}
