//! Claims that the paper's own numbers or words decide, without any run.

mod cells;
mod rounding;

use totune_stats::{f1_upper_bound, minimal_detectable_difference, t_two_sided_p};

pub(crate) use self::cells::{cells, printed_differences};
pub(crate) use self::rounding::{mean_of, share_of};
use crate::claims::{Arithmetic, F1Bound, PValue, Power, Reading, Second, Statement};
use crate::compare::{ALPHA, POWER};
use crate::text::{count, decimals, fixed, signed};
use crate::verdict::{Verdict, within};

/// What of the paper's own decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Own {
    /// Its numbers, by arithmetic.
    Numbers,
    /// Its words, by reading.
    Words,
    /// Its words beside someone else's, by reading.
    Beside,
}

impl Own {
    /// After a verdict.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Numbers => "by the paper's own numbers",
            Self::Words => "by the paper's own words",
            Self::Beside => "beside another source",
        }
    }
}

/// A verdict from arithmetic or reading.
#[derive(Debug)]
pub(crate) struct Decided {
    pub(crate) by: Own,
    pub(crate) paper: String,
    pub(crate) recomputed: String,
    pub(crate) verdict: Verdict,
    pub(crate) reasons: Vec<String>,
}

/// Whether printed terms add up, and if not, what each would have to be.
pub(crate) fn arithmetic(check: &Arithmetic) -> Decided {
    let digits = check
        .terms
        .iter()
        .chain([&check.total])
        .map(|&term| decimals(term))
        .max()
        .unwrap_or(0);
    let shown = |value: f64| {
        if digits == 0 && value >= 0.0 {
            count(value as u64)
        } else {
            fixed(value, digits)
        }
    };
    let sum: f64 = check.terms.iter().sum();
    let terms: Vec<String> = check.terms.iter().map(|&term| shown(term)).collect();
    let half = 0.5 * 10f64.powi(-(digits as i32));
    let holds = (sum - check.total).abs() < half;
    let mut reasons = Vec::new();
    if !holds {
        for (at, &term) in check.terms.iter().enumerate() {
            let needed = check.total - (sum - term);
            let share = check.shares.get(at).map_or(String::new(), |&share| {
                let found = needed / check.total;
                let fits = (found - share).abs() < 0.5 * 10f64.powi(-(decimals(share) as i32));
                let verb = if fits { "fits" } else { "does not fit" };
                let digits = decimals(share).saturating_sub(2);
                format!(
                    ", which is {} % and {verb} the printed {} %",
                    fixed(found * 100.0, digits + 1),
                    fixed(share * 100.0, digits)
                )
            });
            reasons.push(format!(
                "the total would hold with {} in place of {}{share}",
                shown(needed),
                shown(term)
            ));
        }
    }
    Decided {
        by: Own::Numbers,
        paper: format!("{} = {}", terms.join(" + "), shown(check.total)),
        recomputed: format!("{} = {}", terms.join(" + "), shown(sum)),
        verdict: if holds {
            Verdict::Reproduced
        } else {
            Verdict::Contradicted
        },
        reasons,
    }
}

