//! Predictions of the rows of a file, a thousand of which are in memory at a time.

use std::ops::ControlFlow;

use anyhow::Result;
use totune_data::sha256_hex;

use crate::input::{Record, Source};
use crate::output::{Layout, Sink};
use crate::row_count::RowCount;
use crate::target::Target;
use crate::{Manifest, Prediction, SavedModel};

/// Number of rows that are read, sorted by length and predicted together.
const WINDOW: usize = 1024;

/// Outcome of predicting a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Predicting {
    /// Number of predicted rows, those of an earlier process included.
    pub rows: usize,
    /// True if all rows were predicted.
    pub complete: bool,
    /// Rows without a text. They get the prediction of an empty text, so that no row is missing.
    pub empty: RowCount,
    /// Rows with at least as many tokens as the model reads, those of an earlier process included.
    pub full: RowCount,
}

/// Writes a prediction for each row of `source`, in the order of the file; `progress` receives the number of rows so
/// far and can stop, as the model's own stop can ([`SavedModel::with_stop`]). Predictions in `target` from an interrupted
/// process are not repeated.
///
/// # Errors
/// When a row cannot be read, nothing can be written, or `target` has predictions for other rows.
pub fn predict(
    model: &SavedModel,
    source: &mut Source,
    (mut target, layout): (Target, Layout),
    progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<Predicting> {
    let sink = Sink::new(layout, source, &model.manifest)?;
    target.begin(&identity(model, source, layout)?, &sink.head()?)?;
    let mut full = target.full();
    let mut found = windows(source, &mut |source, rows, records| {
        // Windows are the same ones as before, so the earlier ones are in the file, and each later one has the same
        // rows in its batches as without the interruption.
        if target.has(rows, &records)? {
            return Ok(ControlFlow::Continue(()));
        }
        let Some(predicted) = predicted(model, source, records)? else {
            return Ok(ControlFlow::Break(Ended::Before));
        };
        full.add_full(&predicted);
        target.write((rows, full), &sink.rows(source, &predicted)?)?;
        Ok(progress(rows).map_break(|()| Ended::Behind))
    })?;
    found.full = full;
    if found.complete {
        target.publish(found.rows)?;
    }
    Ok(found)
}

/// Hash of everything but the rows that determines the bytes of predictions.
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

/// The records of a window with their predictions; `None` where the model was stopped.
pub(crate) fn predicted(
    model: &SavedModel,
    source: &Source,
    records: Vec<Record>,
) -> Result<Option<Vec<(Record, Prediction)>>> {
    let fields = source.fields();
    let inputs = records.iter().map(|record| {
        let input = fields.input(record)?;
        match model.other_kind(&input) {
            Some(problem) => Err(fields.at(record, &problem)),
            None => Ok(input),
        }
    });
    let predictions = model.predict_or_stop(inputs.collect::<Result<_>>()?)?;
    Ok(predictions.map(|predictions| records.into_iter().zip(predictions).collect()))
}

/// Place at which reading ended early.
pub(crate) enum Ended {
    /// Before the rows of the window.
    Before,
    /// Behind them.
    Behind,
}

/// Handler of the rows of a window; the number is that of the rows up to its end.
pub(crate) type Each<'a> =
    dyn FnMut(&Source, usize, Vec<Record>) -> Result<ControlFlow<Ended>> + 'a;

/// Reads a file in windows; `each` gets the rows of a window in their order.
pub(crate) fn windows(source: &mut Source, each: &mut Each) -> Result<Predicting> {
    let mut found = Predicting {
        rows: 0,
        complete: false,
        empty: RowCount::default(),
        full: RowCount::default(),
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
                found.empty.add(record);
            }
        }
        let rows = found.rows + records.len();
        match each(source, rows, records)? {
            ControlFlow::Continue(()) => found.rows = rows,
            ControlFlow::Break(Ended::Before) => return Ok(found),
            ControlFlow::Break(Ended::Behind) => {
                found.rows = rows;
                return Ok(found);
            }
        }
    }
}
