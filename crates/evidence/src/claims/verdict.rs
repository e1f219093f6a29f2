//! The rule that turns evidence into a verdict; `docs/statistics.md` explains it.
//!
//! Evidence is a difference with its 95 % and 90 % intervals. Nothing is reproduced because a test failed to see anything.
//!
//! | relation | reproduced | in direction | contradicted |
//! |---|---|---|---|
//! | greater | significantly above | that, but the 90 % interval is inside ± margin | significantly below, or the 90 % interval is inside ± margin |
//! | near, of a difference d | significantly on its side, more than d/2 (one-sided), at most 2 d, and d is inside the 95 % prediction interval | significantly on its side | significantly on the other side, or the 90 % interval is inside ± min(margin, d/2) |
//! | equivalent | the 90 % interval is inside ± margin, every task inside twice it | | the 95 % interval is outside ± margin |
//! | non-inferior | the 90 % interval is above - margin | | the 95 % interval is below - margin |
//! | near, of a value v | the 90 % interval is inside v ± tolerance | | the 95 % interval is outside v ± tolerance |
//! | a limit of numbers without a test | all keep it | | otherwise |
//!
//! Anything else is not decided. A claim of several comparisons holds where each does, which needs no correction
//! (intersection-union); it is contradicted where one is by p-values corrected over the claim (Holm) or all are, and reproduced
//! in direction where all differences are on the right side and some significantly so. Where some comparisons of such a claim
//! cannot be made, it is contradicted where one of the others is, by p-values corrected over all of them, and otherwise not
//! testable.
//!
//! A claim that the paper's own numbers decide (sums, impossible scores, p-values, quotations) is reproduced,
//! contradicted, or not decided where only the rounding of the printed numbers could save it.

use std::iter::repeat_n;

use serde::{Deserialize, Serialize};
use totune_stats::{Interval, holm};

use crate::compare::{ALPHA, Comparison};
use crate::text::decimals;

/// Verdict on a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The runs show what the paper says.
    Reproduced,
    /// They show its direction, and not its size.
    Direction,
    /// They exclude neither what the paper says nor its opposite.
    NotDecided,
    /// They exclude what the paper says.
    Contradicted,
    /// There are no runs that could decide it.
    NotTestable,
}

impl Verdict {
    /// All of them, in the order of a summary.
    pub const ALL: [Self; 5] = [
        Self::Reproduced,
        Self::Direction,
        Self::NotDecided,
        Self::Contradicted,
        Self::NotTestable,
    ];

    /// The verdict in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Direction => "reproduced in direction",
            Self::NotDecided => "not decided",
            Self::Contradicted => "contradicted",
            Self::NotTestable => "not testable",
        }
    }

    /// Its class in style sheets.
    pub fn class(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Direction => "direction",
            Self::NotDecided => "not-decided",
            Self::Contradicted => "contradicted",
            Self::NotTestable => "not-testable",
        }
    }
}

/// The test whose p-value decides whether there is a difference.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Test {
    /// Student's t.
    #[default]
    T,
    /// All exchanges of labels or signs. With three seeds a side its p cannot fall below 0.1.
    Permutation,
}

/// Settings of a claim that are fixed before any run is examined.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rule {
    /// The smallest difference that matters, in units of the quantity; 0 where there is none.
    pub(crate) margin: f64,
    pub(crate) test: Test,
    /// Runs behind each number of the paper.
    pub(crate) paper_runs: f64,
}

impl Rule {
    /// The p-value that decides whether there is a difference.
    pub(crate) fn p(&self, found: &Comparison) -> f64 {
        match (self.test, &found.permutation) {
            (Test::Permutation, Some((p, _))) => *p,
            _ => found.p,
        }
    }

    fn is_up(&self, found: &Comparison) -> bool {
        found.difference > 0.0 && self.p(found) < ALPHA
    }

    /// The verdict where the paper finds the first side of each comparison above the second.
    pub(crate) fn greater(&self, found: &[Comparison]) -> Verdict {
        let held = |each: &Comparison| self.is_up(each) && !is_within(each, self.margin);
        let against = |each: &Comparison| self.p_against(each, self.margin);
        let (held, against) = (found.iter().map(held), found.iter().map(against));
        self.pointing(decide(held, against), found)
    }

