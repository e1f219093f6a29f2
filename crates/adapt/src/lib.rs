//! Adapting a pretrained encoder to a task: strategies, optimisers, schedules, the loop, evaluation.
//!
//! [`Training`] holds the settings of a run; a [`Recipe`] gives the usual ones of a [`Strategy`]. Its [`Adaptation`]
//! turns them and the depth of the encoder into a [`Plan`]: module edits, and phases that say which parameters are
//! trained, at what rate and for how long. [`fit`] executes the plan on [`TaskData`] and returns an [`Outcome`]: scores
//! over time, predictions, parameter counts, seconds, and how it ended. A [`Watch`] is notified of progress and can end
//! the run; [`Checkpoints`] save its [`TrainingState`] between two steps, from which [`fit_resumable`] resumes.
//!
//! ```text
//! Training, n_layers ─► Plan ─► fit(encoder, TaskData, seed) ─► Outcome
//! ```
//!
//! A strategy decides and never touches a gradient; the loop executes and does not know which strategy it serves.
//! Everything random comes from the seed that [`fit`] is given.
//!
//! This crate does not know papers, grids, result files, or how a device was chosen.

// The settings of tests are a file that names this crate as its users do.
#[cfg(test)]
extern crate self as totune_adapt;

mod batch;
mod best;
mod cache;
mod clock;
mod evaluate;
mod examples;
mod fit;
mod input;
mod objective;
mod optimizer;
mod outcome;
mod parameters;
mod phase;
mod plateau;
mod recipe;
mod regression;
pub mod schedule;
mod setup;
mod standard;
mod state;
mod stop;
mod strategy;
mod task;
mod tensor_file;
#[cfg(test)]
mod test_support;
mod training;
mod watch;

pub use cache::{Activations, CacheFile, CachedActivations, EntryLayer, FrozenPass, StoredDtype};
pub use evaluate::{Evaluation, evaluate, evaluate_until, logits};
pub use examples::{Examples, Places, Row};
pub use fit::{TimedPart, fit, fit_resumable, has_learned, time_phases};
pub use input::{InputEncoding, Reader, Rows};
pub use objective::{Found, Objective};
pub use optimizer::{Adam, BIAS_AND_NORM, Optimizer};
pub use outcome::{Divergence, EpochTime, Outcome, PhaseTime, Prediction, Score, Stop};
pub use parameters::{
    Values, copy as parameter_values, deep_copy, release_graphs, require_gradients, sizes,
};
pub use phase::{
    Assigned, Assignment, Defaults, Freezing, Group, LinearProbe, OptimizerState, Phase, Plan,
};
pub use plateau::Plateau;
pub use recipe::{
    DataFacts, HeadChoice, LEAST_SEEN, Recipe, Strategy, UnknownStrategy, enough_epochs,
};
pub use regression::Regression;
pub use schedule::Schedule;
pub use setup::ModuleEdit;
pub use state::{Checkpoints, TrainingState};
pub use stop::StopRule;
pub use strategy::*;
pub use task::TaskData;
pub use tensor_file::TensorFile;
pub use totune_model::{LstmState, Switch};
pub use training::{Cache, ClassLoss, ClassWeights, Clip, Dtype, Select, TestScores, Training};
pub use watch::{EpochScores, Interrupted, StepEvent, Watch};
