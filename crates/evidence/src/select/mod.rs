//! Selection of runs: rows of the results as [`runs::Runs`], selected by conditions, as samples and as sides on tasks.

pub mod by_layer;
pub mod choice;
pub(crate) mod dev_size;
pub mod ensemble;
pub mod label;
pub mod learned;
pub mod panel;
pub mod per_run;
pub(crate) mod predictions;
pub mod retime;
pub mod runs;
pub mod sample;
pub mod scope;
pub(crate) mod tensor_memory;
pub(crate) mod training_data;
