//! Checks that keep a claim with runs from being tested, in order: sides that learned nothing, and unfair pairs; and
//! caveats about runs that can decide it.

use std::collections::BTreeSet;

use anyhow::Result;

use super::Claim;
use super::relation::Relation;
use super::terms::Terms;
use crate::compare::LEAST;
use crate::plan::{Side, Where};
use crate::select::dev_size;
use crate::select::runs::{Run, Runs};
use crate::text::counted;

/// Returns caveats about the runs of a claim, or the reason why they cannot decide it.
pub(super) fn caveats(
    claim: &Claim,
    runs: &Runs,
    terms: &Terms,
) -> Result<Result<Vec<String>, String>> {
    // The paper's own numbers and words decide without a run.
    if claim.relation == Relation::Consistent || !claim.quantity.compares_runs() {
        return Ok(Ok(vec![]));
    }
    let mut all: Vec<Vec<&Run>> = vec![vec![]; claim.sides.len()];
    for conditions in claim.quantity.selections(terms)? {
        let sides = claim
            .sides
            .iter()
            .map(|side| random_runs(side, &conditions, runs, terms))
            .collect::<Result<Vec<Vec<&Run>>>>()?;
        for (side, runs) in claim.sides.iter().zip(&sides) {
            let learned = n_learned(runs);
            if learned < LEAST && learned < runs.len() && !claim.about_failure {
                let (title, n) = (terms.title(side)?, runs.len());
                let on =
                    task_of(&conditions, terms).map_or(String::new(), |on| format!("on {on} "));
                return Ok(Err(format!(
                    "a side did not learn: {on}{} of {n} runs of {title} learned nothing",
                    n - learned
                )));
            }
        }
        if let Some(why) = unfair(claim, &sides) {
            return Ok(Err(why));
        }
        for (all, found) in all.iter_mut().zip(sides) {
            all.extend(found);
        }
    }
    let mut caveats = Vec::new();
    for (side, runs) in claim.sides.iter().zip(&all) {
        let unlearned = runs.len() - n_learned(runs);
        if unlearned > 0 {
            let (n, title) = (counted(runs.len(), "run"), terms.title(side)?);
            caveats.push(format!("{unlearned} of {n} of {title} did not learn"));
        }
    }
    let chosen_on = all.iter().flatten().filter_map(|run| run.n_chosen_on());
    caveats.extend(dev_size::caveat(chosen_on));
    Ok(Ok(caveats))
}

/// The title of the task that these conditions select, where a claim is about several.
fn task_of<'t>(conditions: &Where, terms: &'t Terms) -> Option<&'t str> {
    let tasks = terms.tasks().ok().filter(|tasks| tasks.len() > 1)?;
    let of = tasks
        .into_iter()
        .find(|task| task.conditions() == *conditions)?;
    Some(&of.title)
}

fn n_learned(runs: &[&Run]) -> usize {
    runs.iter().filter(|run| run.has_learned()).count()
}

/// The runs of a side that ended well and involve randomness: a floor has nothing to learn and nothing to search.
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

/// The reason why sides do not compare like with like, if any.
fn unfair(claim: &Claim, sides: &[Vec<&Run>]) -> Option<String> {
    let sides: Vec<&Vec<&Run>> = sides.iter().filter(|runs| !runs.is_empty()).collect();
    let models = |runs: &&Vec<&Run>| runs.iter().map(|run| run.n_models()).max().unwrap_or(1);
    let most = sides.iter().map(models).max()?;
    let least = sides.iter().map(models).min()?;
    if most != least {
        return Some(format!(
            "its sides are not equal: an ensemble of {most} trained models against {least}"
        ));
    }
    if claim.about_search {
        return None;
    }
    let trials = sides.iter().map(|runs| trials(runs));
    unequal_trials(&trials.collect::<Vec<_>>())
}

/// The numbers of settings that were tried for runs.
fn trials(runs: &[&Run]) -> BTreeSet<Option<u64>> {
    runs.iter().map(|run| run.n_trials()).collect()
}

/// The reason why sides whose settings were searched with these numbers of trials are not comparable, if any: the best
/// of many settings is better than the best of few.
fn unequal_trials(sides: &[BTreeSet<Option<u64>>]) -> Option<String> {
    let first = sides.first()?;
    let other = sides.iter().find(|side| *side != first)?;
    let shown = |side: &BTreeSet<Option<u64>>| match side.last().copied().flatten() {
        None => "an unknown number of trials".to_owned(),
        Some(0) => "no trial".to_owned(),
        Some(n) => counted(n as usize, "trial"),
    };
    Some(format!(
        "its sides are not equal: the settings of one were chosen by {}, those of another by {}",
        shown(first),
        shown(other)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_equal_where_as_many_settings_were_tried_for_each() {
        let side = |trials: &[Option<u64>]| trials.iter().copied().collect();
        for (sides, expected) in [
            (vec![side(&[Some(0)]), side(&[Some(0)])], None),
            (
                vec![side(&[Some(6)]), side(&[Some(6)]), side(&[Some(6)])],
                None,
            ),
            (vec![side(&[None]), side(&[None])], None),
            (
                vec![side(&[Some(3)]), side(&[Some(2)])],
                Some("chosen by 3 trials, those of another by 2 trials"),
            ),
            (
                vec![side(&[Some(0)]), side(&[Some(1)])],
                Some("chosen by no trial, those of another by 1 trial"),
            ),
            (
                vec![side(&[Some(4)]), side(&[None])],
                Some("chosen by 4 trials, those of another by an unknown number of trials"),
            ),
        ] {
            let found = unequal_trials(&sides);
            match expected {
                None => assert_eq!(found, None, "{sides:?}"),
                Some(end) => assert!(found.is_some_and(|found| found.ends_with(end)), "{sides:?}"),
            }
        }
    }
}
