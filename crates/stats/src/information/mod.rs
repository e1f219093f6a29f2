//! Estimators of the mutual information between vectors and classes, in bits.

mod bound;
mod edge;

pub use bound::information_bound;
pub use edge::{Edge, EdgeEstimate};
