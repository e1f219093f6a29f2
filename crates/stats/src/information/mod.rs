//! How much vectors tell about classes: estimators of mutual information, in bits.

mod bound;
mod edge;
mod random_state;

pub use bound::information_bound;
pub use edge::{Edge, EdgeEstimate};
