//! Every claim against the runs and against the paper's own numbers.
//!
//! Two passes: first each claim is measured ([`crate::measure`]), then p-values are corrected over all
//! comparisons of the page and each claim gets its verdict ([`crate::verdict`]).

use anyhow::Result;
use totune_stats::holm;

use crate::claims::{Claim, Claims};
use crate::measure::{Court, Measured};
use crate::own::Own;
use crate::text::{Scale, fixed, p_equals, p_value};
use crate::verdict::{Tested, Verdict};

/// A claim with what was found.
#[derive(Debug)]
pub(crate) struct Judged<'a> {
    pub(crate) claim: &'a Claim,
    /// What the paper gives.
    pub(crate) paper: String,
    /// What we found.
    pub(crate) ours: String,
    /// Cohen's d, where there is a comparison.
    pub(crate) effect: String,
    /// The corrected p-value, where there is a comparison.
    pub(crate) p: String,
    pub(crate) verdict: Verdict,
    /// Whether the paper itself decides, and by what, without any run.
    pub(crate) own: Option<Own>,
    /// How the verdict came about, one sentence each.
    pub(crate) reasons: Vec<String>,
}

/// Judges every claim.
pub(crate) fn judge<'a>(claims: &'a Claims, court: &Court, shown: &str) -> Result<Vec<Judged<'a>>> {
    let measured = claims
        .claims
        .iter()
        .map(|claim| court.measure(claim, &format!("{shown}: claim `{}`", claim.id)))
        .collect::<Result<Vec<_>>>()?;
    let raw: Vec<f64> = measured
        .iter()
        .flat_map(Measured::comparisons)
        .map(|comparison| comparison.p)
        .collect();
    let mut corrected = holm(&raw).into_iter();
    let judged = claims.claims.iter().zip(measured).map(|(claim, measured)| {
        let tested = measured.comparisons().iter().map(|comparison| Tested {
            comparison: comparison.clone(),
            corrected: corrected
                .next()
                .expect("one corrected p-value per comparison"),
        });
        let tested = tested.collect();
        conclude(claim, measured, tested)
    });
    Ok(judged.collect())
}

/// Gives a measured claim its verdict.
fn conclude(claim: &Claim, measured: Measured, tested: Vec<Tested>) -> Judged<'_> {
    let evidence = match measured {
        Measured::Compared(evidence) => evidence,
        Measured::Settled(settled) => {
            return Judged {
                claim,
                paper: settled.paper,
                ours: settled.ours,
                effect: settled
                    .effect
                    .map_or(String::new(), |effect| fixed(effect, 2)),
                p: String::new(),
                verdict: settled.verdict,
                own: settled.own,
                reasons: settled.reasons,
            };
        }
    };
    let verdict = evidence.rule.verdict(&tested);
    let sentences = evidence
        .labels
        .iter()
        .zip(&tested)
        .map(|(label, tested)| sentence(label, tested, evidence.scale));
    let reasons = sentences.chain(evidence.notes).collect();
    // For an order, every neighbour has to hold, so the weakest speaks for all.
    let weakest = tested
        .iter()
        .max_by(|a, b| a.corrected.total_cmp(&b.corrected));
    Judged {
        claim,
        paper: evidence.paper,
        ours: evidence.ours,
        effect: weakest
            .and_then(|tested| tested.comparison.effect)
            .map_or(String::new(), |effect| fixed(effect, 2)),
        p: weakest.map_or(String::new(), |tested| p_value(tested.corrected)),
        verdict,
        own: None,
        reasons,
    }
}

