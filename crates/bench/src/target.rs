//! Goals of a benchmark: what a case is to reach, and the table of them on its page.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use totune_model::fused::Calls;

use crate::comparison::Measure;
use crate::results::{Outcome, Results};

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
    /// `side` is to be `at_least` times faster than `than`.
    pub fn faster(side: &str, than: &str, at_least: f64) -> Self {
        Self::Faster {
            side: side.to_string(),
            than: than.to_string(),
            at_least,
        }
    }

    /// The matrix products of `side` are to have at least this share of the speed of the machine's plain product.
    pub fn product(side: &str, of_product: f64) -> Self {
        Self::Product {
            side: side.to_string(),
            of_product,
        }
    }

    /// `side` is to dispatch `at_most` times the operators of `of`.
    pub fn operators(side: &str, of: &str, at_most: f64) -> Self {
        Self::Operators {
            side: side.to_string(),
            of: of.to_string(),
            at_most,
        }
    }

    /// What was found in place of the goal; none where it was not measured.
    pub fn found(&self, outcome: &Outcome) -> Option<f64> {
        match self {
            Self::Faster { side, than, .. } => outcome.ratio(than, side),
            Self::Product { side, .. } => {
                let timing = outcome.side(side)?;
                Some(outcome.gflops(timing)? / timing.product?)
            }
            Self::Operators { side, of, .. } => {
                let calls = |name| {
                    let calls = Calls::total(&outcome.side(name)?.operators).all;
                    (calls > 0).then_some(calls as f64)
                };
                Some(calls(side)? / calls(of)?)
            }
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
    fn shown(&self) -> (String, f64) {
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

/// The table of all goals, empty where there are none.
pub fn table(results: &Results) -> String {
    let outcomes = results.outcomes.iter();
    let mut all = outcomes
        .flat_map(|outcome| outcome.targets.iter().map(move |target| (outcome, target)))
        .peekable();
    if all.peek().is_none() {
        return String::new();
    }
    let bound = match results.measure {
        Measure::Time => "at least",
        Measure::Operators => "at most",
    };
    let mut text = format!(
        "\n## Targets\n\n| case | threads | | {bound} | found | reached |\n|---|--:|---|--:|--:|---|\n"
    );
    for (outcome, target) in all {
        let (words, goal) = target.shown();
        let found = target.found(outcome);
        let reached = match found.map(|found| target.is_reached(found)) {
            Some(true) => "yes",
            Some(false) => "**no**",
            None => "",
        };
        let shown = |found| figure(found, goal, target.is_reached(found));
        let found = found.map_or("not measured".to_string(), shown);
        let _ = writeln!(
            text,
            "| {} | {} | {words} | {goal:.2} | {found} | {reached} |",
            outcome.case, outcome.threads
        );
    }
    text
}

/// A figure with two decimals, or with three where two would show a goal that is missed.
fn figure(found: f64, goal: f64, is_reached: bool) -> String {
    let two = format!("{found:.2}");
    if !is_reached && two == format!("{goal:.2}") {
        return format!("{found:.3}");
    }
    two
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Timing;

    /// A step of 1e9 multiplications and additions in 0.1 s where the plain product has 12.5 GFLOP/s.
    fn outcome() -> Outcome {
        let timing = |side: &str, seconds, product, all| Timing {
            side: side.to_string(),
            seconds: vec![seconds],
            product,
            operators: [(
                "aten::mm".to_string(),
                Calls {
                    all,
                    ..Calls::default()
                },
            )]
            .into(),
            ..Timing::default()
        };
        Outcome {
            flop: Some(1e9),
            sides: vec![
                timing("totune", 0.1, Some(12.5), 4),
                timing("pytorch", 0.11, None, 5),
            ],
            ..Outcome::default()
        }
    }

    #[test]
    fn goals_are_reached_or_not_or_were_not_measured() {
        for (target, found, reached) in [
            (Target::faster("totune", "pytorch", 1.05), Some(1.1), true),
            (Target::faster("totune", "pytorch", 1.15), Some(1.1), false),
            (Target::faster("totune", "burn", 1.0), None, false),
            (Target::product("totune", 0.75), Some(0.8), true),
            (Target::product("totune", 0.85), Some(0.8), false),
            (Target::product("pytorch", 0.85), None, false),
            (
                Target::operators("totune", "pytorch", 0.85),
                Some(0.8),
                true,
            ),
            (
                Target::operators("totune", "pytorch", 0.75),
                Some(0.8),
                false,
            ),
        ] {
            let is = target.found(&outcome());
            let near = |(a, b): (f64, f64)| (a - b).abs() < 1e-9;
            assert_eq!(is.is_some(), found.is_some(), "{target:?}");
            assert!(is.zip(found).is_none_or(near), "{target:?}: found {is:?}");
            let is = is.is_some_and(|found| target.is_reached(found));
            assert_eq!(is, reached, "{target:?}");
        }
    }

    #[test]
    fn a_figure_is_not_rounded_to_the_goal_that_it_misses() {
        for (found, is_reached, expected) in [
            (1.0984, false, "1.098"),
            (1.1004, true, "1.10"),
            (1.04, false, "1.04"),
        ] {
            assert_eq!(figure(found, 1.1, is_reached), expected);
        }
    }

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