/// Whether an F1 of a class is possible at an accuracy: at most 2π / (2π + 1 - a) for a share π of the class.
pub(crate) fn f1_bound(check: &F1Bound, accuracy: f64, f1: f64) -> Decided {
    let prevalence = check.positives / check.total;
    let bound = f1_upper_bound(prevalence, accuracy);
    // The printed numbers are rounded: grant both their half digit.
    let generous =
        f1_upper_bound(prevalence, accuracy + half_digit(accuracy)) + check.slack + half_digit(f1);
    let possible = f1 <= generous;
    // f1 = 2π / (2π + 1 - a) solved for π.
    let needed = f1 * (1.0 - accuracy) / (2.0 * (1.0 - f1));
    let other = f1_upper_bound(1.0 - prevalence, accuracy);
    let mut reasons = vec![format!(
        "at a share of {} of the class ({} of {}) and accuracy {}, F1 of the class is at most {}; the printed {} is {} it",
        fixed(prevalence, 3),
        count(check.positives as u64),
        count(check.total as u64),
        fixed(accuracy, 3),
        fixed(bound, 3),
        fixed(f1, 3),
        if f1 > bound { "above" } else { "not above" }
    )];
    if !possible {
        let verb = if f1 <= other {
            "would be possible"
        } else {
            "would be impossible too"
        };
        reasons.push(format!(
            "for the other class (share {}, at most {}) it {verb}",
            fixed(1.0 - prevalence, 3),
            fixed(other, 3)
        ));
        reasons.push(format!(
            "it takes a class with a share of at least {}",
            fixed(needed, 3)
        ));
    }
    Decided {
        by: Own::Numbers,
        paper: format!("F1 {} at accuracy {}", fixed(f1, 3), fixed(accuracy, 3)),
        recomputed: format!("F1 at most {}", fixed(bound, 3)),
        verdict: if possible {
            Verdict::Reproduced
        } else {
            Verdict::Contradicted
        },
        reasons,
    }
}

/// Whether a printed p-value follows from t and the degrees of freedom: as printed, or only for some t that
/// rounds to the printed one.
pub(crate) fn p_value(check: &PValue) -> Decided {
    let p = t_two_sided_p(check.t, check.df);
    let digits = decimals(check.p);
    let half = half_digit(check.p);
    let t = check.t.abs();
    let (least, most) = (
        t_two_sided_p(t + half_digit(t), check.df),
        t_two_sided_p(t - half_digit(t), check.df),
    );
    let verdict = if within(p - check.p, half) {
        Verdict::Reproduced
    } else if least <= check.p + half && check.p - half <= most {
        Verdict::WithinNoise
    } else {
        Verdict::Contradicted
    };
    let mut reasons = vec![format!(
        "two-sided p of t = {}, df = {} is {}",
        check.t,
        check.df,
        fixed(p, digits + 1)
    )];
    if verdict == Verdict::WithinNoise {
        reasons.push(format!(
            "not the printed {}, which only a t at the edge of what rounds to {} would give (p from {} to {})",
            check.p,
            check.t,
            fixed(least, digits + 2),
            fixed(most, digits + 2)
        ));
    }
    Decided {
        by: Own::Numbers,
        paper: format!("p = {}", check.p),
        recomputed: format!("p = {}", fixed(p, digits + 1)),
        verdict,
        reasons,
    }
}

/// Whether a printed test could have seen a difference as large as the one it reports.
pub(crate) fn power(check: &Power, difference: f64) -> Decided {
    // t = difference / standard error; equal spreads with n runs a side would give that standard error.
    let error = (difference / check.t).abs();
    let sd = error * (check.n as f64 / 2.0).sqrt();
    let detectable = minimal_detectable_difference(sd, check.n, sd, check.n, ALPHA, POWER);
    let seen = difference.abs() >= detectable;
    let reasons = vec![
        format!(
            "the printed means differ by {}, and t = {} makes the standard error {}",
            signed(difference, 3),
            check.t,
            fixed(error, 4)
        ),
        format!(
            "with {} runs a side and equal spreads, a true difference has to be {} to be found in {} % of such comparisons",
            check.n,
            fixed(detectable, 3),
            fixed(POWER * 100.0, 0)
        ),
    ];
    Decided {
        by: Own::Numbers,
        paper: format!("{} ({} runs a side)", signed(difference, 3), check.n),
        recomputed: format!("detectable: {}", fixed(detectable, 3)),
        verdict: if seen {
            Verdict::Reproduced
        } else {
            Verdict::NotTestable
        },
        reasons,
    }
}

