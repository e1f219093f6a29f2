//! What keeps a claim from being tested although it has runs, in order: sides that learned nothing, and pairs that are not
//! fair.

use anyhow::Result;

use super::Claim;
use super::relation::Relation;
use super::terms::Terms;
use crate::compare::LEAST;
use crate::plan::{Side, Where};
use crate::select::runs::{Run, Runs};

/// Why the runs of a claim cannot decide it, if so.
pub(super) fn obstacle(claim: &Claim, runs: &Runs, terms: &Terms) -> Result<Option<String>> {
    // The paper's own numbers and words decide without a run.
    if claim.relation == Relation::Consistent || !claim.quantity.compares_runs() {
        return Ok(None);
    }
    for conditions in claim.quantity.selections(terms)? {
        let sides = claim
            .sides
            .iter()
            .map(|side| random_runs(side, &conditions, runs, terms))
            .collect::<Result<Vec<Vec<&Run>>>>()?;
        for (side, runs) in claim.sides.iter().zip(&sides) {
            let learned = runs.iter().filter(|run| run.has_learned()).count();
            if learned < LEAST && learned < runs.len() && !claim.about_failure {
                let (title, n) = (terms.title(side)?, runs.len());
                return Ok(Some(format!(
                    "a side did not learn: {learned} of {n} runs of {title} did"
                )));
            }
        }
        if let Some(why) = unfair(&sides) {
            return Ok(Some(why));
        }
    }
    Ok(None)
}

/// The runs of a side that ended well and draw something at random: a floor has nothing to learn and nothing to search.
fn random_runs<'r>(
    side: &Side,
    conditions: &Where,
    runs: &'r Runs,
    terms: &Terms,
) -> Result<Vec<&'r Run>> {
    let mut found = Vec::new();
    for name in side.names() {
        let all = terms.plan.group(name, &terms.from)?.narrowed([conditions]);
        found.extend(runs.select(&all, &terms.from)?.runs);
    }
    found.retain(|run| run.row.status == "ok" && !run.is_seedless());
    Ok(found)
}

/// Why sides do not compare like with like, if so.
fn unfair(sides: &[Vec<&Run>]) -> Option<String> {
    let sides: Vec<&Vec<&Run>> = sides.iter().filter(|runs| !runs.is_empty()).collect();
    let models = |runs: &&Vec<&Run>| runs.iter().map(|run| run.n_models()).max().unwrap_or(1);
    let most = sides.iter().map(models).max()?;
    let least = sides.iter().map(models).min()?;
    if most != least {
        return Some(format!(
            "its sides are not equal: {most} trained models together against {least}"
        ));
    }
    let searched = |runs: &&&Vec<&Run>| runs.iter().any(|run| run.is_searched());
    let n = sides.iter().filter(searched).count();
    (n > 0 && n < sides.len()).then(|| {
        "its sides are not equal: the settings of one were searched, those of another not"
            .to_owned()
    })
}
