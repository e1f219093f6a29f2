//! Printed numbers: the precision of their digits, and whether one follows from others.

pub(super) use crate::claims::verdict::half_digit;
use crate::claims::verdict::{Verdict, within};
use crate::text::{decimals, fixed};

/// The most digits after the point among printed numbers.
pub(super) fn most_decimals(values: &[f64]) -> usize {
    let digits = values.iter().map(|&value| decimals(value));
    digits.max().unwrap_or(0)
}

/// A share in percent with the digits it was printed with.
pub(super) fn percent(share: f64) -> String {
    fixed(share * 100.0, decimals(share).saturating_sub(2))
}

/// Compares a recomputed number with the printed one, by the tolerance its words grant or by rounding; `slack` is how
/// far rounding of its inputs can have moved it. Returns the verdict with its reason.
pub(super) fn follows(
    found: f64,
    printed: f64,
    tolerance: Option<f64>,
    slack: f64,
) -> (Verdict, &'static str) {
    let off = (found - printed).abs();
    if let Some(tolerance) = tolerance {
        return if within(off, tolerance) {
            (Verdict::Reproduced, "close enough for a rounded statement")
        } else {
            (
                Verdict::Contradicted,
                "too far even for a rounded statement",
            )
        };
    }
    let half = half_digit(printed);
    if within(off, half) {
        (Verdict::Reproduced, "this rounds to the printed number")
    } else if within(off, half + slack) {
        let words = "this does not round to the printed number, but inputs that round to the printed ones can";
        (Verdict::NotDecided, words)
    } else {
        (
            Verdict::Contradicted,
            "this does not round to the printed number",
        )
    }
}

/// Outcome of a finding: the recomputed number, the verdict and its reasons.
#[cfg(test)]
pub(super) fn came_to(finding: crate::claims::finding::Finding) -> (String, Verdict, Vec<String>) {
    use crate::claims::finding::Finding::{Compared, Decision, Untestable};
    match finding {
        Decision(settled) => (settled.ours, settled.verdict, settled.reasons),
        Untestable(why) => (why, Verdict::NotTestable, vec![]),
        Compared(_) => unreachable!("printed numbers are not compared with runs"),
    }
}
