//! Adaptations as a user of the crate trains them.

mod common;
mod timing;
mod training;
mod waiting;
