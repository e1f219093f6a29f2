//! The summary of all cases on the page of `bench regret`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use totune_stats::{mean, quartiles};

use super::results::{CaseParts, SIDES, Side};

/// Regret in points up to which a side counts as good as the best.
const CLOSE: f64 = 1.0;

/// A line for each side, and for each strategy as if it were always taken: how often it is close to the best, how far it is
/// from it, and its time.
pub(super) fn summary<'a>(text: &mut String, cases: impl Iterator<Item = &'a CaseParts>) {
    let mut of_sides: [Tally; SIDES.len()] = Default::default();
    let mut of_strategies: BTreeMap<String, Tally> = BTreeMap::new();
    for case in cases {
        let Some(best) = case.best() else { continue };
        for (tally, side) in of_sides.iter_mut().zip(case.sides()) {
            if let Some(side) = side {
                tally.add(&best, &side);
            }
        }
        for side in case.grid() {
            let tally = of_strategies.entry(side.strategy().to_string());
            tally.or_default().add(&best, &side);
        }
    }
    let _ = write!(text, "\n## Regret\n\n{}", head_of_tallies("side"));
    for (name, tally) in SIDES.iter().zip(&of_sides) {
        text.push_str(&tally.line(name));
    }
    if !of_strategies.is_empty() {
        let _ = write!(
            text,
            "\n## Regret of always taking the same strategy\n\nAt length, with the better of its learning rates on dev.\n\n{}",
            head_of_tallies("strategy")
        );
    }
    for (name, tally) in &of_strategies {
        text.push_str(&tally.line(name));
    }
}

fn head_of_tallies(first: &str) -> String {
    format!(
        "| {first} | cases | within one point of the best | median regret | mean regret | largest regret | mean seconds |\n\
         |---|--:|--:|--:|--:|--:|--:|\n"
    )
}

/// Regrets over cases.
#[derive(Default)]
struct Tally {
    regrets: Vec<f64>,
    /// Of the cases that a CPU computed.
    seconds: Vec<f64>,
    /// Cases without a score, which are not within a point of anything.
    unscored: usize,
}

impl Tally {
    fn add(&mut self, best: &Side, side: &Side) {
        self.seconds.extend(side.seconds);
        match regret(best, side) {
            Some(regret) => self.regrets.push(regret),
            None => self.unscored += 1,
        }
    }

    /// A line of the table; nothing without cases.
    fn line(&self, name: &str) -> String {
        let n = self.regrets.len() + self.unscored;
        if n == 0 {
            return String::new();
        }
        let number =
            |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.2}"));
        let seconds = match self.seconds.as_slice() {
            [] => String::new(),
            known => format!("{:.0}", mean(known)),
        };
        let most = self.regrets.iter().copied().reduce(f64::max);
        let close = self
            .regrets
            .iter()
            .filter(|regret| **regret <= CLOSE + 1e-9);
        let close = close.count();
        let without = match self.unscored {
            0 => String::new(),
            few => format!(", no score in {few}"),
        };
        format!(
            "| {name} | {n} | {close} of {n}{without} | {} | {} | {} | {seconds} |\n",
            number(most.map(|_| quartiles(&self.regrets)[2])),
            number(most.map(|_| mean(&self.regrets))),
            number(most),
        )
    }
}

/// Regret of a side in points.
pub(super) fn regret(best: &Side, side: &Side) -> Option<f64> {
    Some((best.test? - side.test?) * 100.0)
}
