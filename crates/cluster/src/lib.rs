//! SLURM: job scripts, submission, and what the scheduler says about its jobs.
//!
//! A [`Request`] becomes the text of a script that a person can read and submit again; [`Slurm`] calls `sbatch`,
//! `squeue`, `sacct`, `scancel` and `scontrol`; a [`Submission`] is the record of what was submitted, kept next to
//! the scripts and logs.
//!
//! The scheduler's word is a hint and decides nothing: a job that it calls completed may have failed, and one that has
//! done its work may be started again. This crate knows neither runs nor experiments; which work is done is read from
//! published results elsewhere.

mod commands;
mod limit;
mod listing;
mod quote;
mod script;
mod state;
mod submission;

pub use commands::Slurm;
pub use limit::time_limit;
pub use listing::Job;
pub use script::Request;
pub use state::{JobState, Meaning};
pub use submission::Submission;
