//! Linear models: logistic regression on sparse and dense features, least squares on dense ones.

mod blocks;
mod cholesky;
mod columns;
mod dense;
mod gram;
mod inverse;
mod kernels;
mod lbfgs;
mod least_squares;
mod line_search;
mod logistic;
mod memory;
mod precondition;
mod rows;
mod symmetric;
mod wide;

pub use dense::FittedDense;
pub use kernels::Kernels;
pub use least_squares::Linear;
pub use logistic::{Fitted, Logistic, Solver};