    /// Whether the paper's first side being above the second in every comparison is excluded, although `untested` of the
    /// comparisons could not be made: Holm's correction counts these as well.
    pub(crate) fn refutes_greater(&self, found: &[Comparison], untested: usize) -> bool {
        let p = found.iter().map(|each| self.p_against(each, self.margin));
        let p: Vec<f64> = p.chain(repeat_n(1.0, untested)).collect();
        holm(&p).iter().any(|p| *p < ALPHA)
    }

    /// The verdict where the paper prints the differences, each positive or negative.
    pub(crate) fn near(&self, found: &[Comparison], papers: &[f64]) -> Verdict {
        let turned = |(each, paper): (&Comparison, &f64)| {
            if *paper < 0.0 {
                each.turned()
            } else {
                each.clone()
            }
        };
        let found: Vec<Comparison> = found.iter().zip(papers).map(turned).collect();
        let both = || found.iter().zip(papers.iter().map(|paper| paper.abs()));
        let held =
            both().map(|(each, paper)| self.is_up(each) && self.lacks(each, paper).is_empty());
        let against =
            both().map(|(each, paper)| self.p_against(each, self.margin.min(paper / 2.0)));
        self.pointing(decide(held, against), &found)
    }

    /// Conditions that a difference with the right sign fails to be of the size of `paper`, which is positive.
    pub(crate) fn lacks(&self, found: &Comparison, paper: f64) -> Vec<&'static str> {
        let mut lacks = Vec::new();
        if found.narrow.low <= paper / 2.0 {
            lacks.push("that it is more than half of the printed size is not shown");
        }
        let expected = found.estimate.is_none_or(|estimate| {
            let theirs = estimate.error * (found.n / self.paper_runs).sqrt();
            let Interval { low, high } = estimate.prediction(theirs, 1.0 - ALPHA);
            low <= paper + rounding(paper) && paper - rounding(paper) <= high
        });
        if !expected {
            lacks.push("the printed size is outside the 95 % prediction interval");
        }
        // A prediction interval is the wider the less is known, so it does not suffice by itself.
        if found.difference > 2.0 * (paper + rounding(paper)) {
            lacks.push("it is more than twice the printed size");
        }
        lacks
    }

    /// The verdict where the paper finds the sides alike.
    pub(crate) fn equivalent(&self, found: &[Comparison]) -> Verdict {
        let margin = self.margin;
        let held = |each: &Comparison| {
            is_within(each, margin) && each.parts.iter().all(|part| part.abs() <= 2.0 * margin)
        };
        let against = |each: &Comparison| {
            let beyond = |each: &Comparison| p_above(each, margin);
            (2.0 * beyond(each).min(beyond(&each.turned()))).min(1.0)
        };
        decide(found.iter().map(held), found.iter().map(against))
    }

    /// The verdict where the paper finds the first side not below the second by more than the margin.
    pub(crate) fn non_inferior(&self, found: &[Comparison]) -> Verdict {
        let held = |each: &Comparison| each.narrow.low > -self.margin;
        let against = |each: &Comparison| (2.0 * p_above(&each.turned(), self.margin)).min(1.0);
        decide(found.iter().map(held), found.iter().map(against))
    }

    /// Turns not decided into reproduced in direction where all differences are positive and some significantly so.
    fn pointing(&self, verdict: Verdict, found: &[Comparison]) -> Verdict {
        let p: Vec<f64> = found.iter().map(|each| self.p(each)).collect();
        let some = holm(&p).iter().any(|p| *p < ALPHA) || found.iter().all(|each| self.is_up(each));
        let all = found.iter().all(|each| each.difference > 0.0);
        match verdict {
            Verdict::NotDecided if some && all => Verdict::Direction,
            other => other,
        }
    }

    /// The p-value against a difference that should be positive: it is below 0, or it is within `margin` and not shown to be
    /// positive.
    fn p_against(&self, found: &Comparison, margin: f64) -> f64 {
        let below = if found.difference < 0.0 {
            self.p(found)
        } else {
            1.0
        };
        let none = match found.estimate {
            Some(estimate) if margin > 0.0 && !self.is_up(found) => estimate.tost(margin).p(),
            _ => 1.0,
        };
        below.min(none)
    }
}

