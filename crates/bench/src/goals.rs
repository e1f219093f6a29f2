//! The table of goals on a page.

use std::fmt::Write as _;

use crate::comparison::Measure;
use crate::results::{Outcome, Results};

/// The fewest laps of a median without a remark.
const FEWEST: usize = 3;

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
        let found = outcome.found(target);
        let reached = match found.map(|found| target.is_reached(found)) {
            Some(true) => format!("yes{}", few_laps(outcome)),
            Some(false) => format!("**no**{}", few_laps(outcome)),
            None => String::new(),
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

/// A remark on a case whose medians are of fewer laps than can tell a disturbance from the rest.
fn few_laps(outcome: &Outcome) -> String {
    let laps = outcome.sides.iter().map(|timing| timing.seconds.len());
    // Calls of operators are counted, not timed.
    match laps.filter(|&laps| laps > 0).min() {
        Some(1) => ", of 1 lap".to_string(),
        Some(laps) if laps < FEWEST => format!(", of {laps} laps"),
        _ => String::new(),
    }
}

/// A figure with two decimals, or with as many more as tell it from a goal that is missed.
fn figure(found: f64, goal: f64, is_reached: bool) -> String {
    let with = |digits: usize| [found, goal].map(|number| format!("{number:.digits$}"));
    let digits = (2..6).find(|&digits| is_reached || with(digits)[0] != with(digits)[1]);
    format!("{found:.*}", digits.unwrap_or(6))
}

#[cfg(test)]
mod tests {
    use totune_model::fused::Calls;

    use super::*;
    use crate::results::Timing;
    use crate::target::Target;

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
            let is = outcome().found(&target);
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
            (1.09996, false, "1.09996"),
        ] {
            assert_eq!(figure(found, 1.1, is_reached), expected);
        }
    }
}
