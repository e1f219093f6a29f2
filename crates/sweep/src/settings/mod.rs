//! Settings as TOML tables, as experiment files write them: merged and expanded, and read as typed values, with errors that
//! name what exists.

pub(crate) mod errors;
pub(crate) mod merge;
pub(crate) mod suggest;
pub(crate) mod typed;