/// What two quotations say side by side, as a reader decided.
pub(crate) fn statement(check: &Statement) -> Decided {
    let quotes = check
        .quotes
        .iter()
        .map(|quote| format!("\u{201C}{}\u{201D} ({})", quote.text, quote.source));
    Decided {
        by: match check.second {
            Second::Paper => Own::Words,
            Second::Elsewhere => Own::Beside,
        },
        paper: check.quotes[0].text.clone(),
        recomputed: check.quotes[1].text.clone(),
        verdict: match check.verdict {
            Reading::Agree => Verdict::Reproduced,
            Reading::Contradict => Verdict::Contradicted,
        },
        reasons: quotes
            .chain([check.reason.clone(), "decided by reading".to_owned()])
            .collect(),
    }
}

/// Half of the last digit a number was printed with.
fn half_digit(value: f64) -> f64 {
    0.5 * 10f64.powi(-(decimals(value) as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_that_hold_and_one_that_does_not() {
        let sum = |terms: &[f64], total: f64| Arithmetic {
            terms: terms.to_vec(),
            total,
            shares: vec![0.57, 0.43],
        };
        assert_eq!(
            arithmetic(&sum(&[4342.0, 3271.0], 7613.0)).verdict,
            Verdict::Reproduced
        );
        let wrong = arithmetic(&sum(&[4242.0, 3271.0], 7613.0));
        assert_eq!(wrong.verdict, Verdict::Contradicted);
        assert_eq!(wrong.recomputed, "4,242 + 3,271 = 7,513");
        assert_eq!(
            wrong.reasons[0],
            "the total would hold with 4,342 in place of 4,242, which is 57.0 % and fits the printed 57 %"
        );
        assert!(
            wrong.reasons[1].contains("does not fit the printed 43 %"),
            "{}",
            wrong.reasons[1]
        );
    }

    #[test]
    fn scores_above_their_bound_are_impossible() {
        // facts.md D2: bounds .830, .837, .836 at accuracies .824, .833, .831; .742 at .795 is possible.
        for (accuracy, f1, bound, expected) in [
            (0.824, 0.872, "F1 at most 0.830", Verdict::Contradicted),
            (0.833, 0.863, "F1 at most 0.837", Verdict::Contradicted),
            (0.831, 0.850, "F1 at most 0.836", Verdict::Contradicted),
            (0.795, 0.742, "F1 at most 0.807", Verdict::Reproduced),
        ] {
            let check = F1Bound {
                group: String::new(),
                accuracy: String::new(),
                f1: String::new(),
                split: String::new(),
                positives: 3271.0,
                total: 7613.0,
                slack: 0.002,
            };
            let decided = f1_bound(&check, accuracy, f1);
            assert_eq!(
                (decided.recomputed.as_str(), decided.verdict),
                (bound, expected)
            );
        }
    }

    #[test]
    fn p_values_from_t_and_df() {
        for (t, df, p, recomputed, expected) in [
            (-0.91, 13.0, 0.38, "p = 0.379", Verdict::Reproduced),
            (-1.5, 16.0, 0.14, "p = 0.153", Verdict::WithinNoise),
            (-1.5, 16.0, 0.05, "p = 0.153", Verdict::Contradicted),
        ] {
            let decided = p_value(&PValue { t, df, p });
            assert_eq!(
                (decided.recomputed.as_str(), decided.verdict),
                (recomputed, expected),
                "t = {t}"
            );
        }
    }

    #[test]
    fn ten_noisy_runs_cannot_see_a_small_difference() {
        let check = Power {
            metric: String::new(),
            split: String::new(),
            a: String::new(),
            b: String::new(),
            t: -0.91,
            n: 10,
        };
        let decided = power(&check, 0.009);
        // Standard error 0.0099; about (2.1 + 0.86) of these for 80 % power at 5 %.
        assert_eq!(decided.verdict, Verdict::NotTestable);
        assert!(
            decided.recomputed.starts_with("detectable: 0.029"),
            "{}",
            decided.recomputed
        );
    }
}
