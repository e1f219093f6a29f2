//! Adapting a pretrained encoder to a task: strategies, optimisers, schedules, the loop, evaluation.
//!
//! [`Training`] holds the settings of a run. Its [`Adaptation`] turns them and the depth of the encoder into a
//! [`Plan`]: phases that say which parameters move, at what rate and for how long. [`fit`] executes the plan on
//! [`TaskData`] and returns an [`Outcome`]: scores over time, predictions, parameter counts, seconds, and how it
//! ended. A [`Watch`] hears of progress.
//!
//! ```text
//! Training, n_layers ─► Plan ─► fit(encoder, TaskData, seed) ─► Outcome
//! ```
//!
//! A strategy decides and never touches a gradient; the loop executes and never asks which strategy it serves.
//! Everything random comes from the seed that [`fit`] is given.
//!
//! This crate does not know papers, grids, result files, or how a device was chosen.

mod batch;
mod best;
mod cache;
mod clock;
mod evaluate;
mod fit;
mod optimizer;
mod outcome;
mod parameters;
mod phase;
mod plateau;
mod question;
mod schedule;
mod setup;
mod stop;
mod strategy;
mod task;
#[cfg(test)]
mod test_support;
mod training;
mod watch;

pub use cache::{Activations, CacheFile, KeptExamples, Start, StoredDtype};
pub use evaluate::{Evaluation, evaluate};
pub use fit::fit;
pub use optimizer::{Adam, BIAS_AND_NORM, Optimizer};
pub use outcome::{Divergence, Outcome, Prediction, Score, Stop};
pub use parameters::{Values, copy as parameter_values, require_gradients, sizes};
pub use phase::{Assigned, Assignment, Group, Moments, Phase, Plan};
pub use plateau::Plateau;
pub use question::Question;
pub use schedule::{Bert, Constant, Linear, Polynomial, Schedule, SlantedTriangular};
pub use setup::ModuleEdit;
pub use stop::StopRule;
pub use strategy::{
    Adaptation, Biases, BitFit, Frozen, Full, GradualUnfreezing, LastK, Lora, Part,
    StackAndFinetune,
};
pub use task::{Examples, Places, Row, TaskData};
pub use totune_model::{LstmState, Switch};
pub use training::{Cache, Clip, Dtype, Select, Training};
pub use watch::{EpochScores, StepEvent, Watch};