/// Reproduced where every comparison holds; contradicted where the p-value against one is significant after Holm's correction,
/// or against each without it; otherwise not decided.
fn decide(mut held: impl Iterator<Item = bool>, against: impl Iterator<Item = f64>) -> Verdict {
    let p: Vec<f64> = against.collect();
    if held.all(|held| held) {
        Verdict::Reproduced
    } else if p.iter().all(|p| *p < ALPHA) || holm(&p).iter().any(|p| *p < ALPHA) {
        Verdict::Contradicted
    } else {
        Verdict::NotDecided
    }
}

/// Whether a difference is shown to be within a margin of 0, by two one-sided tests.
fn is_within(found: &Comparison, margin: f64) -> bool {
    -margin < found.narrow.low && found.narrow.high < margin
}

/// The one-sided p-value of a difference above `limit`; of what has an interval only, 0 or 1.
fn p_above(found: &Comparison, limit: f64) -> f64 {
    match found.estimate {
        Some(estimate) => estimate.p_above(limit),
        None if found.interval.low > limit => 0.0,
        None => 1.0,
    }
}

/// The verdict where the paper prints a value; `wide` and `narrow` are the 95 % and 90 % intervals of ours.
pub(crate) fn of_value(paper: f64, tolerance: f64, [wide, narrow]: [Interval; 2]) -> Verdict {
    let (low, high) = (paper - tolerance, paper + tolerance);
    if narrow.low >= low && narrow.high <= high {
        Verdict::Reproduced
    } else if wide.low > high || wide.high < low {
        Verdict::Contradicted
    } else {
        Verdict::NotDecided
    }
}

/// The verdict on a share of runs against a limit; the one-sided p-values are those of keeping the limit and of breaking it.
pub(crate) fn of_tails([kept, broken]: [f64; 2]) -> Verdict {
    if kept < ALPHA {
        Verdict::Reproduced
    } else if 2.0 * broken < ALPHA {
        Verdict::Contradicted
    } else {
        Verdict::NotDecided
    }
}

/// The verdict where the paper gives limits that each number has to keep.
pub(crate) fn of_limits(kept: bool) -> Verdict {
    if kept {
        Verdict::Reproduced
    } else {
        Verdict::Contradicted
    }
}

/// Error of a printed difference from rounding, at most. A fraction was printed as percent or points: 0.1 in TOML was
/// 0.10 on paper.
fn rounding(paper: f64) -> f64 {
    let half = half_digit(paper);
    if paper < 1.0 { half.min(0.005) } else { half }
}

/// Half of the last digit a number was printed with.
pub(crate) fn half_digit(value: f64) -> f64 {
    0.5 * 10f64.powi(-(decimals(value) as i32))
}

