//! One file for each command.

pub mod bench;
pub mod cluster;
pub mod collect;
pub mod compare;
pub mod completions;
pub mod curves;
pub mod data;
pub mod doctor;
pub mod encoders;
pub mod experiment;
pub mod fetch;
pub mod init;
pub mod papers;
pub mod predict;
pub mod pretrain;
pub mod report;
pub mod reproduce;
pub mod selection;
pub mod submit;
pub mod sweep;
pub mod train;
