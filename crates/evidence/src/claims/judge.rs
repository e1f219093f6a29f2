//! Judges claims by the runs and by the paper's own numbers.

use std::collections::BTreeSet;

use anyhow::Result;

use super::explain::Explanation;
use super::finding::{DecidedBy, Decision, Evidence, Finding};
use super::gates;
use super::relation::Relation;
use super::terms::Terms;
use super::verdict::Verdict;
use super::{Claim, Claims, ScopeOfClaim};
use crate::compare::Comparison;
use crate::plan::{Plan, Side};
use crate::select::runs::Runs;
use crate::text::{fixed, p_value};

/// A claim with its verdict and the numbers behind it.
#[derive(Debug)]
pub struct Judged<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// The paper's finding.
    pub paper: String,
    /// Our finding.
    pub ours: String,
    /// Cohen's d, where there is a comparison.
    pub effect: String,
    /// The p-value of the relation's test, where there is a comparison; the largest of several.
    pub p: String,
    /// The difference, or the margin, that such a comparison shows with a power of 80 %.
    pub detectable: String,
    /// Scope of the verdict, where there is a comparison.
    pub scope: String,
    /// The verdict by the rule of the claim's relation.
    pub verdict: Verdict,
    /// The part of the paper that decides, if it decides without runs.
    pub own: Option<DecidedBy>,
    /// Comparisons of runs that were tested.
    pub n_tests: usize,
    /// Reasons for the verdict, one sentence each.
    pub reasons: Vec<String>,
}

/// The plan and the runs that claims are compared with.
#[derive(Clone, Copy)]
pub struct ClaimContext<'a> {
    /// Groups and tasks that claims name.
    pub plan: &'a Plan,
    /// The runs of the profile.
    pub runs: &'a Runs,
    /// Profile of the runs.
    pub profile: &'a str,
}

/// Judges every claim; `shown` names their file in errors.
pub fn judge<'a>(
    claims: &'a Claims,
    context: ClaimContext,
    shown: &str,
) -> Result<Vec<Judged<'a>>> {
    let judged = claims.claims.iter().map(|claim| {
        let (paper, finding) = measure(claim, context, &claim.terms(context.plan, shown))?;
        Ok(match finding {
            Finding::Compared(evidence) => compared(claim, paper, evidence),
            Finding::Decision(decision) => decided(claim, paper, decision),
            Finding::Untestable(why) => decided(claim, paper, Decision::untestable(why)),
        })
    });
    judged.collect()
}

/// The paper's finding as text, and ours.
fn measure(claim: &Claim, context: ClaimContext, terms: &Terms) -> Result<(String, Finding)> {
    // A claim that is not measured shows the printed values, or is shown by its title.
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
            "it can only be tested in the profile {}; this page shows {}",
            profiles.join(" or "),
            context.profile
        ));
    }
    let labels = labels(claim, context.runs, terms)?;
    if !labels.is_empty() {
        return unmeasured(labels_text(&labels));
    }
    let caveats = match gates::caveats(claim, context.runs, terms)? {
        Ok(caveats) => caveats,
        Err(why) => return unmeasured(why),
    };
    let mut finding = claim.quantity.measure(terms, context.runs)?;
    finding.add(caveats);
    Ok((claim.quantity.stated(terms)?, finding))
}

/// Labels of the runs of a claim.
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

/// The reason why labelled runs decide nothing.
pub(super) fn labels_text(labels: &BTreeSet<String>) -> String {
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    format!("its runs on this page are labelled: {}", labels.join("; "))
}

fn decided(claim: &Claim, paper: String, decision: Decision) -> Judged<'_> {
    Judged {
        claim,
        paper,
        ours: decision.ours,
        effect: number(decision.effect),
        p: String::new(),
        detectable: String::new(),
        scope: String::new(),
        verdict: decision.verdict,
        own: decision.own,
        n_tests: 0,
        reasons: decision.reasons,
    }
}

/// Decides on comparisons by the claim's relation.
fn compared(claim: &Claim, paper: String, evidence: Evidence) -> Judged<'_> {
    let (labels, found): (Vec<String>, Vec<Comparison>) = evidence.comparisons.into_iter().unzip();
    let largest = |number: &dyn Fn(&Comparison) -> Option<f64>| {
        let numbers = found.iter().map(number).collect::<Option<Vec<f64>>>();
        numbers.map(|numbers| numbers.into_iter().fold(0.0, f64::max))
    };
    let rule = claim.rule(found.first().map_or(1.0, |first| first.n));
    let untested = evidence.untested;
    // What is said of every task is refuted by one of them, whatever the others would show.
    if !untested.is_empty() && !rule.refutes_greater(&found, untested.len()) {
        let notes = untested.into_iter().chain(evidence.notes);
        return decided(
            claim,
            paper,
            Decision::untestable(notes.collect::<Vec<_>>().join("; ")),
        );
    }
    let verdict = match &claim.relation {
        Relation::Near(near) => rule.near(&found, &near.paper),
        Relation::Equivalent => rule.equivalent(&found),
        Relation::NonInferior => rule.non_inferior(&found),
        _ => rule.greater(&found),
    };
    let shown = Explanation {
        relation: &claim.relation,
        rule,
        unit: claim.unit(),
        scale: evidence.scale,
        untested: untested.len(),
    };
    let sentences = shown.sentences(&labels, &found);
    let why = shown.why(verdict, &found);
    // The weakest of several speaks for all.
    let weakest = found.iter().max_by(|a, b| rule.p(a).total_cmp(&rule.p(b)));
    Judged {
        claim,
        paper,
        ours: evidence.ours,
        effect: number(weakest.and_then(|weakest| weakest.effect)),
        p: largest(&|each| shown.p(each)).map_or(String::new(), p_value),
        detectable: largest(&|each| shown.detectable(each))
            .map_or(String::new(), |size| evidence.scale.amount(size)),
        scope: scope(claim),
        verdict,
        own: None,
        n_tests: found.len(),
        reasons: why
            .into_iter()
            .chain(sentences)
            .chain(untested)
            .chain(evidence.notes)
            .collect(),
    }
}

/// Scope of a verdict: `these tasks, by seed`.
fn scope(claim: &Claim) -> String {
    let scope = match claim.scope {
        ScopeOfClaim::TheseTasks => "these tasks",
        ScopeOfClaim::TasksInGeneral => "tasks in general",
    };
    format!("{scope}, by {}", claim.unit().noun())
}

fn number(effect: Option<f64>) -> String {
    effect.map_or(String::new(), |effect| fixed(effect, 2))
}
