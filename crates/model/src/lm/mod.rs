//! Language models: encoders with the heads they are pre-trained with.

mod masked;

pub use masked::{MaskedLm, MaskedLmConfig};
