//! Means and shares that follow from printed numbers, as far as their digits tell.

use totune_stats::mean;

use super::{Decided, Own, half_digit};
use crate::claims::{MeanOf, ShareOf};
use crate::text::{count, decimals, fixed, signed};
use crate::verdict::{Verdict, within};

/// Whether printed terms have the printed mean: their mean rounds to it, or comes as near as its round words grant.
///
/// Within noise where only some terms that round to the printed ones have that mean.
pub(crate) fn mean_of(check: &MeanOf) -> Decided {
    let digits = most_decimals(&check.terms);
    let found = mean(&check.terms);
    let terms: Vec<String> = check
        .terms
        .iter()
        .map(|&term| fixed(term, digits))
        .collect();
    let (verdict, grant) = printed(
        found,
        check.mean,
        check.tolerance,
        0.5 * 10f64.powi(-(digits as i32)),
    );
    let shown = fixed(found, digits + 1);
    Decided {
        by: Own::Numbers,
        paper: format!(
            "mean of {} is {}",
            terms.join(", "),
            fixed(check.mean, decimals(check.mean))
        ),
        recomputed: format!("mean {shown}"),
        verdict,
        reasons: vec![format!(
            "the mean of the printed numbers is {shown}, {} from the printed {}; {grant}",
            signed(found - check.mean, digits + 1),
            fixed(check.mean, decimals(check.mean))
        )],
    }
}

/// Whether printed parts of a whole are the printed shares of it, as in [`mean_of`].
pub(crate) fn share_of(check: &ShareOf) -> Decided {
    let digits = most_decimals(&check.parts).max(decimals(check.whole));
    let number = |value: f64| match digits {
        0 if value >= 0.0 => count(value as u64),
        _ => fixed(value, digits),
    };
    let half = 0.5 * 10f64.powi(-(digits as i32));
    // Counts below a thousand, such as layers, are exact; what was measured was rounded.
    let exact = digits == 0 && check.whole < 1000.0;
    let unit = match check.unit.as_str() {
        "" => String::new(),
        unit => format!(" {unit}"),
    };
    let mut verdict = Verdict::Reproduced;
    let (mut recomputed, mut reasons) = (Vec::new(), Vec::new());
    for (&part, &share) in check.parts.iter().zip(&check.printed) {
        let found = part / check.whole;
        let slack = if exact {
            0.0
        } else {
            half / check.whole * (1.0 + found)
        };
        let (of_this, grant) = printed(found, share, check.tolerance, slack);
        verdict = verdict.max(of_this);
        recomputed.push(format!("{} %", fixed(found * 100.0, 2)));
        reasons.push(format!(
            "{} of {}{unit} is {} %; printed: {} %; {grant}",
            number(part),
            number(check.whole),
            fixed(found * 100.0, 2),
            percent(share),
        ));
    }
    let shares: Vec<String> = check
        .printed
        .iter()
        .map(|&share| format!("{} %", percent(share)))
        .collect();
    Decided {
        by: Own::Numbers,
        paper: shares.join(", "),
        recomputed: recomputed.join(", "),
        verdict,
        reasons,
    }
}

/// Holds a recomputed number against a printed one: by the tolerance its words grant, or by rounding, where `slack`
/// is how far rounding of what it was computed from can have moved it. Says which.
fn printed(found: f64, printed: f64, tolerance: Option<f64>, slack: f64) -> (Verdict, String) {
    let off = (found - printed).abs();
    if let Some(tolerance) = tolerance {
        return match within(off, tolerance) {
            true => (
                Verdict::Reproduced,
                "that is near enough for round words".to_owned(),
            ),
            false => (
                Verdict::Contradicted,
                "that is too far even for round words".to_owned(),
            ),
        };
    }
    let half = half_digit(printed);
    let (verdict, words) = if within(off, half) {
        (Verdict::Reproduced, "it rounds to that")
    } else if within(off, half + slack) {
        let words = "it does not round to that, but numbers that round to the printed ones can";
        (Verdict::WithinNoise, words)
    } else {
        (Verdict::Contradicted, "it does not round to that")
    };
    (verdict, words.to_owned())
}

/// A share in percent with the digits it was printed with.
fn percent(share: f64) -> String {
    fixed(share * 100.0, decimals(share).saturating_sub(2))
}

fn most_decimals(values: &[f64]) -> usize {
    values
        .iter()
        .map(|&value| decimals(value))
        .max()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_that_round_to_the_printed_one_and_means_that_do_not() {
        for (terms, mean, tolerance, recomputed, expected) in [
            (
                &[0.66, 0.39, 0.19][..],
                0.4,
                None,
                "mean 0.413",
                Verdict::Reproduced,
            ),
            (
                &[0.29, 0.2, 0.04],
                0.3,
                None,
                "mean 0.177",
                Verdict::Contradicted,
            ),
            // Terms just below 0.125 have a mean that rounds to 0.12; at 0.125 it rounds to 0.13.
            (
                &[0.12, 0.12],
                0.13,
                None,
                "mean 0.120",
                Verdict::WithinNoise,
            ),
            (
                &[37.3, 49.61],
                40.0,
                Some(5.0),
                "mean 43.455",
                Verdict::Reproduced,
            ),
            (
                &[37.3, 49.61],
                40.0,
                Some(2.0),
                "mean 43.455",
                Verdict::Contradicted,
            ),
        ] {
            let terms = terms.to_vec();
            let decided = mean_of(&MeanOf {
                terms,
                mean,
                tolerance,
            });
            assert_eq!(
                (decided.recomputed.as_str(), decided.verdict),
                (recomputed, expected),
                "{:?}",
                decided.reasons
            );
        }
    }

    #[test]
    fn shares_of_layers_and_of_seconds() {
        for (parts, whole, shares, recomputed, expected) in [
            (
                &[1.0, 3.0][..],
                12.0,
                &[0.0833, 0.25][..],
                "8.33 %, 25.00 %",
                Verdict::Reproduced,
            ),
            (
                &[1.0, 4.0],
                12.0,
                &[0.0833, 0.25],
                "8.33 %, 33.33 %",
                Verdict::Contradicted,
            ),
            (&[1737.0], 3263.0, &[0.5323], "53.23 %", Verdict::Reproduced),
            (
                &[1737.0],
                3263.0,
                &[0.5324],
                "53.23 %",
                Verdict::WithinNoise,
            ),
            (
                &[1526.0],
                3263.0,
                &[0.5324],
                "46.77 %",
                Verdict::Contradicted,
            ),
        ] {
            let decided = share_of(&ShareOf {
                parts: parts.to_vec(),
                whole,
                printed: shares.to_vec(),
                tolerance: None,
                unit: "layers".to_owned(),
            });
            assert_eq!(
                (decided.recomputed.as_str(), decided.verdict),
                (recomputed, expected),
                "{:?}",
                decided.reasons
            );
        }
    }
}
