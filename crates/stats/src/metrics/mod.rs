//! Scores: gold and predicted values in, numbers out.
//!
//! One file for each family: [`accuracy`], F1 and the like of single-label classifiers ([`averaged`]), [`matthews`],
//! several labels of each example ([`multi_label_scores`]), labels in an order ([`quadratic_kappa`]), correlations and
//! errors of regressions ([`pearson`]), calibration of probabilities ([`brier_score`]), and spans of
//! taggers ([`SpanScores`], under a [`SpanEvaluation`] of the tags). [`classification_scores`], [`regression_scores`] and
//! [`tagging_scores`] give all of a family under the names of the result rows.

mod calibration;
mod classes;
mod correlation;
mod counts;
mod label_sets;
mod matthews;
mod ordinal;
mod rows;
mod spans;
mod tagging;
mod tags;

pub use calibration::{brier_score, expected_calibration_error};
pub use classes::{
    Average, accuracy, averaged, f1_batch_mean, f1_macro, f1_micro, f1_upper_bound, f1_weighted,
    for_class,
};
pub use correlation::{mean_squared_error, pearson, pearson_spearman, spearman, spearman_textbook};
pub use counts::{Counts, PrecisionRecallF1};
pub use label_sets::{
    average_precision, exact_match, for_labels, label_average_precision, label_counts,
    label_ranking_average_precision, mean_average_precision, multi_label_scores,
};
pub use matthews::matthews;
pub use ordinal::{mean_absolute_step, ordinal_scores, quadratic_kappa};
pub use rows::{
    CLASSIFICATION_EXTRAS, classification_scores, classification_scores_with, regression_scores,
    tagging_scores,
};
pub use spans::{Span, Spans, spans};
pub use tagging::SpanScores;
pub use tags::{Kind, Scheme, SpanEvaluation, parse_tag};
