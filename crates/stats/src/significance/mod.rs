//! Significance, effect sizes and intervals of the difference between two samples.

mod bootstrap;
mod correlation;
mod effect;
mod estimate;
mod holm;
mod permutation;
mod share;

pub use bootstrap::{Bootstrap, paired_bootstrap_of};
pub use correlation::{Correlation, pearson_test, spearman_test};
pub use effect::{HedgesG, cohens_d, hedges_g};
pub use estimate::{Estimate, Tost};
pub use holm::holm;
pub use permutation::{Pairing, Permutation, permutation_test};
pub use share::binomial_tails;
