//! Language models: encoders with the heads they are pre-trained with.

mod bilm;
mod bilm_init;
mod masked;
mod sampling;
mod segments;

pub use bilm::{Bilm, BilmConfig, BilmLikelihood};
pub use bilm_init::BilmInit;
pub use masked::{MaskedLm, MaskedLmConfig};
pub use sampling::{LogUniform, Samples};
pub use segments::Segments;
