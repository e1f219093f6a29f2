//! The one order in which rows are written.

use std::cmp::Ordering;

use crate::{EvalRow, PredictionRow, RunRow, Tables};

impl Tables {
    /// Brings the rows into the order of the files.
    ///
    /// Runs by paper, experiment and run id; scores by run id, phase, epoch, step, split and metric;
    /// predictions by run id, split, example id ([`natural`]) and position.
    pub fn sort(&mut self) {
        sort_runs(&mut self.runs);
        self.evals.sort_by(evals);
        self.predictions.sort_by(predictions);
    }
}

/// Brings runs into the order of their file.
pub(crate) fn sort_runs(rows: &mut [RunRow]) {
    rows.sort_by(runs);
}

fn runs(a: &RunRow, b: &RunRow) -> Ordering {
    (&a.paper, &a.experiment, &a.run_id).cmp(&(&b.paper, &b.experiment, &b.run_id))
}

fn evals(a: &EvalRow, b: &EvalRow) -> Ordering {
    (
        &a.run_id, a.phase, a.epoch, a.step, &a.split, &a.metric, a.is_final,
    )
        .cmp(&(
            &b.run_id, b.phase, b.epoch, b.step, &b.split, &b.metric, b.is_final,
        ))
}

fn predictions(a: &PredictionRow, b: &PredictionRow) -> Ordering {
    (&a.run_id, &a.split)
        .cmp(&(&b.run_id, &b.split))
        .then_with(|| natural(&a.example_id, &b.example_id))
        .then_with(|| a.position.cmp(&b.position))
}

/// Compares two texts with their runs of digits as numbers: `test-9` before `test-10`.
///
/// A total order: texts that agree in value but not in spelling (`7`, `07`) fall back to their bytes.
pub fn natural(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a.as_bytes(), b.as_bytes());
    loop {
        let (Some(&x), Some(&y)) = (left.first(), right.first()) else {
            return left.len().cmp(&right.len()).then_with(|| a.cmp(b));
        };
        let order = if x.is_ascii_digit() && y.is_ascii_digit() {
            numbers(take_digits(&mut left), take_digits(&mut right))
        } else {
            left = &left[1..];
            right = &right[1..];
            x.cmp(&y)
        };
        if order.is_ne() {
            return order;
        }
    }
}

fn take_digits<'a>(text: &mut &'a [u8]) -> &'a [u8] {
    let end = text
        .iter()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    *text = rest;
    digits
}

/// Compares numbers of any length: without leading zeros, the longer is the larger.
fn numbers(a: &[u8], b: &[u8]) -> Ordering {
    let significant = |digits: &[u8]| {
        digits
            .iter()
            .position(|&digit| digit != b'0')
            .unwrap_or(digits.len())
    };
    let (a, b) = (&a[significant(a)..], &b[significant(b)..]);
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_count_as_numbers() {
        check(&["10", "9", "1"], &["1", "9", "10"]);
        check(
            &["test-10", "test-9", "dev-11"],
            &["dev-11", "test-9", "test-10"],
        );
        check(&["a", "", "1"], &["", "1", "a"]);
        check(
            &["doc2-s10", "doc2-s9", "doc10-s1"],
            &["doc2-s9", "doc2-s10", "doc10-s1"],
        );
    }

    #[test]
    fn numbers_longer_than_any_integer_still_compare() {
        check(
            &["100000000000000000000001", "100000000000000000000000"],
            &["100000000000000000000000", "100000000000000000000001"],
        );
    }

    #[test]
    fn equal_values_spelt_differently_have_a_fixed_order() {
        check(&["7", "07", "007"], &["007", "07", "7"]);
    }

    #[track_caller]
    fn check(given: &[&str], expected: &[&str]) {
        let mut sorted = given.to_vec();
        sorted.sort_by(|a, b| natural(a, b));
        assert_eq!(sorted, expected);
    }
}
