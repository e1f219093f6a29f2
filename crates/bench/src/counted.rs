//! The tables of a page on operators: totals of each side, and the most frequent operators.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use totune_data::TextTable;
use totune_model::fused::Calls;

use crate::goals;
use crate::results::{Outcome, Results, Timing};

/// Number of operators in the table of a case.
const MOST_FREQUENT: usize = 20;

/// A way to count, with the heading of its column.
type Count = (&'static str, fn(&Calls) -> u64);

/// The ways to count.
const COUNTS: [Count; 3] = [
    ("operators", |calls| calls.all),
    ("outermost", |calls| calls.outermost),
    ("innermost", |calls| calls.innermost),
];

/// A table of all cases, and for each case its most frequent operators.
pub fn tables(results: &Results) -> String {
    let mut head = vec!["case".to_string(), "side".to_string()];
    head.extend(COUNTS.map(|(name, _)| format!("#{name}")));
    for baseline in &results.baselines {
        head.extend(COUNTS.map(|(name, _)| format!("#{name} / {baseline}'s")));
    }
    let mut table = TextTable::new(head);
    for outcome in &results.outcomes {
        for (at, timing) in outcome.sides.iter().enumerate() {
            let total = Calls::total(&timing.operators);
            let case = if at == 0 { outcome.case.as_str() } else { "" };
            let mut row = vec![case.to_string(), timing.side.clone()];
            row.extend(COUNTS.map(|(_, count)| count(&total).to_string()));
            for baseline in &results.baselines {
                row.extend(ratios(outcome, timing, baseline));
            }
            table.row(row);
        }
    }
    let mut text = table.markdown() + &goals::table(results);
    for outcome in &results.outcomes {
        most_frequent(&mut text, outcome);
    }
    text
}

/// The counts of a side divided by the baseline's; empty for baselines themselves, and where there is nothing to divide by.
fn ratios(outcome: &Outcome, timing: &Timing, baseline: &str) -> [String; 3] {
    let other = outcome.side(baseline);
    let other = other.filter(|other| other.side != timing.side);
    let other = other.map(|other| Calls::total(&other.operators));
    let ours = Calls::total(&timing.operators);
    COUNTS.map(|(_, count)| {
        let other = other.as_ref().map(count).filter(|other| *other > 0);
        other.map_or(String::new(), |other| {
            format!("{:.2}", count(&ours) as f64 / other as f64)
        })
    })
}

fn most_frequent(text: &mut String, outcome: &Outcome) {
    let names = outcome.sides.iter().flat_map(|side| side.operators.keys());
    let mut names: Vec<&String> = names.collect::<BTreeSet<_>>().into_iter().collect();
    let calls =
        |side: &Timing, name: &String| side.operators.get(name).copied().unwrap_or_default();
    let most = |name: &&String| {
        let counts = outcome.sides.iter().map(|side| calls(side, name).all);
        std::cmp::Reverse(counts.max())
    };
    names.sort_by_key(most);
    let mut head = vec!["operator".to_string()];
    head.extend(outcome.sides.iter().map(|side| format!("#{}", side.side)));
    let mut table = TextTable::new(head);
    for name in names.into_iter().take(MOST_FREQUENT) {
        let cell = |side| {
            let calls = calls(side, name);
            format!("{} ({})", calls.all, calls.outermost)
        };
        let cells = outcome.sides.iter().map(cell);
        table.row([format!("`{name}`")].into_iter().chain(cells));
    }
    let _ = write!(
        text,
        "\n## {}\n\nThe most frequent operators at any depth, and in brackets those that are outermost.\n\n{}",
        outcome.case,
        table.markdown(),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Measure;
    use crate::target::Target;

    fn side(name: &str, operators: &[(&str, [u64; 3])]) -> Timing {
        let operators = operators
            .iter()
            .map(|&(name, [all, outermost, innermost])| {
                let calls = Calls {
                    all,
                    outermost,
                    innermost,
                };
                (name.to_string(), calls)
            });
        Timing {
            side: name.to_string(),
            operators: operators.collect(),
            ..Timing::default()
        }
    }

    #[test]
    fn sides_are_compared_by_their_operators() {
        let outcome = Outcome {
            case: "a step".to_string(),
            threads: 2,
            targets: vec![Target::operators("totune", "pytorch", 0.8)],
            sides: vec![
                side("totune", &[("aten::mm", [3, 1, 3])]),
                side(
                    "pytorch",
                    &[("aten::mm", [2, 0, 2]), ("aten::linear", [2, 2, 0])],
                ),
            ],
            ..Outcome::default()
        };
        let results = Results {
            baselines: vec!["pytorch".to_string()],
            measure: Measure::Operators,
            outcomes: vec![outcome],
            ..Results::default()
        };
        let text = tables(&results);
        for line in [
            "| case | side | operators | outermost | innermost | operators / pytorch's | outermost / pytorch's | innermost / pytorch's |",
            "| a step | totune | 3 | 1 | 3 | 0.75 | 0.50 | 1.50 |",
            "|  | pytorch | 4 | 2 | 2 |  |  |  |",
            "| case | threads | | at most | found | reached |",
            "| a step | 2 | operators of totune / pytorch's | 0.80 | 0.75 | yes |",
            "| `aten::mm` | 3 (1) | 2 (0) |",
            "| `aten::linear` | 0 (0) | 2 (2) |",
        ] {
            assert!(
                text.lines().any(|found| found == line),
                "expected {line} in\n{text}"
            );
        }
    }
}
