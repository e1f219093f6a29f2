//! Scores and predictions of floors as rows.

use anyhow::{Result, bail};
use totune_data::label_sets::joined;
use totune_data::{Dataset, Target, Task};
use totune_record::{EvalRow, PredictionRow, RunRow};
use totune_stats::multi_label_scores;

use super::{Choice, FloorSplit, Predicted};
use crate::work::final_score;
use crate::work::gold::GoldTargets;

/// Lower bound of probabilities in the loss, so that an outcome that was never seen in training does not cost
/// infinitely much; the same as in scikit-learn's `log_loss`.
const LEAST: f64 = f64::EPSILON;

/// Row of a setting that was chosen when the floor was fitted.
pub(super) fn chosen(run: &RunRow, choice: &Choice) -> EvalRow {
    final_score(run, (choice.on, 0), choice.name, choice.value)
}

/// The final scores of a part.
pub(super) fn evals(
    run: &RunRow,
    part: &FloorSplit,
    predicted: &Predicted,
) -> Result<Vec<EvalRow>> {
    let place = (part.name, part.answers.len());
    let scores = scores(part, predicted)?.into_iter();
    Ok(scores
        .map(|(name, value)| final_score(run, place, &name, value))
        .collect())
}

/// Every metric of the predictions under the names of trained runs. The loss is the mean cross-entropy of labels and tags,
/// and the mean squared error of scores.
fn scores(part: &FloorSplit, predicted: &Predicted) -> Result<Vec<(String, f64)>> {
    let dataset = part.dataset();
    let metrics = |predicted: Vec<Target>| part.answers.metrics(dataset, &predicted);
    let values = |values: &[f64]| values.iter().copied().map(Target::Value).collect();
    Ok(match (&part.answers, predicted) {
        (
            GoldTargets::Classes(gold),
            Predicted::Classes {
                classes,
                probabilities,
            },
        ) => {
            let mut scores = metrics(classes.iter().copied().map(Target::Class).collect());
            // A trained run of an ordinal task has another loss, that of steps.
            if dataset.task != Task::Ordinal {
                let rows = probabilities.chunks(dataset.labels.len()).zip(gold);
                let losses = rows.map(|(row, &class)| -row[class].max(LEAST).ln());
                scores.extend(mean(losses).map(|loss| ("loss".to_string(), loss)));
            }
            scores
        }
        (
            GoldTargets::Labels(gold),
            Predicted::Labels {
                labels,
                probabilities,
            },
        ) => label_set_scores(dataset, gold, labels, probabilities),
        (GoldTargets::Scores(gold), Predicted::Scores(found)) => {
            let mut scores = metrics(values(found));
            if !scores.iter().any(|(name, _)| name == "pearson") {
                // The mean for every example: rank correlations of a constant are undefined.
                scores.retain(|(name, _)| name == "mse");
            }
            let losses = gold
                .iter()
                .zip(found)
                .map(|(gold, found)| (gold - found).powi(2));
            scores.extend(mean(losses).map(|loss| ("loss".to_string(), loss)));
            scores
        }
        (GoldTargets::Scores(_), Predicted::Similarities(found)) => {
            let mut scores = metrics(values(found));
            // It is on another scale than the scores.
            scores.retain(|(name, _)| name != "mse");
            scores
        }
        (
            GoldTargets::Tags(gold),
            Predicted::Tags {
                tags,
                probabilities,
            },
        ) => {
            let mut scores = metrics(tags.iter().cloned().map(Target::Tags).collect());
            if !probabilities.is_empty() {
                // Of a sentence the mean over its words, as of a trained tagger.
                let loss = |&tag: &usize| -probabilities[tag].max(LEAST).ln();
                let losses = gold
                    .iter()
                    .map(|tags| mean(tags.iter().map(loss)).unwrap_or(0.0));
                scores.extend(mean(losses).map(|loss| ("loss".to_string(), loss)));
            }
            scores
        }
        _ => bail!("the parts differ in what is known of their examples; expected one kind"),
    })
}

