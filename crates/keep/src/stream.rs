//! Predictions of the rows of a file, a few thousand of which are in memory at a time.

use std::ops::ControlFlow;

use anyhow::Result;
use totune_data::sha256_hex;

use crate::input::{Record, Source};
use crate::output::{Layout, Sink};
use crate::target::Target;
use crate::{Manifest, Prediction, SavedModel};

/// Number of rows that are read, sorted by length and predicted together.
const WINDOW: usize = 4096;

/// Outcome of predicting a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Predicting {
    /// Number of predicted rows, those of an earlier process included.
    pub rows: usize,
    /// True if all rows were predicted.
    pub complete: bool,
    /// Rows without a text. They get the prediction of an empty text, so that no row is missing.
    pub empty: RowCount,
    /// Rows with at least as many tokens as the model reads; those of an earlier process do not count.
    pub full: RowCount,
}

/// Number of rows of some kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowCount {
    /// Number of such rows.
    pub rows: usize,
    /// Line of the first one.
    pub first: usize,
}

impl RowCount {
    fn add(&mut self, record: &Record) {
        if self.rows == 0 {
            self.first = record.line;
        }
        self.rows += 1;
    }

    /// Counts the rows whose prediction was made from as many tokens as the model reads.
    pub(crate) fn add_full(&mut self, predicted: &[(Record, Prediction)]) {
        let full = predicted
            .iter()
            .filter(|(_, prediction)| prediction.is_full);
        full.for_each(|(record, _)| self.add(record));
    }
}

/// Writes a prediction for each row of `source`, in the order of the file; `progress` receives the number of rows so
/// far and can stop. Predictions in `target` from an interrupted process are not repeated.
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
    let mut full = RowCount::default();
    let mut found = windows(source, &mut |source, rows, records| {
        // Windows are the same ones as before, so the earlier ones are in the file, and each later one has the same
        // rows in its batches as without the interruption.
        if target.has(rows, &records)? {
            return Ok(ControlFlow::Continue(()));
        }
        let predicted = predicted(model, source, records)?;
        full.add_full(&predicted);
        target.write(rows, &sink.rows(source, &predicted)?)?;
        Ok(progress(rows))
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

/// The records of a window with their predictions.
pub(crate) fn predicted(
    model: &SavedModel,
    source: &Source,
    records: Vec<Record>,
) -> Result<Vec<(Record, Prediction)>> {
    let inputs = records.iter().map(|record| source.fields().input(record));
    let predictions = model.predict(inputs.collect::<Result<_>>()?)?;
    Ok(records.into_iter().zip(predictions).collect())
}

/// Handler of the rows of a window; the number is that of the rows up to its end.
pub(crate) type Each<'a> = dyn FnMut(&Source, usize, Vec<Record>) -> Result<ControlFlow<()>> + 'a;

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
        found.rows += records.len();
        if each(source, found.rows, records)?.is_break() {
            return Ok(found);
        }
    }
}
