//! Evidence for claims: groups of runs, checks whether they learned, comparisons and verdicts.
//!
//! A [`plan`] names groups of runs and tasks; [`select`] finds their rows among those of a results folder and says
//! which runs learned; [`compare`] compares two sides and is the one source of p-values and intervals; [`claims`] come
//! to a verdict. Each knows only those before it.
//!
//! This crate knows nothing of tables, figures or pages, and nothing of training. It reports what it does not find.

#![cfg_attr(test, allow(clippy::unwrap_used))]

#[macro_use]
mod kinds;

pub mod claims;
pub mod compare;
pub mod plan;
pub mod select;
pub mod text;
pub mod toml_file;

#[cfg(test)]
mod fixture;
