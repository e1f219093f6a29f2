//! Experiments: from an experiment file to finished result rows.
//!
//! An [`Experiment`] is a grid as a person writes it. It expands into [`RunSpec`]s in which nothing is implicit;
//! a spec's canonical JSON is hashed into its run id. A [`Plan`] says which runs are done and which would run and
//! why; [`execute`] runs them into `runs/<ab>/<id>/`, one owner per folder, so that a sweep that is killed goes on
//! where it stopped; [`collect`] merges the folders into the sorted tables of `results/<paper>/<profile>/`.
//!
//! | module | what it has |
//! |---|---|
//! | `project/` | the papers, experiments and cards, and the places of files |
//! | `settings/` | TOML tables: merged, read as typed values, with errors that name what exists |
//! | `experiment/`, `search/` | an experiment file, its arms and profiles, and the search for hyper-parameters |
//! | `spec/` | [`RunSpec`]: schemas, ids, labels |
//! | `plan/` | [`Plan`]: states of runs, selection, order, stale runs, remaining time |
//! | `store/` | `runs/`: folders, leases, publication, facts of runs that have ended |
//! | `inputs/` | datasets, encoders, encoded texts and cached activations, shared by runs |
//! | `work/` | the kinds of work, and the checkpoints of a run |
//! | `execute/` | the runs of a plan, one after another or many at once, with a log of each |
//! | `results/` | `results/`: collected, read, restored |
//! | `estimate/`, `timing/` | the cost of a plan on a device; seconds of an epoch on a quiet machine |
//!
//! This crate does not know how a model is built, which device is used, how progress looks, or what a table in a
//! paper is. A new kind of work is one variant of [`Work`] and one file under `work/`.

mod estimate;
mod execute;
mod experiment;
mod inputs;
mod machine;
mod parallel;
mod plan;
mod progress;
mod project;
mod provenance;
mod results;
mod search;
mod settings;
mod spec;
mod store;
mod timing;
mod work;

pub use estimate::{Estimate, KindCost, Size, Timing, estimate};
pub use execute::{Summary, execute};
pub use experiment::{Arm, Experiment, Kind};
pub use inputs::{Inputs, missing};
pub use machine::Machine;
pub use plan::{Forecast, Plan, PlannedRun, Selection, Shard, misfits};
pub use progress::{
    CachingEvent, CheckpointEvent, EndScore, Ended, Listeners, Position, Progress, Silent, Watched,
};
pub use project::{Environment, Places, Project, Roots};
pub use provenance::{code, load_average, peak_memory, timestamp};
pub use results::{Arms, Collected, Restored, collect, read_results, restore, upgrade_results};
pub use search::UnequalSearch;
pub use spec::{
    DivergenceWork, Floor, FloorWork, Information, LogisticSettings, ProbeInput, ProbeWork,
    ProbedStates, RunSpec, SparseWork, Stale, TuneWork, Work,
};
pub use store::{Phases, State, Store};
pub use timing::{Noise, TimingEvent, TimingRequest, TimingSummary, time};
pub use work::{HIDDEN, Prepared};
