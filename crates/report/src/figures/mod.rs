//! Figures: from the plan and the runs to panels, each with the table of its numbers.

pub(crate) mod curves;
pub(crate) mod figure;
pub(crate) mod layers;
pub(crate) mod phases;
pub mod portrait;
pub(crate) mod search;
