//! The tables of a folder, of whose predictions a part is in memory at a time.

use std::path::Path;

use anyhow::Result;

use crate::parquet::Grouped;
use crate::tables::read_with;
use crate::{EvalRow, PredictionRow, RunRow, Tables};

/// The three tables of a folder like [`Tables`], without the rows of the predictions: of many runs these are most of the
/// memory, and few are asked for.
#[derive(Debug)]
pub struct StoredTables {
    /// All runs.
    pub runs: Vec<RunRow>,
    /// All scores.
    pub evals: Vec<EvalRow>,
    /// The predictions.
    pub predictions: StoredPredictions,
}

/// Predictions in groups of rows.
#[derive(Debug)]
pub struct StoredPredictions(Rows);

#[derive(Debug)]
enum Rows {
    Memory(Vec<Vec<PredictionRow>>),
    File(Grouped<PredictionRow>),
}

impl StoredTables {
    /// Reads the three files of a folder, and checks that they belong together.
    ///
    /// # Errors
    /// As [`Tables::read`], but for rows of predictions that cannot be decoded.
    pub fn read(dir: &Path) -> Result<Self> {
        let (runs, evals, predictions) = read_with(dir, Grouped::open)?;
        Ok(Self {
            runs,
            evals,
            predictions: StoredPredictions(Rows::File(predictions)),
        })
    }
}

impl From<Tables> for StoredTables {
    fn from(tables: Tables) -> Self {
        Self {
            runs: tables.runs,
            evals: tables.evals,
            predictions: StoredPredictions::in_groups(vec![tables.predictions]),
        }
    }
}

impl StoredPredictions {
    /// Groups of rows in memory.
    pub fn in_groups(groups: Vec<Vec<PredictionRow>>) -> Self {
        Self(Rows::Memory(groups))
    }

    /// The number of groups.
    pub fn groups(&self) -> usize {
        match &self.0 {
            Rows::Memory(groups) => groups.len(),
            Rows::File(file) => file.groups(),
        }
    }

    /// The rows of a group. In a file they have the order of [`Tables::sort`], from group to group too.
    ///
    /// # Errors
    /// When they cannot be decoded.
    pub fn group(&self, group: usize) -> Result<Vec<PredictionRow>> {
        match &self.0 {
            Rows::Memory(groups) => Ok(groups[group].clone()),
            Rows::File(file) => file.rows(group),
        }
    }
}
