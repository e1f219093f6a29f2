//! Correlations of two rows over the columns of a table.

use totune_evidence::compare::grid::{Filled, correlation_text};
use totune_evidence::select::sample::LEVEL;
use totune_stats::{pearson_test, spearman_test};

use super::Correlate;

/// A sentence on the correlation of two rows.
pub(super) fn sentence(asked: &Correlate, filled: &Filled) -> String {
    let (x, y) = (filled.row(&asked.x), filled.row(&asked.y));
    let found = filled.both(&asked.x, &asked.y);
    let what = format!("correlation of {} with {}", y.title, x.title);
    let (xs, ys): (Vec<f64>, Vec<f64>) = found.pairs.into_iter().unzip();
    match pearson_test(&xs, &ys, LEVEL).zip(spearman_test(&xs, &ys, LEVEL)) {
        None => format!(
            "{what}: none, because {} of {} columns have both",
            xs.len(),
            found.columns
        ),
        Some((pearson, spearman)) => format!(
            "{what}, over {} columns: {}; {}",
            xs.len(),
            correlation_text("Pearson", &pearson),
            correlation_text("Spearman", &spearman)
        ),
    }
}
