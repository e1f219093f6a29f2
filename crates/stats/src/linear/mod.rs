//! Linear models on sparse features.

mod lbfgs;
mod line_search;
mod logistic;
mod memory;
mod rows;

pub use logistic::{Fitted, Logistic};