fn sentence(
    label: &str,
    Tested {
        comparison,
        corrected,
    }: &Tested,
    scale: Scale,
) -> String {
    let beside = comparison
        .beside
        .as_ref()
        .map_or(String::new(), |beside| format!("; {beside}"));
    format!(
        "{label}: {}; {}, {}, corrected {}{beside}",
        comparison.difference_in(scale),
        comparison.test,
        p_equals(comparison.p),
        p_equals(*corrected),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::runs::Runs;

    #[test]
    fn fixture_runs_decide_each_kind_of_claim() {
        // The made-up scores are chosen so that each verdict occurs; see `fixture`.
        check(
            "order",
            "groups = [\"full\", \"frozen\"]",
            Verdict::Reproduced,
        );
        check(
            "order",
            "groups = [\"frozen\", \"full\"]",
            Verdict::Contradicted,
        );
        check(
            "order",
            "groups = [\"full\", \"last-two\", \"frozen\"]",
            Verdict::DirectionOnly,
        );
        check(
            "no-difference",
            "a = \"full\"\nb = \"last-two\"",
            Verdict::Reproduced,
        );
        check(
            "no-difference",
            "a = \"full\"\nb = \"frozen\"",
            Verdict::Contradicted,
        );
        check(
            "difference",
            "a = \"full\"\nb = \"frozen\"\npaper = 0.05\ntolerance = 0.01",
            Verdict::Reproduced,
        );
        check(
            "difference",
            "a = \"full\"\nb = \"frozen\"\npaper = 0.2\ntolerance = 0.01",
            Verdict::DirectionOnly,
        );
        check(
            "value",
            "group = \"frozen\"\ntolerance = 0.01",
            Verdict::Reproduced,
        );
        check(
            "value",
            "group = \"frozen\"\npaper = 0.5\ntolerance = 0.01",
            Verdict::Contradicted,
        );
        check(
            "spread",
            "a = \"full\"\nb = \"frozen\"",
            Verdict::Reproduced,
        );
        check(
            "spread",
            "a = \"frozen\"\nb = \"full\"",
            Verdict::Contradicted,
        );
        check(
            "no-difference",
            "a = \"full\"\nb = \"absent\"",
            Verdict::NotTestable,
        );
    }

    #[test]
    fn a_claim_about_another_profile_waits_for_it() {
        let text = claim("x", "value", "group = \"frozen\"\ntolerance = 0.01").replace(
            "by = \"authors\"",
            "by = \"authors\"\nprofiles = [\"small\"]",
        );
        let (verdict, reasons) = judged(&text, |judged| (judged.verdict, judged.reasons.clone()));
        assert_eq!(verdict, Verdict::NotTestable);
        assert_eq!(
            reasons,
            ["it takes the profile small; this page shows fixture"]
        );
    }

    #[test]
    fn one_claim_more_makes_every_other_harder() {
        let rest = "a = \"full\"\nb = \"last-two\"";
        let one = claim("x", "no-difference", rest);
        let two = format!("{one}{}", claim("y", "no-difference", rest));
        let p = |text: &str| judged(text, |judged| judged.p.parse::<f64>().unwrap());
        assert!(p(&two) > p(&one), "{} against {}", p(&two), p(&one));
    }

    #[track_caller]
    fn check(kind: &str, rest: &str, expected: Verdict) {
        let (verdict, shown) = judged(&claim("x", kind, rest), |judged| {
            (judged.verdict, format!("{judged:?}"))
        });
        assert_eq!(verdict, expected, "{shown}");
    }

    fn claim(id: &str, kind: &str, rest: &str) -> String {
        format!(
            "[[claim]]\nid = \"{id}\"\ntitle = \"\"\nsays = \"\"\nsource = \"\"\nby = \"authors\"\n[claim.check]\n\
             kind = \"{kind}\"\nmetric = \"accuracy\"\nsplit = \"test\"\n{rest}\n"
        )
    }

    /// What `look` sees of the first claim of `text`, judged on the fixture's runs.
    fn judged<T>(text: &str, look: impl FnOnce(&Judged) -> T) -> T {
        let claims: Claims = toml::from_str(text).unwrap();
        let plan = fixture::plan();
        claims.check(&plan, "claims.toml").unwrap();
        let runs = Runs::new(&fixture::tables()).unwrap();
        let court = Court {
            plan: &plan,
            runs: &runs,
            profile: "fixture",
        };
        look(&judge(&claims, &court, "claims.toml").unwrap()[0])
    }
}
