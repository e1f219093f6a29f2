//! Experiments: from an experiment file to finished result rows.
//!
//! An [`Experiment`] is a grid as a person writes it. It expands into [`RunSpec`]s in which nothing is implicit;
//! a spec's canonical JSON is hashed into its run id. A [`Plan`] says which runs are done and which would run and
//! why; [`execute`] runs them into `runs/<ab>/<id>/`, one owner per folder, so that a sweep that is killed goes on
//! where it stopped; [`collect`] merges the folders into the sorted tables of `results/<paper>/<profile>/`.
//!
//! This crate does not know how a model is built, which device is used, how progress looks, or what a table in a
//! paper is. A new kind of work is one variant of [`Work`] and one file under `work/`.

mod activation_store;
mod arms;
mod checkpoint;
mod collect;
mod ended;
mod estimate;
mod execute;
mod experiment;
mod failure;
mod forecast;
mod inputs;
mod known;
mod labels;
mod lease;
mod machine;
mod memo;
mod merge;
mod misfits;
mod order;
mod parallel;
mod phases;
mod places;
mod plan;
mod profile;
mod progress;
mod project;
mod provenance;
mod publication;
mod restore;
mod run_log;
mod search;
mod selection;
mod spec;
mod stale;
mod store;
mod stored;
mod suggest;
mod timing;
mod typed;
mod work;

pub use arms::Arm;
pub use collect::{Collected, collect};
pub use estimate::{Estimate, KindCost, Size, Timing, estimate};
pub use execute::{Summary, execute};
pub use experiment::{Experiment, Kind};
pub use forecast::Forecast;
pub use inputs::{Inputs, missing};
pub use machine::Machine;
pub use misfits::misfits;
pub use phases::Phases;
pub use places::{Environment, Places, Roots};
pub use plan::{Plan, PlannedRun};
pub use progress::{
    CachingEvent, CheckpointEvent, EndScore, Ended, Listeners, Position, Progress, Silent, Watched,
};
pub use project::Project;
pub use provenance::{code, peak_memory, timestamp};
pub use restore::{Restored, restore};
pub use search::UnequalSearch;
pub use selection::{Selection, Shard};
pub use spec::{
    DivergenceWork, Floor, FloorWork, Information, LogisticSettings, ProbeInput, ProbeWork,
    ProbedStates, RunSpec, SparseWork, Stale, TuneWork, Work,
};
pub use store::{State, Store};
pub use stored::{Arms, read_results, upgrade_results};
pub use timing::{Noise, TimingEvent, TimingRequest, TimingSummary, time};
pub use work::{HIDDEN, Prepared};
