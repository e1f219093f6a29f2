//! Predicting and scoring the rows of a file, of which a few thousand are in memory at a time.

use std::io::Write;
use std::ops::ControlFlow;

use anyhow::{Result, ensure};
use totune_data::Target;
use totune_data::tags::{Scheme, TagSet};

use crate::input::{Record, Source, hint, quoted};
use crate::output::{Layout, Sink};
use crate::{Prediction, SavedModel, TaskFacts};

/// Rows that are read, sorted by length and predicted together.
const WINDOW: usize = 4096;

/// How predicting ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Predicting {
    /// Rows that were predicted.
    pub rows: usize,
    /// Whether all were.
    pub complete: bool,
}

/// Scores of a model on the rows of a file.
#[derive(Debug, Clone)]
pub struct Evaluated {
    /// Rows that were scored.
    pub rows: usize,
    /// Every metric by its name in result rows; those of the dataset's card first.
    pub metrics: Vec<(String, f64)>,
    /// Of a classification, how many rows with each label (the outer list) got each label.
    pub confusion: Vec<Vec<usize>>,
}

/// Writes a prediction for each row of `source`, in the order of the file; `progress` hears of the rows so far and can
/// break off.
///
/// # Errors
/// When a row cannot be read, or nothing can be written.
pub fn predict(
    model: &SavedModel,
    source: &mut Source,
    (out, layout): (&mut dyn Write, Layout),
    progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<Predicting> {
    let mut sink = Sink::new(out, layout, source, &model.manifest)?;
    let mut each = |_: &Source, window: &[(Record, Prediction)]| {
        window
            .iter()
            .try_for_each(|(record, prediction)| sink.write(record, prediction))
    };
    let predicting = windows(model, source, &mut each, progress)?;
    sink.finish()?;
    Ok(predicting)
}

/// Scores the model on the labelled rows of `source`.
///
/// # Errors
/// When a row cannot be read, or its label is none of the model's; when there is no row.
pub fn evaluate(
    model: &SavedModel,
    source: &mut Source,
    progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<Evaluated> {
    let (mut gold, mut predicted) = (Vec::new(), Vec::new());
    let mut each = |source: &Source, window: &[(Record, Prediction)]| {
        for (record, prediction) in window {
            let target = target(&model.manifest.task, source, record)?;
            if let (Target::Tags(tags), Target::Tags(found)) = (&target, &prediction.predicted) {
                ensure!(
                    tags.len() == found.len(),
                    source.fields().at(
                        record,
                        &format!(
                            "{} tags for {} words, expected one for each",
                            tags.len(),
                            found.len()
                        )
                    )
                );
            }
            gold.push(target);
            predicted.push(prediction.predicted.clone());
        }
        Ok(())
    };
    let ended = windows(model, source, &mut each, progress)?;
    ensure!(ended.complete, "interrupted after {} rows", ended.rows);
    ensure!(
        ended.rows > 0,
        "found no rows to score, expected at least one"
    );
    let targets: Vec<&Target> = gold.iter().collect();
    let asked = &model.manifest.metrics;
    let mut metrics = model
        .manifest
        .objective()
        .metrics(&targets, &predicted, asked);
    // Stable, so that what the card does not name keeps its order.
    metrics.sort_by_key(|(name, _)| {
        asked
            .iter()
            .position(|asked| asked == name)
            .unwrap_or(asked.len())
    });
    Ok(Evaluated {
        rows: ended.rows,
        metrics,
        confusion: confusion(&model.manifest.task, &gold, &predicted),
    })
}

/// How many of each label got each label.
fn confusion(task: &TaskFacts, gold: &[Target], predicted: &[Target]) -> Vec<Vec<usize>> {
    let TaskFacts::Classification { labels, .. } = task else {
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

/// What is done with the rows of a window and their predictions.
type Each<'a> = dyn FnMut(&Source, &[(Record, Prediction)]) -> Result<()> + 'a;

/// Goes through the rows of a file; `each` gets those of a window in their order.
fn windows(
    model: &SavedModel,
    source: &mut Source,
    each: &mut Each,
    progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<Predicting> {
    let mut rows = 0;
    loop {
        let mut records = Vec::new();
        while records.len() < WINDOW {
            match source.next()? {
                Some(record) => records.push(record),
                None => break,
            }
        }
        if records.is_empty() {
            return Ok(Predicting {
                rows,
                complete: true,
            });
        }
        let inputs = records.iter().map(|record| source.fields().input(record));
        let predictions = model.predict(inputs.collect::<Result<_>>()?)?;
        rows += records.len();
        let window: Vec<(Record, Prediction)> = records.into_iter().zip(predictions).collect();
        each(source, &window)?;
        if progress(rows).is_break() {
            let complete = false;
            return Ok(Predicting { rows, complete });
        }
    }
}

/// What a row says is right.
fn target(task: &TaskFacts, source: &Source, record: &Record) -> Result<Target> {
    let place = |name: &str, labels: &[String]| {
        let Some(place) = labels.iter().position(|label| label == name) else {
            let hint = hint(name, labels);
            let known = quoted(labels);
            let problem = format!("`{name}` is no label of the model{hint}expected one of {known}");
            return Err(source.fields().at(record, &problem));
        };
        Ok(place)
    };
    match task {
        TaskFacts::Classification { labels, values, .. } => {
            let name = source.fields().label(record)?;
            // What the training file had in place of the labels comes first: `0` may be the name of another label.
            let value = values.iter().position(|value| *value == name);
            let class = value.map_or_else(|| place(&name, labels), Ok)?;
            Ok(Target::Class(class))
        }
        TaskFacts::Regression {} => {
            let text = source.fields().label(record)?;
            let value = text
                .trim()
                .parse()
                .ok()
                .filter(|value: &f64| value.is_finite());
            match value {
                Some(value) => Ok(Target::Value(value)),
                None => Err(source
                    .fields()
                    .at(record, &format!("`{text}` is no score, expected a number"))),
            }
        }
        TaskFacts::Tagging { labels } => {
            let tags = source.fields().tags(record)?;
            let known = tags.iter().all(|tag| labels.contains(tag));
            let tags = match known {
                true => tags,
                false => in_bio(&tags, labels).unwrap_or(tags),
            };
            let tags = tags.iter().map(|tag| place(tag, labels));
            Ok(Target::Tags(tags.collect::<Result<_>>()?))
        }
    }
}

/// Tags of another scheme, such as BIOES, in that of the model, whose tags are `labels`; nothing where no scheme has them.
fn in_bio(tags: &[String], labels: &[String]) -> Option<Vec<String>> {
    let types: Vec<String> = labels
        .iter()
        .filter_map(|label| label.strip_prefix("B-").map(String::from))
        .collect();
    let bio = TagSet::new(Scheme::Bio, &types);
    let read = |scheme: Scheme| {
        let set = TagSet::new(scheme, &types);
        let tags: Result<Vec<usize>, _> = tags.iter().map(|tag| set.parse(tag)).collect();
        Some(set.convert(&tags.ok()?, &bio))
    };
    let converted = Scheme::ALL.into_iter().find_map(read)?;
    let names = converted.into_iter().map(|tag| bio.labels()[tag].clone());
    Some(names.collect())
}
