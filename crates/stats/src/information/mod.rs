//! Estimators of the mutual information between vectors and classes, in bits.

mod bound;
mod edge;
mod random_state;

pub use bound::information_bound;
pub use edge::{Edge, EdgeEstimate};
