//! The rule that turns evidence into a verdict.
//!
//! Evidence is a difference with its interval and a p-value corrected over all comparisons of the page (Holm).
//! A comparison *counts* when the corrected p-value is below 0.05. A value of the paper is no comparison: it is
//! compared with our mean and its interval, and does not enter the correction.
//!
//! | relation | reproduced | direction only | within noise | contradicted |
//! |---|---|---|---|---|
//! | near, of a mean or a standard deviation | within its tolerance | | outside it, but inside our 95 % interval | otherwise |
//! | near, of a difference | counts, right sign, size within tolerance or the paper's inside our interval | counts, right sign, other size | does not count | counts, wrong sign |
//! | near, of several differences | each one is | all in the right direction, some count | otherwise | some one is |
//! | greater | all neighbours in order, all count | all in order, some count | otherwise | some reversed neighbour counts |
//! | greater, at every layer | at every layer of every task | above on average on each task, and at most layers | | otherwise |
//! | null | uncorrected p ≥ 0.05 | | uncorrected below, corrected above | counts |
//! | non-superior | as null, or not above | | uncorrected below, corrected above | counts |
//! | non-inferior | the interval lies above minus the margin | | otherwise | the interval lies below it |
//! | equivalent | the interval lies inside the margin | | otherwise | the interval lies outside it |
//! | at most, at least, equivalent, of numbers without a test | all keep the limit | | | otherwise |
//!
//! What the paper's own numbers decide (sums, impossible scores, p-values, quotations) is reproduced,
//! contradicted, or within noise where only the rounding of the printed numbers could save it.

use serde::Serialize;
use totune_stats::Interval;

use crate::compare::{ALPHA, Comparison};

/// What became of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    Reproduced,
    DirectionOnly,
    WithinNoise,
    Contradicted,
    NotTestable,
}

impl Verdict {
    /// All of them, in the order of a summary.
    pub(crate) const ALL: [Self; 5] = [
        Self::Reproduced,
        Self::DirectionOnly,
        Self::WithinNoise,
        Self::Contradicted,
        Self::NotTestable,
    ];

    /// In words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::DirectionOnly => "direction only",
            Self::WithinNoise => "within noise",
            Self::Contradicted => "contradicted",
            Self::NotTestable => "not testable",
        }
    }

    /// For style sheets.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::DirectionOnly => "direction-only",
            Self::WithinNoise => "within-noise",
            Self::Contradicted => "contradicted",
            Self::NotTestable => "not-testable",
        }
    }
}

/// A comparison with its corrected p-value.
#[derive(Debug, Clone)]
pub(crate) struct Tested {
    pub(crate) comparison: Comparison,
    pub(crate) corrected: f64,
}

impl Tested {
    /// Whether the difference counts after correction.
    fn counts(&self) -> bool {
        self.corrected < ALPHA
    }

    /// Whether it counts and `a` is above `b`.
    fn counts_up(&self) -> bool {
        self.counts() && self.comparison.difference > 0.0
    }

    /// Whether it counts and `a` is below `b`.
    fn counts_down(&self) -> bool {
        self.counts() && self.comparison.difference < 0.0
    }
}

/// The paper reports a value; `interval` is that of our mean minus the paper's.
pub(crate) fn of_value(difference: f64, tolerance: f64, interval: Option<Interval>) -> Verdict {
    let inside = interval.is_some_and(|interval| interval.contains(0.0));
    match within(difference, tolerance) {
        true => Verdict::Reproduced,
        false if inside => Verdict::WithinNoise,
        false => Verdict::Contradicted,
    }
}

/// The paper reports that `a` is above `b` by `paper`, which is positive or negative.
fn of_difference(tested: &Tested, paper: f64, tolerance: f64) -> Verdict {
    let ours = &tested.comparison;
    let size_agrees = within(ours.difference - paper, tolerance) || ours.interval.contains(paper);
    match (tested.counts(), (ours.difference > 0.0) == (paper > 0.0)) {
        (false, _) => Verdict::WithinNoise,
        (true, false) => Verdict::Contradicted,
        (true, true) if size_agrees => Verdict::Reproduced,
        (true, true) => Verdict::DirectionOnly,
    }
}

/// The paper reports several differences at once, such as at several times.
pub(crate) fn of_differences(tested: &[Tested], papers: &[f64], tolerance: f64) -> Verdict {
    let each: Vec<Verdict> = tested
        .iter()
        .zip(papers)
        .map(|(tested, &paper)| of_difference(tested, paper, tolerance))
        .collect();
    let in_direction = tested
        .iter()
        .zip(papers)
        .all(|(tested, &paper)| (tested.comparison.difference > 0.0) == (paper > 0.0));
    if each.contains(&Verdict::Contradicted) {
        Verdict::Contradicted
    } else if each.iter().all(|verdict| *verdict == Verdict::Reproduced) {
        Verdict::Reproduced
    } else if in_direction && tested.iter().any(Tested::counts) {
        Verdict::DirectionOnly
    } else {
        Verdict::WithinNoise
    }
}

