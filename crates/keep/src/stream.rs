//! Predicting and scoring the rows of a file, of which a few thousand are in memory at a time.

use std::ops::ControlFlow;

use anyhow::{Result, ensure};
use totune_data::tags::{Scheme, TagSet};
use totune_data::{Target as Gold, sha256_hex};

use crate::input::{Record, Source, hint, quoted};
use crate::output::{Layout, Sink};
use crate::target::Target;
use crate::{Manifest, Prediction, SavedModel, TaskFacts};

/// Rows that are read, sorted by length and predicted together.
const WINDOW: usize = 4096;

/// How predicting ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Predicting {
    /// Rows that were predicted, those of an earlier process included.
    pub rows: usize,
    /// Whether all were.
    pub complete: bool,
    /// Rows without a text. They get the prediction of an empty text, so that no row is missing.
    pub empty: Empty,
}

/// Rows without a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Empty {
    /// How many there are.
    pub rows: usize,
    /// The line of the first one.
    pub first: usize,
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
    /// Rows without a text, which are scored like any other.
    pub empty: Empty,
}

/// Writes a prediction for each row of `source`, in the order of the file; `progress` hears of the rows so far and can
/// break off. What `target` has from an interrupted process is not predicted again.
///
/// # Errors
/// When a row cannot be read, nothing can be written, or `target` has predictions of other rows.
pub fn predict(
    model: &SavedModel,
    source: &mut Source,
    (mut target, layout): (Target, Layout),
    progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<Predicting> {
    let sink = Sink::new(layout, source, &model.manifest);
    target.begin(&identity(model, source, layout)?, &sink.head()?)?;
    let found = windows(source, &mut |source, rows, records| {
        // The windows before are the same ones again, so they are in the file, and each later one has the same rows in its
        // batches as if nothing had happened.
        if target.has(rows, &records)? {
            return Ok(ControlFlow::Continue(()));
        }
        let written = sink.rows(&predicted(model, source, records)?)?;
        target.write(rows, &written)?;
        Ok(progress(rows))
    })?;
    if found.complete {
        target.publish(found.rows)?;
    }
    Ok(found)
}

/// What the bytes of predictions depend on besides the rows.
fn identity(model: &SavedModel, source: &Source, layout: Layout) -> Result<String> {
    let manifest = serde_json::to_string(&model.manifest)?;
    let program = Manifest::head();
    let read = (source.kind(), source.header(), source.fields().columns());
    let all = format!(
        "{program:?} {} {read:?} {layout:?} {manifest}",
        model.device
    );
    Ok(sha256_hex(all.as_bytes()))
}

/// The records of a window with their predictions.
fn predicted(
    model: &SavedModel,
    source: &Source,
    records: Vec<Record>,
) -> Result<Vec<(Record, Prediction)>> {
    let inputs = records.iter().map(|record| source.fields().input(record));
    let predictions = model.predict(inputs.collect::<Result<_>>()?)?;
    Ok(records.into_iter().zip(predictions).collect())
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
    let (mut gold, mut found) = (Vec::new(), Vec::new());
    let ended = windows(source, &mut |source, rows, records| {
        for (record, prediction) in predicted(model, source, records)? {
            let target = target(&model.manifest.task, source, &record)?;
            if let (Gold::Tags(tags), Gold::Tags(found)) = (&target, &prediction.predicted) {
                let (tags, words) = (tags.len(), found.len());
                ensure!(
                    tags == words,
                    source.fields().at(
                        &record,
                        &format!("{tags} tags for {words} words, expected one for each")
                    )
                );
            }
            gold.push(target);
            found.push(prediction.predicted);
        }
        Ok(progress(rows))
    })?;
    ensure!(ended.complete, "interrupted after {} rows", ended.rows);
    ensure!(
        ended.rows > 0,
        "found no rows to score, expected at least one"
    );
    let targets: Vec<&Gold> = gold.iter().collect();
    let asked = &model.manifest.metrics;
    let mut metrics = model.manifest.objective().metrics(&targets, &found, asked);
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
        confusion: confusion(&model.manifest.task, &gold, &found),
        empty: ended.empty,
    })
}

/// How many of each label got each label.
fn confusion(task: &TaskFacts, gold: &[Gold], predicted: &[Gold]) -> Vec<Vec<usize>> {
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

/// What is done with the rows of a window; the number is that of the rows up to its end.
type Each<'a> = dyn FnMut(&Source, usize, Vec<Record>) -> Result<ControlFlow<()>> + 'a;

/// Goes through the rows of a file; `each` gets those of a window in their order.
fn windows(source: &mut Source, each: &mut Each) -> Result<Predicting> {
    let mut found = Predicting {
        rows: 0,
        complete: false,
        empty: Empty::default(),
    };
    loop {
        let mut records = Vec::new();
        while records.len() < WINDOW {
            match source.next()? {
                Some(record) => records.push(record),
                None => break,
            }
        }
        if records.is_empty() {
            found.complete = true;
            return Ok(found);
        }
        for record in &records {
            if source.fields().is_empty(record)? {
                if found.empty.rows == 0 {
                    found.empty.first = record.line;
                }
                found.empty.rows += 1;
            }
        }
        found.rows += records.len();
        if each(source, found.rows, records)?.is_break() {
            return Ok(found);
        }
    }
}

/// What a row says is right.
fn target(task: &TaskFacts, source: &Source, record: &Record) -> Result<Gold> {
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
            Ok(Gold::Class(class))
        }
        TaskFacts::Regression {} => {
            let text = source.fields().label(record)?;
            let value = text
                .trim()
                .parse()
                .ok()
                .filter(|value: &f64| value.is_finite());
            match value {
                Some(value) => Ok(Gold::Value(value)),
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
            Ok(Gold::Tags(tags.collect::<Result<_>>()?))
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
