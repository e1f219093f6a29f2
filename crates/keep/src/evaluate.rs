//! Scores of a saved model on the labelled rows of a file.

use std::ops::ControlFlow;

use anyhow::{Error, Result, bail, ensure};
use totune_adapt::{Found, Interrupted};
use totune_data::Target as Gold;
use totune_stats::{PrecisionRecallF1, brier_score, expected_calibration_error, for_labels};

use crate::gold::{has_label, target};
use crate::input::Source;
use crate::row_count::RowCount;
use crate::stream::{Ended, predicted, windows};
use crate::{SavedModel, TaskFacts};

/// Bins of the expected calibration error, as many as Guo et al. (2017) use.
const CALIBRATION_BINS: usize = 15;

/// Scores of a model on the rows of a file.
#[derive(Debug, Clone)]
pub struct Evaluated {
    /// Number of scored rows.
    pub rows: usize,
    /// Number of rows without a label, which are left out.
    pub unlabelled: usize,
    /// Every metric by its name in result rows; those of the dataset's card first, and calibration last.
    pub metrics: Vec<(String, f64)>,
    /// Precision, recall and F1 of each label where a row may have several, in their order.
    pub of_labels: Vec<PrecisionRecallF1>,
    /// Confusion matrix of a classification: number of rows with each gold label (the outer list) by predicted label.
    pub confusion: Vec<Vec<usize>>,
    /// Rows without a text, which are scored as well.
    pub empty: RowCount,
    /// Rows with at least as many tokens as the model reads.
    pub full: RowCount,
}

/// Scores the model on the labelled rows of `source`.
///
/// # Errors
/// When a row cannot be read, its label is none of the model's, or there is no row; [`Interrupted`] when `progress` ended
/// it.
pub fn evaluate(
    model: &SavedModel,
    source: &mut Source,
    progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<Evaluated> {
    let (mut gold, mut found, mut probabilities) = (Vec::new(), Vec::new(), Vec::new());
    let mut full = RowCount::default();
    let mut unlabelled = 0;
    let ended = windows(source, &mut |source, rows, records| {
        let mut labelled = Vec::with_capacity(records.len());
        for record in records {
            if has_label(&model.manifest.task, source, &record)? {
                labelled.push(record);
            } else {
                unlabelled += 1;
            }
        }
        if labelled.is_empty() {
            return Ok(progress(rows).map_break(|()| Ended::Behind));
        }
        let Some(predicted) = predicted(model, source, labelled)? else {
            return Ok(ControlFlow::Break(Ended::Before));
        };
        full.add_full(&predicted);
        for (record, prediction) in predicted {
            let target = target(&model.manifest.task, source, &record)?;
            if let Some((tags, words)) = other_lengths(&target, &prediction.predicted) {
                let why = format!("{tags} tags for {words} words, expected one for each");
                bail!(source.fields().at(&record, &why));
            }
            gold.push(target);
            found.push(prediction.predicted);
            probabilities.push(prediction.scores);
        }
        Ok(progress(rows).map_break(|()| Ended::Behind))
    })?;
    if !ended.complete {
        return Err(
            Error::new(Interrupted).context(format!("interrupted after {} rows", ended.rows))
        );
    }
    ensure!(
        ended.rows > 0,
        "{}: found no rows to score, expected at least one",
        source.fields().shown
    );
    ensure!(
        !gold.is_empty(),
        "{}: found {} rows and none with a label, expected at least one",
        source.fields().shown,
        ended.rows
    );
    let targets: Vec<&Gold> = gold.iter().collect();
    let asked = &model.manifest.metrics;
    let objective = model.manifest.objective();
    let predictions = Found {
        predicted: &found,
        scores: &probabilities,
    };
    let mut metrics = objective.metrics(&targets, predictions, asked);
    // Stable, so that metrics that the card does not name keep their order.
    metrics.sort_by_key(|(name, _)| {
        asked
            .iter()
            .position(|asked| asked == name)
            .unwrap_or(asked.len())
    });
    if let TaskFacts::Classification { .. } | TaskFacts::Ordinal { .. } = model.manifest.task {
        metrics.extend(calibration(&gold, &probabilities));
    }
    Ok(Evaluated {
        rows: gold.len(),
        unlabelled,
        metrics,
        of_labels: of_labels(&model.manifest.task, &gold, &found),
        confusion: confusion(&model.manifest.task, &gold, &found),
        empty: ended.empty,
        full,
    })
}

/// Numbers of gold tags and of predicted ones, where they differ.
fn other_lengths(gold: &Gold, found: &Gold) -> Option<(usize, usize)> {
    match (gold, found) {
        (Gold::Tags(gold), Gold::Tags(found)) => Some((gold.len(), found.len())),
        _ => None,
    }
    .filter(|(gold, found)| gold != found)
}

/// Calibration of a classifier's probabilities: `brier` and `ece`, as [`brier_score`] and [`expected_calibration_error`]
/// of the most probable label define them.
fn calibration(gold: &[Gold], probabilities: &[Vec<f32>]) -> Vec<(String, f64)> {
    let gold: Vec<usize> = gold.iter().filter_map(Gold::class).collect();
    let rows: Vec<Vec<f64>> = probabilities
        .iter()
        .map(|row| row.iter().map(|&p| f64::from(p)).collect())
        .collect();
    let best = |row: &Vec<f64>| {
        let classes = row.iter().copied().enumerate();
        classes.fold(
            (0, 0.0),
            |best, next| if next.1 > best.1 { next } else { best },
        )
    };
    let (confidence, right): (Vec<f64>, Vec<bool>) = rows
        .iter()
        .map(best)
        .zip(&gold)
        // The sum of f32 probabilities may pass 1 by a rounding error.
        .map(|((class, p), gold)| (p.min(1.0), class == *gold))
        .unzip();
    [
        ("brier", brier_score(&rows, &gold)),
        (
            "ece",
            expected_calibration_error(&confidence, &right, CALIBRATION_BINS),
        ),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name.to_owned(), value?)))
    .collect()
}

/// Precision, recall and F1 of each of several labels.
fn of_labels(task: &TaskFacts, gold: &[Gold], predicted: &[Gold]) -> Vec<PrecisionRecallF1> {
    let TaskFacts::MultiLabel { labels, .. } = task else {
        return Vec::new();
    };
    let gold: Vec<&[usize]> = gold.iter().filter_map(Gold::labels).collect();
    let predicted: Vec<&[usize]> = predicted.iter().filter_map(Gold::labels).collect();
    for_labels(&gold, &predicted, labels.len())
}

/// Confusion matrix: counts by gold and predicted label.
fn confusion(task: &TaskFacts, gold: &[Gold], predicted: &[Gold]) -> Vec<Vec<usize>> {
    let (TaskFacts::Classification { labels, .. } | TaskFacts::Ordinal { labels, .. }) = task
    else {
        return Vec::new();
    };
    let mut counts = vec![vec![0; labels.len()]; labels.len()];
    for (gold, predicted) in gold.iter().zip(predicted) {
        if let (Some(gold), Some(predicted)) = (gold.class(), predicted.class()) {
            counts[gold][predicted] += 1;
        }
    }
    counts
}
