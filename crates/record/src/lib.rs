//! The row types of the result tables and their parquet form.
//!
//! A run writes three small tables, [`Tables`]: one [`RunRow`], its [`EvalRow`]s and its [`PredictionRow`]s.
//! `collect` in the sweep crate merges the tables of many runs into one sorted folder, which is all that
//! the report crate reads. A file appears whole or not at all, and the same rows
//! give the same bytes.
//!
//! This crate does not know how rows are made, what a paper is, or what a tensor is.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod cell;
mod checksum;
mod growing;
mod missing;
mod order;
mod parquet;
mod rows;
mod stored;
mod tables;
mod trouble;
mod versions;

pub use missing::{read_missing, write_missing};
pub use order::natural;
pub use parquet::SCHEMA_VERSION;
pub use rows::{
    EvalRow, OF_TRIALS, PerplexityRow, PredictionRow, PretrainingRow, RunRow, Tables, TimingRow,
};
pub use stored::{StoredPredictions, StoredTables};
pub use tables::{
    GrowingTables, read_perplexity, read_pretraining, read_timing, write_perplexity,
    write_pretraining, write_timing,
};
pub use trouble::{NewerVersion, storage_advice};
pub use versions::Versions;
