//! Trained models on disk: saved as folders, read back, and used.
//!
//! [`save`] writes a [`TrainedModel`] as a folder that transformers loads, wherever transformers has a class that
//! computes the same; where it has none, the head goes into a file of our own and the model card says so. Either way
//! the folder has a [`Manifest`], `totune.json`, from which [`SavedModel::open`] reads it back. A [`SavedModel`]
//! predicts: for texts in memory, or for the rows of a file that is streamed in constant memory ([`predict`],
//! [`evaluate`]).
//!
//! ```text
//! Outcome ─► TrainedModel ─► save ─► folder ─► SavedModel ─► predict, evaluate
//! ```
//!
//! A folder appears whole or not at all, and only after the model read back from it gave the same outputs as the one in
//! memory.
//!
//! This crate knows nothing of grids, papers or result files, or of the choice of a device.

mod adapter;
mod card;
mod config;
mod evaluate;
mod facts;
mod form;
mod gold;
mod input;
mod manifest;
mod names;
mod output;
mod row_count;
mod save;
mod saved;
mod stream;
mod target;
mod weights;

pub use adapter::check_adapter;
pub use evaluate::{Evaluated, evaluate};
pub use facts::{InputFacts, LayoutFacts, TaskFacts};
pub use input::{Columns, Kind, ReadOptions, Source};
pub use manifest::{DatasetFacts, EncoderFacts, Manifest, SavedAs, ScoreFacts, TrainingFacts};
pub use output::Layout;
pub use row_count::RowCount;
pub use save::{Saved, TrainedModel, check_free, save};
pub use saved::{Prediction, SavedModel};
pub use stream::{Predicting, predict};
pub use target::Target;
