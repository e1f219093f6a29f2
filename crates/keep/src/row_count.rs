//! Counts of rows that a user should hear of.

use serde::{Deserialize, Serialize};

use crate::Prediction;
use crate::input::Record;

/// Number of rows of some kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowCount {
    /// Number of such rows.
    pub rows: usize,
    /// Line of the first one.
    pub first: usize,
}

impl RowCount {
    pub(crate) fn add(&mut self, record: &Record) {
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
