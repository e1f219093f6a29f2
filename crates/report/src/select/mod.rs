//! Which runs: rows of the results as [`runs::Runs`], selected by conditions, as samples and as sides on tasks.

pub(crate) mod ensemble;
pub(crate) mod label;
pub(crate) mod learned;
pub(crate) mod panel;
pub(crate) mod per_run;
pub(crate) mod retime;
pub(crate) mod runs;
pub(crate) mod sample;
pub(crate) mod scope;
pub(crate) mod training_data;
