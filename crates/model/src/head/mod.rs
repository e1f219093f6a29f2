//! Heads: what turns an encoder's states into scores for a task.

mod classifier;

pub use classifier::{ClassifierHead, HeadSpec, Pooling};
