//! Checkpoints of others: values, damage, and files that lie.

mod convert;
mod drill;
mod formats;
mod hostile;
mod malformed;
