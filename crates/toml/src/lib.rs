//! TOML files read into types, folders of cards, and the name somebody probably meant.
//!
//! Every card, experiment, preset and plan of a report is read here, so that an error names the file, the line, the
//! key, and the nearest key that exists.

mod cards;
mod extends;
mod file;
mod near;

pub use cards::{CardFile, Cards};
pub use extends::{read_extended, read_extended_table, set_in};
pub use file::{explain, parse_toml, read_text, read_toml, unknown_name};
pub use near::{did_you_mean, near, quoted};