/// The paper gives limits that each number has to keep.
pub(crate) fn of_limits(kept: bool) -> Verdict {
    if kept {
        Verdict::Reproduced
    } else {
        Verdict::Contradicted
    }
}

/// The paper finds one group above another at every layer: `above` of `all` layers are, and `rises` are the mean
/// differences by task.
pub(crate) fn of_layers(above: usize, all: usize, rises: &[f64]) -> Verdict {
    if above == all {
        Verdict::Reproduced
    } else if rises.iter().all(|&rise| rise > 0.0) && 2 * above > all {
        Verdict::DirectionOnly
    } else {
        Verdict::Contradicted
    }
}

/// The paper orders groups; each comparison is of neighbours, the one it puts higher first.
pub(crate) fn of_order(neighbours: &[Tested]) -> Verdict {
    if neighbours.iter().any(Tested::counts_down) {
        Verdict::Contradicted
    } else if neighbours.iter().all(Tested::counts_up) {
        Verdict::Reproduced
    } else if neighbours
        .iter()
        .all(|tested| tested.comparison.difference > 0.0)
        && neighbours.iter().any(Tested::counts_up)
    {
        Verdict::DirectionOnly
    } else {
        Verdict::WithinNoise
    }
}

/// The paper finds nothing.
pub(crate) fn of_null(tested: &Tested) -> Verdict {
    if tested.counts() {
        Verdict::Contradicted
    } else if tested.comparison.p >= ALPHA {
        Verdict::Reproduced
    } else {
        Verdict::WithinNoise
    }
}

/// The paper finds that `a` is no better than `b`; it may be worse.
pub(crate) fn of_non_superior(tested: &Tested) -> Verdict {
    match of_null(tested) {
        Verdict::Reproduced => Verdict::Reproduced,
        _ if tested.comparison.difference <= 0.0 => Verdict::Reproduced,
        gain => gain,
    }
}

/// The paper finds `a` at most `margin` below `b`: a one-sided test of that at 0.025, which is whether the 95 % interval of
/// the difference lies above `-margin`.
pub(crate) fn of_non_inferiority(tested: &Tested, margin: f64) -> Verdict {
    let Interval { low, high } = tested.comparison.interval;
    if low > -margin {
        Verdict::Reproduced
    } else if high < -margin {
        Verdict::Contradicted
    } else {
        Verdict::WithinNoise
    }
}

/// The paper finds two sides equivalent: at most `margin` apart, by the 95 % interval of their difference.
pub(crate) fn of_equivalence(tested: &Tested, margin: f64) -> Verdict {
    let Interval { low, high } = tested.comparison.interval;
    if -margin <= low && high <= margin {
        Verdict::Reproduced
    } else if low > margin || high < -margin {
        Verdict::Contradicted
    } else {
        Verdict::WithinNoise
    }
}

