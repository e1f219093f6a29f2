//! Linear models on sparse features.

mod lbfgs;
mod line_search;
mod logistic;

pub use logistic::{Fitted, Logistic};
