//! Values that are no numbers among numbers.

use super::shown::shown;
use super::spellings::{is_missing, place};
use crate::format::Table;
use std::collections::BTreeSet;

/// The least share of rows with a number that makes a column one of numbers.
const NEARLY: (usize, usize) = (9, 10);

/// Values that are no numbers, in a column where nearly all are, or where the others look like missing values.
pub(super) struct Odd {
    /// The first one: ``199 of 200 values are numbers, but line 52 has `NaN` ``.
    pub finding: String,
    /// True if the numbers are too many or too fine to be classes.
    pub among_scores: bool,
}

/// Returns whether a field is a number that a score can be.
pub(super) fn is_number(value: &str) -> bool {
    value.trim().parse::<f64>().is_ok_and(f64::is_finite)
}

/// The values of a column that are no numbers among numbers. Fields that are `unlabelled` do not count; up to `few`
/// different integers may be classes.
pub(super) fn odd(
    table: &Table,
    column: usize,
    unlabelled: Option<&str>,
    few: usize,
) -> Option<Odd> {
    let (mut n, mut all) = (0, 0);
    let mut numbers = BTreeSet::new();
    let mut first = None;
    let mut are_missing = true;
    for row in table.rows() {
        let value = row.fields[column].as_ref();
        if Some(value) == unlabelled {
            continue;
        }
        all += 1;
        if is_number(value) {
            n += 1;
            numbers.insert(value);
        } else {
            first.get_or_insert((row.line, value));
            are_missing &= is_missing(value);
        }
    }
    let (line, value) = first?;
    let nearly = n * NEARLY.1 >= all * NEARLY.0;
    (n > 0 && (nearly || are_missing)).then(|| Odd {
        finding: format!(
            "{n} of {all} values are numbers, but {} has `{}`",
            place(table, line),
            shown(value)
        ),
        among_scores: numbers.len() > few
            || numbers.iter().any(|value| value.parse::<i64>().is_err()),
    })
}
