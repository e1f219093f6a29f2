//! Every claim against the runs and against the paper's own numbers.
//!
//! Two passes: first each claim is measured, then p-values are corrected over all comparisons of the page and each
//! claim gets its verdict.

use std::collections::BTreeSet;

use anyhow::Result;
use totune_stats::holm;

use super::finding::{DecidedBy, Decision, Evidence, Finding};
use super::relation::Relation;
use super::terms::Terms;
use super::verdict::{Tested, Verdict};
use super::{Claim, Claims};
use crate::plan::Side;
use crate::report_file::ReportFile;
use crate::select::runs::Runs;
use crate::text::{Scale, fixed, p_equals, p_value};

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
    pub(crate) own: Option<DecidedBy>,
    /// How the verdict came about, one sentence each.
    pub(crate) reasons: Vec<String>,
}

/// What claims are compared with.
#[derive(Clone, Copy)]
pub(crate) struct ClaimContext<'a> {
    pub(crate) plan: &'a ReportFile,
    pub(crate) runs: &'a Runs,
    /// Profile of the runs.
    pub(crate) profile: &'a str,
}

/// Judges every claim; `shown` names their file in errors.
pub(crate) fn judge<'a>(
    claims: &'a Claims,
    context: ClaimContext,
    shown: &str,
) -> Result<Vec<Judged<'a>>> {
    let found = claims
        .claims
        .iter()
        .map(|claim| measure(claim, context, &claim.terms(context.plan, shown)))
        .collect::<Result<Vec<_>>>()?;
    let raw: Vec<f64> = found
        .iter()
        .flat_map(|(_, finding)| finding.comparisons())
        .map(|comparison| comparison.p)
        .collect();
    let mut corrected = holm(&raw).into_iter();
    let judged = claims
        .claims
        .iter()
        .zip(found)
        .map(|(claim, (paper, finding))| {
            let settled = match finding {
                Finding::Compared(evidence) => {
                    return compared(claim, paper, evidence, &mut corrected);
                }
                Finding::Decision(settled) => settled,
                Finding::Untestable(why) => Decision {
                    ours: String::new(),
                    effect: None,
                    verdict: Verdict::NotTestable,
                    own: None,
                    reasons: vec![why],
                },
            };
            Judged {
                claim,
                paper,
                ours: settled.ours,
                effect: number(settled.effect),
                p: String::new(),
                verdict: settled.verdict,
                own: settled.own,
                reasons: settled.reasons,
            }
        });
    Ok(judged.collect())
}

/// What the paper gives, and what was found.
fn measure(claim: &Claim, context: ClaimContext, terms: &Terms) -> Result<(String, Finding)> {
    // A claim that is not measured shows what is printed, or is shown by its title.
    let unmeasured = |why: String| {
        let paper = match claim.relation {
            Relation::Near(_) => claim.quantity.stated(terms)?,
            _ => claim.title.clone(),
        };
        Ok((paper, Finding::Untestable(why)))
    };
    let profiles = &claim.profiles;
    if !profiles.is_empty() && profiles.iter().all(|profile| profile != context.profile) {
        return unmeasured(format!(
            "it takes the profile {}; this page shows {}",
            profiles.join(" or "),
            context.profile
        ));
    }
    let labels = labels(claim, context.runs, terms)?;
    if !labels.is_empty() {
        return unmeasured(labels_text(&labels));
    }
    Ok((
        claim.quantity.stated(terms)?,
        claim.quantity.measure(terms, context.runs)?,
    ))
}

/// What the runs of a claim must not be taken for.
fn labels(claim: &Claim, runs: &Runs, terms: &Terms) -> Result<BTreeSet<String>> {
    let mut labels = BTreeSet::new();
    // Without labelled runs there is nothing to look for, and claims that no run of a profile can meet stay as
    // they are.
    if runs.all().iter().all(|run| run.labels().is_empty()) {
        return Ok(labels);
    }
    let narrowed = claim.quantity.selections(terms)?;
    for name in claim.sides.iter().flat_map(Side::names) {
        for further in &narrowed {
            let conditions = terms.plan.group(name, &terms.from)?.narrowed([further]);
            for run in runs.select(&conditions, &terms.from)?.runs {
                labels.extend(run.labels().iter().cloned());
            }
        }
    }
    Ok(labels)
}

/// Why labelled runs decide nothing.
pub(super) fn labels_text(labels: &BTreeSet<String>) -> String {
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    format!("its runs on this page are labelled: {}", labels.join("; "))
}

/// Decides on comparisons, which take the next corrected p-values.
fn compared<'a>(
    claim: &'a Claim,
    paper: String,
    evidence: Evidence,
    corrected: &mut impl Iterator<Item = f64>,
) -> Judged<'a> {
    let (labels, tested): (Vec<String>, Vec<Tested>) = evidence
        .comparisons
        .into_iter()
        .zip(corrected)
        .map(|((label, comparison), corrected)| {
            let tested = Tested {
                comparison,
                corrected,
            };
            (label, tested)
        })
        .unzip();
    let sentences = labels
        .iter()
        .zip(&tested)
        .map(|(label, tested)| sentence(label, tested, evidence.scale));
    // For an order, every neighbour has to hold, so the weakest speaks for all.
    let weakest = tested
        .iter()
        .max_by(|a, b| a.corrected.total_cmp(&b.corrected));
    Judged {
        claim,
        paper,
        ours: evidence.ours,
        effect: number(weakest.and_then(|tested| tested.comparison.effect)),
        p: weakest.map_or(String::new(), |tested| p_value(tested.corrected)),
        verdict: claim.relation.verdict(&tested),
        own: None,
        reasons: sentences.chain(evidence.notes).collect(),
    }
}

fn number(effect: Option<f64>) -> String {
    effect.map_or(String::new(), |effect| fixed(effect, 2))
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
