//! Joint predictions for the same examples, and their scores.

use std::collections::HashMap;

use anyhow::{Result, bail, ensure};
use totune_record::PredictionRow;
use totune_stats::{CLASSIFICATION_EXTRAS, Vote, classification_scores_with, predict_together};

use crate::plan::{Measure, Rule, TEST};
use crate::select::runs::{Run, Runs};

/// Tolerance between a recomputed score and the stored one.
const ROUNDING: f64 = 1e-9;

/// Scores of the joint predictions of `team` by name.
///
/// A metric counts where it reproduces each member's stored score from the member's stored predictions; `accuracy` has
/// to. Those of a positive class are not among them, since rows do not say which class that is.
pub(super) fn joint_scores(
    team: &[&Run],
    runs: &Runs,
    rule: &Rule,
    weights: Option<&[f64]>,
) -> Result<Vec<(String, f64)>> {
    let answered: Vec<_> = team.iter().map(|run| runs.answered(run)).collect();
    let rows: Vec<&[PredictionRow]> = answered.iter().map(|rows| &**rows).collect();
    for (run, rows) in team.iter().zip(&rows) {
        check(run, rows)?;
    }
    for (run, other) in team.iter().zip(&rows).skip(1) {
        same_examples((team[0], rows[0]), (run, other))?;
    }
    let classes = Classes::of(&rows)?;
    let gold = classes.indices(rows[0].iter().map(|row| &row.gold))?;
    let scores = |predicted: &[usize]| {
        classification_scores_with(&gold, predicted, classes.n, None, CLASSIFICATION_EXTRAS)
    };
    let vote = match (rule, weights) {
        (Rule::Majority, _) => Vote::Majority,
        (_, Some(weights)) => Vote::Weighted(weights),
        (_, None) => Vote::Mean,
    };
    let predicted = (0..gold.len()).map(|at| {
        let each: Vec<&[f32]> = rows.iter().map(|rows| &*rows[at].scores).collect();
        predict_together(&each, vote)
    });
    let mut found = scores(&predicted.collect::<Vec<_>>());
    for (run, rows) in team.iter().zip(&rows) {
        let alone = scores(&classes.indices(rows.iter().map(|row| &row.predicted))?);
        for (metric, value) in alone {
            let stored = run.number(&Measure::score(metric, TEST));
            let agrees = stored.is_some_and(|stored| (stored - value).abs() < ROUNDING);
            if !agrees && metric == "accuracy" {
                bail!(
                    "run `{}`: its predictions have accuracy {value}, expected {}, which evals.parquet has",
                    run.row.run_id,
                    stored.map_or("a score".to_owned(), |stored| stored.to_string())
                );
            }
            found.retain(|(name, _)| agrees || *name != metric);
        }
    }
    let named = |(name, value): (&str, f64)| (name.to_owned(), value);
    Ok(found.into_iter().map(named).collect())
}

/// Checks that `rows` are those of a classifier.
fn check(run: &Run, rows: &[PredictionRow]) -> Result<()> {
    let id = &run.row.run_id;
    ensure!(
        !rows.is_empty(),
        "run `{id}` has no predictions of `{}`",
        TEST
    );
    let classes = rows[0].scores.len();
    for row in rows {
        ensure!(
            row.position == 0 && classes > 1 && row.scores.len() == classes,
            "run `{id}`, example `{}`: found {} scores at position {}, expected those of {} classes at 0: only classifiers of whole examples vote",
            row.example_id,
            row.scores.len(),
            row.position,
            classes.max(2)
        );
    }
    Ok(())
}

/// Checks that both have the same examples with the same gold labels; rows are in order of examples.
fn same_examples(
    (one, rows): (&Run, &[PredictionRow]),
    (other, others): (&Run, &[PredictionRow]),
) -> Result<()> {
    let (one, other) = (&one.row.run_id, &other.row.run_id);
    let at = (0..rows.len().max(others.len())).find(|&at| {
        rows.get(at).map(|row| &row.example_id) != others.get(at).map(|row| &row.example_id)
    });
    if let Some(at) = at {
        let id = |rows: &[PredictionRow]| rows.get(at).map(|row| row.example_id.clone());
        // The lower id is the one that the other list skips.
        let (lacking, id) = match (id(rows), id(others)) {
            (Some(of_one), Some(of_other)) if of_other < of_one => (one, of_other),
            (None, Some(of_other)) => (one, of_other),
            (of_one, _) => (other, of_one.unwrap_or_default()),
        };
        bail!(
            "runs `{one}` and `{other}` did not answer the same examples: `{lacking}` lacks `{id}`"
        );
    }
    for (row, found) in rows.iter().zip(others) {
        ensure!(
            row.gold == found.gold,
            "example `{}`: found the label `{}` in run `{one}` and `{}` in run `{other}`, expected the same",
            row.example_id,
            row.gold,
            found.gold
        );
        ensure!(
            row.scores.len() == found.scores.len(),
            "example `{}`: found {} scores in run `{one}` and {} in run `{other}`, expected as many",
            row.example_id,
            row.scores.len(),
            found.scores.len()
        );
    }
    Ok(())
}

/// The labels of the classes in the order of the scores.
struct Classes {
    n: usize,
    by_label: HashMap<String, usize>,
}

impl Classes {
    /// Finds the order from the rows: each names the predicted class, whose score is the highest.
    ///
    /// A class that no member ever predicts is the one label that is left, if one is.
    fn of(rows: &[&[PredictionRow]]) -> Result<Self> {
        let n = rows[0][0].scores.len();
        let mut by_label: HashMap<String, usize> = HashMap::new();
        for row in rows.iter().copied().flatten() {
            let highest = row.scores.iter().copied().fold(f32::MIN, f32::max);
            let mut at = (0..n).filter(|&class| row.scores[class] == highest);
            let (Some(class), None) = (at.next(), at.next()) else {
                continue;
            };
            let known = by_label.entry(row.predicted.clone()).or_insert(class);
            ensure!(
                *known == class,
                "run `{}`, example `{}`: the predicted label `{}` has the highest score as class {} and as class {class}, expected one order of classes",
                row.run_id,
                row.example_id,
                row.predicted,
                *known
            );
        }
        let free: Vec<usize> = (0..n)
            .filter(|class| by_label.values().all(|known| known != class))
            .collect();
        let mut rest: Vec<&String> = rows[0].iter().map(|row| &row.gold).collect();
        rest.sort();
        rest.dedup();
        rest.retain(|label| !by_label.contains_key(*label));
        match (free.as_slice(), rest.as_slice()) {
            (_, []) => {}
            ([class], [label]) => {
                by_label.insert((*label).clone(), *class);
            }
            _ => bail!(
                "no member predicts the labels {rest:?}, so their places among the scores are unknown"
            ),
        }
        Ok(Self { n, by_label })
    }

    fn indices<'r>(&self, labels: impl Iterator<Item = &'r String>) -> Result<Vec<usize>> {
        let of = |label: &String| match self.by_label.get(label) {
            Some(class) => Ok(*class),
            None => bail!("found the label `{label}`, expected one that a member predicts"),
        };
        labels.map(of).collect()
    }
}
