//! The commands of `totune`, each run as a process of its own, mostly in a checkout of its own.
//!
//! All of them are one program: tests of one area fill the time in which those of another wait, and it is linked once.

mod anywhere;
mod bad_input;
mod bench;
mod bundle;
mod checkpoints;
mod cluster;
mod compare;
mod curves;
mod data;
mod encoders;
mod estimate;
mod faults;
mod fetch;
mod hangups;
mod keep;
mod label_sets;
mod leases;
mod logs;
mod own_experiment;
mod pretrain;
mod refusals;
mod resume;
mod search;
mod slurm;
mod submissions;
mod submit;
mod support;
