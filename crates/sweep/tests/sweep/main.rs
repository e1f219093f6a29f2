//! Plans, runs and their rows.

mod experiments;
mod floors;
mod parts;
mod plans;
mod results;
mod runs;
mod support;
mod timing;
