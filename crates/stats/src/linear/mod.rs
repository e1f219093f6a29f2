//! Linear models on sparse and dense features: logistic and ridge regression, with penalties chosen by cross-validation
//! where wanted, and least squares on dense ones.

mod blocks;
mod cholesky;
mod classes;
mod columns;
mod cross_validation;
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
mod ridge;
mod rows;
mod scaler;
mod symmetric;
pub(crate) mod wide;

pub use cross_validation::{Chosen, Design, logistic_cv, ridge_cv};
pub use dense::FittedClasses;
pub use least_squares::Linear;
pub use logistic::{Fitted, Logistic, Solver};
pub use ridge::{ridge_path, ridge_path_sparse};
pub use scaler::Scaler;
