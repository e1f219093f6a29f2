//! Scores, intervals, significance tests, sparse features and linear models, as arithmetic on slices.
//!
//! [`metrics`] turns gold and predicted classes, numbers or tags into scores, [`summary`] describes a sample of scores,
//! [`significance`] compares two of them, [`power`] computes the smallest difference that a comparison could have
//! detected, [`curve`] relates scores to training time. [`ensemble`] lets several classifiers vote. [`sparse`] turns
//! texts into a [`Csr`] matrix as scikit-learn's vectorisers do, and [`linear`] fits regressions to it and to [`Dense`]
//! matrices. [`information`] estimates the information of vectors about classes, and [`divergence`] measures how much
//! the words of two texts differ. [`stratified_folds`] are scikit-learn's, and [`RandomState`] is NumPy's.
//!
//! This crate knows no files, no tensors and no papers. Arithmetic here does not return errors: undefined results are
//! `None`, and invalid input (two slices of different length) fails an assertion.

pub mod curve;
pub mod divergence;
pub mod ensemble;
mod folds;
pub mod information;
pub mod linear;
mod matrix;
pub mod metrics;
pub mod number;
pub mod power;
mod random_state;
pub mod significance;
pub mod sparse;
mod student;
pub mod summary;

pub use curve::Curve;
pub use divergence::{Terms, count_terms, jensen_shannon, term_divergence};
pub use ensemble::{Vote, mean_probabilities, predict_together};
pub use folds::stratified_folds;
pub use information::{Edge, EdgeEstimate, information_bound};
pub use linear::{
    Chosen, Design, Fitted, FittedClasses, Linear, Logistic, Scaler, Solver, logistic_cv, ridge_cv,
    ridge_path, ridge_path_sparse,
};
pub use matrix::{Dense, Matrix, Real};
pub use metrics::*;
pub use power::{PlannedSample, minimal_detectable_difference};
pub use random_state::RandomState;
pub use significance::{
    Bootstrap, Correlation, Estimate, HedgesG, Pairing, Permutation, Tost, binomial_tails,
    cohens_d, hedges_g, holm, paired_bootstrap_of, pearson_test, permutation_test, spearman_test,
};
pub use sparse::{Csr, Features, Vectorizer, tokens};
pub use student::t_two_sided_p;
pub use summary::{Interval, mean, quartiles, sd, sd_interval, t_interval};