/// The scores of sets of labels; `probabilities` has those of all labels for each example. They are ranked in double
/// precision: rounded to those of a model, which [`totune_adapt::Objective::metrics`] takes, they could have other ranks.
fn label_set_scores(
    dataset: &Dataset,
    gold: &[Vec<usize>],
    labels: &[Vec<usize>],
    probabilities: &[f64],
) -> Vec<(String, f64)> {
    let n_labels = dataset.labels.len();
    let rows: Vec<Vec<f64>> = probabilities
        .chunks(n_labels)
        .map(<[f64]>::to_vec)
        .collect();
    let asked = dataset.metrics.iter().map(String::as_str);
    let mut scores = multi_label_scores(
        &slices(gold),
        &slices(labels),
        Some(&rows),
        &dataset.labels,
        asked,
    );
    let of_label = |set: &Vec<usize>, label: usize, p: f64| {
        let likely = if set.contains(&label) { p } else { 1.0 - p };
        -likely.max(LEAST).ln()
    };
    let losses = gold.iter().zip(&rows).flat_map(|(set, row)| {
        let row = row.iter().enumerate();
        row.map(move |(label, p)| of_label(set, label, *p))
    });
    scores.extend(mean(losses).map(|loss| ("loss".to_string(), loss)));
    scores
}

fn slices(sets: &[Vec<usize>]) -> Vec<&[usize]> {
    sets.iter().map(Vec::as_slice).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (n, sum) = values.fold((0u64, 0.0), |(n, sum), value| (n + 1, sum + value));
    (n > 0).then(|| sum / n as f64)
}

/// Predictions as rows: one for each example, or for each word of the sentences of test.
pub(super) fn predictions(
    run_id: &str,
    part: &FloorSplit,
    predicted: Predicted,
) -> Result<Vec<PredictionRow>> {
    let dataset = part.dataset();
    let labels = &dataset.labels;
    let row = |n: usize, position: usize, gold: String, predicted: String| PredictionRow {
        run_id: run_id.to_string(),
        split: part.name.to_string(),
        example_id: dataset.examples[part.of.indices[n]].id.clone(),
        position: position as u32,
        gold,
        predicted,
        scores: Vec::new(),
    };
    Ok(match (&part.answers, predicted) {
        (
            GoldTargets::Classes(gold),
            Predicted::Classes {
                classes,
                probabilities,
            },
        ) => {
            let pairs = gold.iter().zip(classes).enumerate();
            let rows = pairs.map(|(n, (&gold, class))| {
                let of_example = probabilities
                    .chunks(labels.len())
                    .nth(n)
                    .unwrap_or_default();
                PredictionRow {
                    scores: of_example.iter().map(|p| *p as f32).collect(),
                    ..row(n, 0, labels[gold].clone(), labels[class].clone())
                }
            });
            rows.collect()
        }
        (
            GoldTargets::Labels(gold),
            Predicted::Labels {
                labels: found,
                probabilities,
            },
        ) => {
            let rows = gold
                .iter()
                .zip(&found)
                .zip(probabilities.chunks(labels.len()));
            let rows = rows.enumerate();
            let rows = rows.map(|(n, ((gold, found), probabilities))| PredictionRow {
                scores: probabilities.iter().map(|p| *p as f32).collect(),
                ..row(n, 0, joined(gold, labels), joined(found, labels))
            });
            rows.collect()
        }
        (GoldTargets::Scores(gold), Predicted::Scores(found) | Predicted::Similarities(found)) => {
            let pairs = gold.iter().zip(found).enumerate();
            let rows = pairs.map(|(n, (gold, found))| PredictionRow {
                scores: vec![found as f32],
                ..row(n, 0, gold.to_string(), found.to_string())
            });
            rows.collect()
        }
        // A row per word: those of test are what tables are about.
        (GoldTargets::Tags(_), Predicted::Tags { .. }) if part.name != "test" => Vec::new(),
        (GoldTargets::Tags(gold), Predicted::Tags { tags, .. }) => {
            let mut rows = Vec::new();
            for (n, (gold, tags)) in gold.iter().zip(tags).enumerate() {
                for (position, (&gold, tag)) in gold.iter().zip(tags).enumerate() {
                    rows.push(row(n, position, labels[gold].clone(), labels[tag].clone()));
                }
            }
            rows
        }
        _ => bail!("the parts differ in what is known of their examples; expected one kind"),
    })
}