/// Whether a difference is within a tolerance, allowing for the last bit of decimal fractions.
pub(crate) fn within(difference: f64, tolerance: f64) -> bool {
    difference.abs() <= tolerance + 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct OneSided {
        a: Vec<f64>,
        b: Vec<f64>,
        margin: f64,
        p_not_inferior: f64,
        p_inferior: f64,
    }

    /// Values of scipy, from `fixtures/make/non_inferiority.py`.
    #[test]
    fn non_inferiority_is_what_one_sided_tests_within_the_margin_say() {
        let cases = include_str!("../../../../fixtures/stats/non_inferiority.json");
        let cases: Vec<OneSided> = serde_json::from_str(cases).unwrap();
        let mut found = std::collections::BTreeSet::new();
        for case in cases {
            let welch = totune_stats::welch(&case.a, &case.b).unwrap();
            let half = (welch.interval.high - welch.interval.low) / 2.0;
            let verdict =
                of_non_inferiority(&tested(welch.difference, half, 0.5, 0.5), case.margin);
            let expected = match (case.p_not_inferior < 0.025, case.p_inferior < 0.025) {
                (true, _) => Verdict::Reproduced,
                (_, true) => Verdict::Contradicted,
                _ => Verdict::WithinNoise,
            };
            assert_eq!(verdict, expected, "margin {}", case.margin);
            found.insert(verdict);
        }
        assert_eq!(found.len(), 3, "{found:?}");
    }

    #[test]
    fn values() {
        // (ours - paper, half width of our interval, expected) with a tolerance of 0.01
        for (difference, half, expected) in [
            (0.0, 0.001, Verdict::Reproduced),
            (0.01, 0.001, Verdict::Reproduced),
            (-0.02, 0.05, Verdict::WithinNoise),
            (-0.02, 0.01, Verdict::Contradicted),
        ] {
            let interval = Interval::around(difference, half);
            assert_eq!(
                of_value(difference, 0.01, Some(interval)),
                expected,
                "{difference} +- {half}"
            );
        }
        assert_eq!(of_value(0.02, 0.01, None), Verdict::Contradicted);
    }

    #[test]
    fn differences() {
        // (ours, half width, corrected p, paper, expected) with a tolerance of 0.01
        for (ours, half, p, paper, expected) in [
            (0.031, 0.005, 0.001, 0.03, Verdict::Reproduced),
            (0.060, 0.04, 0.001, 0.03, Verdict::Reproduced),
            (0.060, 0.005, 0.001, 0.03, Verdict::DirectionOnly),
            (0.031, 0.05, 0.2, 0.03, Verdict::WithinNoise),
            (-0.010, 0.05, 0.2, 0.03, Verdict::WithinNoise),
            (-0.031, 0.005, 0.001, 0.03, Verdict::Contradicted),
            (-0.031, 0.005, 0.001, -0.03, Verdict::Reproduced),
        ] {
            assert_eq!(
                of_difference(&tested(ours, half, p, p), paper, 0.01),
                expected,
                "{ours} against {paper}"
            );
        }
    }

    #[test]
    fn several_differences() {
        let (right, unsure, large, wrong, wrong_unsure) = (
            tested(0.03, 0.005, 0.001, 0.001),
            tested(0.03, 0.05, 0.3, 0.3),
            tested(0.09, 0.005, 0.001, 0.001),
            tested(-0.03, 0.005, 0.001, 0.001),
            tested(-0.03, 0.05, 0.3, 0.3),
        );
        for (found, expected) in [
            (vec![&right, &right], Verdict::Reproduced),
            (vec![&right, &unsure], Verdict::DirectionOnly),
            (vec![&right, &large], Verdict::DirectionOnly),
            (vec![&right, &wrong_unsure], Verdict::WithinNoise),
            (vec![&unsure, &unsure], Verdict::WithinNoise),
            (vec![&right, &wrong], Verdict::Contradicted),
        ] {
            let found: Vec<Tested> = found.into_iter().cloned().collect();
            assert_eq!(
                of_differences(&found, &[0.03, 0.03], 0.01),
                expected,
                "{found:?}"
            );
        }
    }

    #[test]
    fn orders() {
        let (up, up_unsure, down, down_unsure) = (
            tested(0.1, 0.01, 0.001, 0.001),
            tested(0.1, 0.2, 0.3, 0.3),
            tested(-0.1, 0.01, 0.001, 0.001),
            tested(-0.1, 0.2, 0.3, 0.3),
        );
        for (neighbours, expected) in [
            (vec![&up, &up], Verdict::Reproduced),
            (vec![&up, &up_unsure], Verdict::DirectionOnly),
            (vec![&up_unsure], Verdict::WithinNoise),
            (vec![&up, &down_unsure], Verdict::WithinNoise),
            (vec![&up, &down], Verdict::Contradicted),
        ] {
            let neighbours: Vec<Tested> = neighbours.into_iter().cloned().collect();
            assert_eq!(of_order(&neighbours), expected, "{neighbours:?}");
        }
    }

    #[test]
    fn layers() {
        for (above, rises, expected) in [
            (6, &[0.1, 0.2][..], Verdict::Reproduced),
            (5, &[0.1, 0.2], Verdict::DirectionOnly),
            (5, &[0.1, -0.2], Verdict::Contradicted),
            (3, &[0.1, 0.2], Verdict::Contradicted),
        ] {
            assert_eq!(of_layers(above, 6, rises), expected, "{above} of 6");
        }
    }

    #[test]
    fn null_findings() {
        for (p, corrected, expected) in [
            (0.4, 1.0, Verdict::Reproduced),
            (0.02, 0.3, Verdict::WithinNoise),
            (0.001, 0.01, Verdict::Contradicted),
        ] {
            assert_eq!(
                of_null(&tested(0.1, 0.1, p, corrected)),
                expected,
                "p = {p}"
            );
            assert_eq!(of_non_superior(&tested(0.1, 0.1, p, corrected)), expected);
            let loss = of_non_superior(&tested(-0.1, 0.1, p, corrected));
            assert_eq!(loss, Verdict::Reproduced, "p = {p}");
        }
    }

    #[test]
    fn equivalence() {
        // (difference, half width of its interval, expected) with a margin of 0.01
        for (difference, half, expected) in [
            (0.002, 0.005, Verdict::Reproduced),
            (0.002, 0.02, Verdict::WithinNoise),
            (0.012, 0.005, Verdict::WithinNoise),
            (-0.03, 0.005, Verdict::Contradicted),
        ] {
            let found = of_equivalence(&tested(difference, half, 0.5, 0.5), 0.01);
            assert_eq!(found, expected, "{difference} +- {half}");
        }
    }

    fn tested(difference: f64, half: f64, p: f64, corrected: f64) -> Tested {
        let comparison = Comparison {
            difference,
            interval: Interval::around(difference, half),
            p,
            effect: None,
            test: String::new(),
            beside: None,
            detectable: None,
        };
        Tested {
            comparison,
            corrected,
        }
    }
}
