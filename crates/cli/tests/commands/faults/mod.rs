//! Commands under faults: errors of the file system, kills, power losses, damaged files, clocks that jump, and other
//! versions of the program. Each test can be run alone; the thorough ones are for `./justw test-faults`.
//!
//! `docs/reliability.md` has what was tried and what came of it.
#![cfg(unix)]

mod clocks;
mod disk;
mod flips;
mod jobs;
mod kills;
pub mod layer;
mod power;
mod versions;
mod writes;
