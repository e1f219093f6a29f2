//! Downloads and archives.

mod drill;
mod faults;
mod hub;
mod malformed;
mod processes;
mod python;
mod support;
