//! Differences from earlier results of the same benchmark.

use std::fmt::Write as _;

use totune_data::TextTable;
use totune_stats::quartiles;

use crate::page::seconds;
use crate::results::{Results, Timing};

impl Results {
    /// A line for each side of each case that `before` has too: its median then and now, and the ratio of the two. A
    /// mark says that the middle halves of the laps do not overlap, so that the difference is more than noise within a
    /// run.
    pub fn moved(&self, before: &Self) -> String {
        let mut table = TextTable::new([
            "case",
            "#threads",
            "side",
            "#before",
            "#now",
            "#now / before",
        ]);
        for outcome in &self.outcomes {
            let same = |old: &&crate::Outcome| {
                (&old.case, old.threads) == (&outcome.case, outcome.threads)
            };
            let Some(old) = before.outcomes.iter().find(same) else {
                continue;
            };
            for now in &outcome.sides {
                let timed = |then: &&Timing| !then.seconds.is_empty() && !now.seconds.is_empty();
                if let Some(then) = old.side(&now.side).filter(timed) {
                    let threads = outcome.threads.to_string();
                    let ratio = format!("{:.2}", now.median() / then.median());
                    let mark = if apart(then, now) { "*" } else { " " };
                    table.row([
                        outcome.case.clone(),
                        threads,
                        now.side.clone(),
                        seconds(then.median()),
                        seconds(now.median()),
                        format!("{ratio}{mark}"),
                    ]);
                }
            }
        }
        let mut text = String::new();
        if !before.machine.is_same(&self.machine) {
            let _ = writeln!(
                text,
                "measured on different machines: {}, now {}",
                before.machine, self.machine
            );
        }
        if table.is_empty() {
            text.push_str("no case is in both\n");
            return text;
        }
        text.push_str(&table.to_string());
        text.push_str("below 1: faster now; *: the middle halves of the laps do not overlap\n");
        text
    }
}

/// Whether the middle halves of the laps lie apart.
fn apart(then: &Timing, now: &Timing) -> bool {
    let (then, now) = (quartiles(&then.seconds), quartiles(&now.seconds));
    then[3] < now[1] || now[3] < then[1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Outcome;

    #[test]
    fn a_table_says_what_is_faster_and_what_is_noise() {
        let timing = |side: &str, seconds: &[f64]| Timing {
            side: side.to_string(),
            seconds: seconds.to_vec(),
            ..Timing::default()
        };
        let of = |ours: &[f64], case: &str| Results {
            outcomes: vec![Outcome {
                case: case.to_string(),
                threads: 2,
                sides: vec![timing("totune", ours), timing("pytorch", &[0.3, 0.4, 0.5])],
                ..Outcome::default()
            }],
            ..Results::default()
        };
        let before = of(&[0.2, 0.21, 0.22], "a case");
        let moved = of(&[0.1, 0.105, 0.11], "a case").moved(&before);
        let expected = "\
case    threads  side       before       now  now / before
a case        2  totune   210.0 ms  105.0 ms         0.50*
a case        2  pytorch  400.0 ms  400.0 ms         1.00
below 1: faster now; *: the middle halves of the laps do not overlap
";
        assert_eq!(moved, expected);
        assert_eq!(of(&[0.1], "another").moved(&before), "no case is in both\n");
        let mut elsewhere = before.clone();
        elsewhere.machine.model = "another".to_string();
        assert!(
            elsewhere
                .moved(&before)
                .starts_with("measured on different machines")
        );
    }
}
