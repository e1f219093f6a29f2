//! Heads: from an encoder's hidden states to scores.

mod classifier;
mod mix;
mod readout;

pub use classifier::{ClassifierHead, HeadSpec};
pub use mix::ScalarMix;
pub use readout::{Layers, Pooling, Readout};
