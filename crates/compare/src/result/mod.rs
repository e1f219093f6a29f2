//! The result of a comparison: the chosen strategy, its uncertainty, and the scores of the others.

use anyhow::Result;
use serde::Serialize;
use totune_adapt::Dtype;
use totune_data::{Dataset, Pairs};

use crate::scorer::{Estimate, Scorer};
use crate::{DatasetSplits, Outcome, Request};

mod caveats;
mod choice;
mod errors;
pub(crate) mod learning_curve;
mod page;
mod relation;
pub(crate) mod row;
pub(crate) mod sentence;

pub use errors::Errors;
pub use page::page;
pub use row::Row;

use choice::choose;
use row::ScoredRow;
use sentence::{examples_note, sentence};

/// Numbers of training examples, and the dev score after training on each.
pub type LearningCurve = Vec<(usize, f64)>;

/// The result of a comparison.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Comparison {
    /// Name of the dataset.
    pub dataset: String,
    /// Its display name.
    pub title: String,
    /// Path of its card.
    pub card: String,
    /// Hash of its training file, by which a comparison of other data is told from one of the same.
    pub hash: String,
    /// True if committed fixtures were read, so that scores mean nothing.
    pub fixture: bool,
    /// Names of the encoders.
    pub encoders: Vec<String>,
    /// Name of the dtype of all trainings.
    pub dtype: &'static str,
    /// The metric of all scores.
    pub metric: String,
    /// Differences up to this one do not matter.
    pub margin: f64,
    /// The result in a sentence.
    pub sentence: String,
    /// Name of the chosen row; none where nothing could be compared.
    pub chosen: Option<String>,
    /// The score of the choice, corrected where it was chosen on the examples that it is scored on; those of the rows are
    /// not.
    pub score: Option<Estimate>,
    /// Floors, then strategies.
    pub rows: Vec<Row>,
    /// Dev scores of the chosen strategy after training on a part of the data, all of it last.
    pub learning_curve: LearningCurve,
    /// Notes for the reader about the data and its splits.
    pub notes: Vec<String>,
    /// Seconds of the budget.
    pub budget_seconds: f64,
    /// Seconds that the comparison took.
    pub spent_seconds: f64,
    /// True if it was stopped before its end.
    pub stopped: bool,
}

impl Comparison {
    /// The row of the strategy whose model is kept: the choice, or if that is a floor the best strategy by the scores
    /// that the choice is based on.
    pub fn kept(&self) -> Option<&Row> {
        let strategies = self.rows.iter();
        let strategies =
            strategies.filter(|row| row.is_strategy && row.test.is_some() && !row.is_partial);
        let score = |row: &Row| {
            if Some(&row.name) == self.chosen.as_ref() {
                f64::INFINITY
            } else {
                row.deciding().unwrap_or(f64::NEG_INFINITY)
            }
        };
        strategies.max_by(|a, b| score(a).total_cmp(&score(b)))
    }
}

/// The ingredients of a [`Comparison`].
pub(crate) struct ComparisonInput<'a> {
    pub scorer: &'a Scorer,
    /// Floors, then strategies.
    pub rows: Vec<ScoredRow<'a>>,
    /// The test examples.
    pub test: Option<&'a Dataset>,
    pub notes: Vec<String>,
    pub stopped: bool,
}

/// Chooses a row and states the result; `learning_curve` gives that of the strategy of a name.
///
/// # Errors
/// When predictions are of different examples, or the learning curve cannot be computed.
pub(crate) fn conclude(
    data: &DatasetSplits,
    request: &Request,
    mut parts: ComparisonInput,
    learning_curve: &dyn Fn(&str) -> Result<LearningCurve>,
) -> Result<Outcome> {
    let scorer = parts.scorer;
    let chosen = choose(&mut parts.rows, scorer, request.margin)?;
    let rows: Vec<Row> = parts.rows.iter().map(|scored| scored.row.clone()).collect();
    let name = chosen.map(|at| rows[at].name.clone());
    let learning_curve = name.as_deref().map_or(Ok(Vec::new()), learning_curve)?;
    let score = chosen.and_then(|at| rows[at].test);
    let sentence = match (chosen, score) {
        (Some(at), Some(score)) => {
            let score = (scorer.metric.as_str(), score);
            sentence(&rows, at, score, request.margin, parts.stopped)
        }
        _ if parts.stopped => "Interrupted before anything could be compared.".to_string(),
        _ => "Nothing could be compared within the budget.".to_string(),
    };
    let mut notes = parts.notes;
    if parts.stopped {
        notes.push(
            "Interrupted: what had not been trained by then has no score, or that of a shorter training."
                .to_string(),
        );
    }
    if rows.iter().any(|row| row.is_strategy && row.seeds > 0) {
        notes.extend(dtype_note(request.dtype));
    }
    notes.extend(pairs_note(&rows, chosen, request.pairs, parts.test));
    let test = chosen.and_then(|at| {
        let predictions = *parts.rows[at].on_test.first()?;
        Some((parts.test?.clone(), predictions.clone()))
    });
    let clock = request.clock;
    let comparison = Comparison {
        dataset: data.name.clone(),
        title: data.title.clone(),
        card: data.card.display().to_string(),
        hash: data.hash.clone(),
        fixture: data.fixture,
        encoders: request.encoders.clone(),
        dtype: request.dtype.label(),
        metric: scorer.metric.clone(),
        margin: request.margin,
        sentence,
        chosen: name,
        score,
        rows,
        learning_curve,
        notes,
        budget_seconds: clock.budget(),
        spent_seconds: clock.spent(),
        stopped: parts.stopped,
    };
    Ok(Outcome {
        comparison,
        test,
        model: None,
    })
}

impl Outcome {
    /// Adds notes on how many more test examples would decide between the choice and others, once differences are final.
    pub(crate) fn note_examples(&mut self) {
        let n_test = self
            .test
            .as_ref()
            .map_or(0, |(test, _)| test.examples.len());
        let comparison = &mut self.comparison;
        let rows = comparison.rows.iter();
        let notes = rows.filter_map(|row| examples_note(row, n_test));
        comparison.notes.extend(notes);
    }
}

/// A note on bfloat16, where it was used: saved models compute in f32, so their scores differ a little.
fn dtype_note(dtype: Dtype) -> Option<String> {
    (dtype == Dtype::Bf16Mixed).then(|| {
        "The encoder's matrix products have bfloat16 operands (`--dtype f32` has others, and takes longer where the \
         processor multiplies them more slowly); a saved model computes in f32."
            .to_string()
    })
}

/// A note on another encoding of pairs, where that of most strategies is not the one of the choice.
fn pairs_note(
    rows: &[Row],
    chosen: Option<usize>,
    requested: Option<Pairs>,
    test: Option<&Dataset>,
) -> Option<String> {
    let chosen = &rows[chosen?];
    let is_separate = |row: &Row| row.recipe.as_ref().is_some_and(|one| !one.pairs.is_joint());
    let is_pair = test?.is_of_pairs();
    let is_joint = requested.unwrap_or_default().is_joint();
    let was_tried = rows.iter().any(|row| row.is_strategy && row.test.is_some());
    let reads_apart = !chosen.is_strategy || is_separate(chosen);
    (is_pair && is_joint && was_tried && reads_apart).then(|| {
        "Other strategies read both texts of a pair as one input; with `--pairs separate` all of them encode each text by \
         itself."
            .to_string()
    })
}
