//! Sums over the rows of a dense matrix, for each column.

use super::wide::{LANES, Unit, Work, wide};
use crate::matrix::{Dense, Real};

/// The mean of each column; zeros where there are no rows.
pub(super) fn means<T: Real>(x: &Dense<T>) -> Vec<f64> {
    wide(Means { x, around: None })
}

/// The mean square of each column's distances from `means`.
pub(super) fn variances<T: Real>(x: &Dense<T>, means: &[f64]) -> Vec<f64> {
    assert_eq!(x.n_columns(), means.len(), "a mean for each column");
    let around = Some(means);
    wide(Means { x, around })
}

/// Means of the values, or of the squares of their distances from a number for each column.
struct Means<'a, T> {
    x: &'a Dense<'a, T>,
    around: Option<&'a [f64]>,
}

impl<T: Real> Work for Means<'_, T> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run<U: Unit>(self, unit: U) -> Vec<f64> {
        let mut sums = vec![0.0; self.x.n_columns()];
        let minus = unit.splat(-1.0);
        for row in self.x.rows() {
            let (chunks, rest) = row.as_chunks::<LANES>();
            let (sum_chunks, sum_rest) = sums.as_chunks_mut::<LANES>();
            let Some(around) = self.around else {
                for (sum, values) in sum_chunks.iter_mut().zip(chunks) {
                    let one = unit.splat(1.0);
                    let new = unit.multiply_add(T::load(unit, values), one, unit.load(sum));
                    unit.store(new, sum);
                }
                for (sum, &value) in sum_rest.iter_mut().zip(rest) {
                    *sum += value.into();
                }
                continue;
            };
            let (around, around_rest) = around.as_chunks::<LANES>();
            for ((sum, values), around) in sum_chunks.iter_mut().zip(chunks).zip(around) {
                let off = unit.multiply_add(unit.load(around), minus, T::load(unit, values));
                unit.store(unit.multiply_add(off, off, unit.load(sum)), sum);
            }
            for ((sum, &value), around) in sum_rest.iter_mut().zip(rest).zip(around_rest) {
                *sum += (value.into() - around).powi(2);
            }
        }
        let n = self.x.n_rows().max(1) as f64;
        sums.into_iter().map(|sum| sum / n).collect()
    }
}