/// Whether a difference is within a tolerance, allowing for the last bit of decimal fractions.
pub(crate) fn within(difference: f64, tolerance: f64) -> bool {
    difference.abs() <= tolerance + 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;
    use totune_stats::Estimate;

    const RULE: Rule = Rule {
        margin: 0.01,
        test: Test::T,
        paper_runs: 1.0,
    };

    #[test]
    fn greater() {
        // (difference, standard error): the 95 % interval is about ± 2.3 errors, the 90 % one ± 1.86.
        for (value, error, expected) in [
            (0.03, 0.005, Verdict::Reproduced),
            (0.004, 0.001, Verdict::Direction),
            (0.02, 0.02, Verdict::NotDecided),
            (-0.02, 0.02, Verdict::NotDecided),
            (-0.03, 0.005, Verdict::Contradicted),
            (0.0005, 0.001, Verdict::Contradicted),
        ] {
            let verdict = RULE.greater(&[found(value, error)]);
            assert_eq!(verdict, expected, "{value} ± {error}");
        }
    }

    #[test]
    fn greater_in_several_comparisons() {
        let (up, unsure) = (found(0.03, 0.005), found(0.02, 0.02));
        let (down, down_unsure) = (found(-0.03, 0.005), found(-0.02, 0.02));
        // Two-sided p of 0.03, which one of two comparisons may have by chance.
        let barely_down = found(-0.0264, 0.01);
        for (all, expected) in [
            ([&up, &up], Verdict::Reproduced),
            ([&up, &unsure], Verdict::Direction),
            ([&unsure, &unsure], Verdict::NotDecided),
            ([&up, &down_unsure], Verdict::NotDecided),
            ([&up, &down], Verdict::Contradicted),
            ([&up, &barely_down], Verdict::NotDecided),
            ([&barely_down, &barely_down], Verdict::Contradicted),
        ] {
            let all = all.map(Comparison::clone);
            assert_eq!(RULE.greater(&all), expected, "{all:?}");
        }
        assert_eq!(RULE.greater(&[barely_down]), Verdict::Contradicted);
    }

    #[test]
    fn greater_in_several_comparisons_of_which_some_were_not_made() {
        let (up, down) = (found(0.03, 0.005), found(-0.03, 0.005));
        let barely_down = found(-0.0264, 0.01);
        for (all, untested, expected) in [
            (vec![&up, &up], 1, false),
            (vec![&up, &down], 1, true),
            (vec![&barely_down], 0, true),
            (vec![&barely_down], 1, false),
            (vec![&barely_down, &barely_down], 1, false),
        ] {
            let all: Vec<Comparison> = all.into_iter().cloned().collect();
            let found = RULE.refutes_greater(&all, untested);
            assert_eq!(found, expected, "{all:?}, {untested} untested");
        }
    }

    #[test]
    fn a_printed_size() {
        for (value, error, paper, expected) in [
            (0.03, 0.005, 0.03, Verdict::Reproduced),
            (-0.03, 0.005, -0.03, Verdict::Reproduced),
            // Half of the printed size could be the true one; far more than the printed size is another finding.
            (0.03, 0.005, 0.05, Verdict::Direction),
            (0.30, 0.005, 0.03, Verdict::Direction),
            // 0.1 was printed as 0.10.
            (0.17, 0.005, 0.10, Verdict::Direction),
            (0.10, 0.030, 0.03, Verdict::Direction),
            (0.03, 0.03, 0.03, Verdict::NotDecided),
            (-0.03, 0.005, 0.03, Verdict::Contradicted),
            (0.001, 0.003, 0.03, Verdict::Contradicted),
            (0.001, 0.003, 0.008, Verdict::NotDecided),
        ] {
            let verdict = RULE.near(&[found(value, error)], &[paper]);
            assert_eq!(verdict, expected, "{value} ± {error}, printed {paper}");
        }
        let both = [found(0.03, 0.005), found(0.03, 0.03)];
        assert_eq!(RULE.near(&both, &[0.03, 0.03]), Verdict::Direction);
    }

    #[test]
    fn no_difference_is_shown_and_never_assumed() {
        for (value, error, equivalent, non_inferior) in [
            (0.002, 0.003, Verdict::Reproduced, Verdict::Reproduced),
            (0.002, 0.02, Verdict::NotDecided, Verdict::NotDecided),
            (0.03, 0.005, Verdict::Contradicted, Verdict::Reproduced),
            (-0.03, 0.005, Verdict::Contradicted, Verdict::Contradicted),
            (-0.012, 0.005, Verdict::NotDecided, Verdict::NotDecided),
        ] {
            let all = [found(value, error)];
            assert_eq!(RULE.equivalent(&all), equivalent, "{value} ± {error}");
            assert_eq!(RULE.non_inferior(&all), non_inferior, "{value} ± {error}");
        }
        // Two tasks that are far apart in opposite directions are not alike in the mean.
        let mut apart = found(0.0, 0.002);
        apart.parts = vec![0.05, -0.05];
        assert_eq!(RULE.equivalent(&[apart]), Verdict::NotDecided);
    }

    #[test]
    fn a_permutation_test_decides_where_the_claim_says_so() {
        let mut three = found(0.03, 0.005);
        three.permutation = Some((0.1, String::new()));
        let rule = Rule {
            test: Test::Permutation,
            ..RULE
        };
        assert_eq!(RULE.greater(&[three.clone()]), Verdict::Reproduced);
        assert_eq!(rule.greater(&[three]), Verdict::NotDecided);
    }

    #[test]
    fn values() {
        for (ours, half, expected) in [
            (0.800, 0.005, Verdict::Reproduced),
            (0.808, 0.005, Verdict::NotDecided),
            (0.830, 0.100, Verdict::NotDecided),
            (0.830, 0.005, Verdict::Contradicted),
        ] {
            let intervals = [half, 0.8 * half].map(|half| Interval::around(ours, half));
            let verdict = of_value(0.80, 0.01, intervals);
            assert_eq!(verdict, expected, "{ours} ± {half}");
        }
    }

    /// A difference with its standard error, of five seeds a side.
    fn found(value: f64, error: f64) -> Comparison {
        let estimate = Estimate {
            value,
            error,
            df: 8.0,
        };
        Comparison::of(estimate, "", 5.0, vec![value])
    }
}
