//! Products of four rows of a dense matrix at a time.
//!
//! The vector that four rows share is read once for all of them, and a block of four rows stays in the first cache
//! between the product with the weights and the sum into the gradient, so the matrix is read once in an evaluation.
//! All of it is compiled for the vector units of the machine.

use super::wide::{LANES, Unit, Work, wide};
use crate::matrix::{Dense, Real};

/// Rows worked on at a time.
pub(super) const BLOCK: usize = 4;

/// Four rows from `from` on; beyond the last row the last one is repeated, and must get the factor 0.
#[inline(always)]
pub(super) fn rows_from<'a, T: Real>(x: &Dense<'a, T>, from: usize) -> [&'a [T]; BLOCK] {
    let last = x.n_rows() - 1;
    std::array::from_fn(|k| x.row((from + k).min(last)))
}

/// The product of each row of `x` with `weights`, plus `offset`.
pub(super) fn products<T: Real>(x: &Dense<T>, weights: &[f64], offset: f64) -> Vec<f64> {
    assert_eq!(x.n_columns(), weights.len(), "a weight for each column");
    wide(Products { x, weights, offset })
}

struct Products<'a, T> {
    x: &'a Dense<'a, T>,
    weights: &'a [f64],
    offset: f64,
}

impl<T: Real> Work for Products<'_, T> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run<U: Unit>(self, unit: U) -> Vec<f64> {
        let mut all = vec![self.offset; self.x.n_rows()];
        for (all, from) in all.chunks_mut(BLOCK).zip((0..).step_by(BLOCK)) {
            let products = multiply(unit, rows_from(self.x, from), self.weights);
            for (to, product) in all.iter_mut().zip(products) {
                *to += product;
            }
        }
        all
    }
}

/// Adds each row of `x` times its factor to `sum`.
pub(super) fn add_rows<T: Real>(x: &Dense<T>, factors: &[f64], sum: &mut [f64]) {
    assert_eq!(x.n_rows(), factors.len(), "a factor for each row");
    wide(Sum { x, factors, sum });
}

struct Sum<'a, T> {
    x: &'a Dense<'a, T>,
    factors: &'a [f64],
    sum: &'a mut [f64],
}

impl<T: Real> Work for Sum<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<U: Unit>(self, unit: U) {
        for (chunk, from) in self.factors.chunks(BLOCK).zip((0..).step_by(BLOCK)) {
            let mut factors = [0.0; BLOCK];
            factors[..chunk.len()].copy_from_slice(chunk);
            add(unit, rows_from(self.x, from), factors, self.sum);
        }
    }
}

/// The product of each row with `weights`.
#[inline(always)]
pub(super) fn multiply<T: Real, U: Unit>(
    unit: U,
    rows: [&[T]; BLOCK],
    weights: &[f64],
) -> [f64; BLOCK] {
    let (chunks, rest) = weights.as_chunks::<LANES>();
    let heads = rows.map(|row| &row.as_chunks::<LANES>().0[..chunks.len()]);
    let mut sums = [unit.splat(0.0); BLOCK];
    for (c, weights) in chunks.iter().enumerate() {
        let weights = unit.load(weights);
        for k in 0..BLOCK {
            sums[k] = unit.multiply_add(T::load(unit, &heads[k][c]), weights, sums[k]);
        }
    }
    let whole = chunks.len() * LANES;
    let mut products = [0.0; BLOCK];
    for k in 0..BLOCK {
        let tail = rows[k][whole..].iter().zip(rest);
        let tail: f64 = tail.map(|(&value, weight)| value.into() * weight).sum();
        products[k] = unit.sum(sums[k]) + tail;
    }
    products
}

/// Adds each row times its factor to `sum`.
#[inline(always)]
pub(super) fn add<T: Real, U: Unit>(
    unit: U,
    rows: [&[T]; BLOCK],
    factors: [f64; BLOCK],
    sum: &mut [f64],
) {
    let (chunks, rest) = sum.as_chunks_mut::<LANES>();
    let whole = chunks.len() * LANES;
    let heads = rows.map(|row| &row.as_chunks::<LANES>().0[..chunks.len()]);
    let mut by = [unit.splat(0.0); BLOCK];
    for k in 0..BLOCK {
        by[k] = unit.splat(factors[k]);
    }
    for (c, sum) in chunks.iter_mut().enumerate() {
        let mut new = unit.load(sum);
        for k in 0..BLOCK {
            new = unit.multiply_add(by[k], T::load(unit, &heads[k][c]), new);
        }
        unit.store(new, sum);
    }
    for (offset, sum) in rest.iter_mut().enumerate() {
        for k in 0..BLOCK {
            *sum += factors[k] * rows[k][whole + offset].into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Both<'a> {
        rows: [&'a [f32]; BLOCK],
        weights: &'a [f64],
        factors: [f64; BLOCK],
    }

    impl Work for Both<'_> {
        type Output = ([f64; BLOCK], Vec<f64>);

        fn run<U: Unit>(self, unit: U) -> Self::Output {
            let mut sum = vec![1.0; self.weights.len()];
            add(unit, self.rows, self.factors, &mut sum);
            (multiply(unit, self.rows, self.weights), sum)
        }
    }

    #[test]
    fn blocks_of_rows_with_a_rest_are_multiplied_and_added() {
        let values: Vec<f32> = (0..5 * 11).map(|i| (i % 7) as f32 - 3.0).collect();
        let x = Dense::new(&values, 11);
        let weights: Vec<f64> = (0..11).map(|i| f64::from(i) / 4.0).collect();
        for from in [0, 4] {
            let rows = rows_from(&x, from);
            let factors = [1.0, -2.0, 0.5, 0.0];
            let (products, sum) = wide(Both {
                rows,
                weights: &weights,
                factors,
            });
            for (k, product) in products.iter().enumerate() {
                let row = x.row((from + k).min(4));
                let plain: f64 = row
                    .iter()
                    .zip(&weights)
                    .map(|(&v, w)| f64::from(v) * w)
                    .sum();
                assert_eq!(*product, plain, "row {}", from + k);
            }
            for (column, sum) in sum.iter().enumerate() {
                let added: f64 = (0..BLOCK)
                    .map(|k| factors[k] * f64::from(x.row((from + k).min(4))[column]))
                    .sum();
                assert_eq!(*sum, 1.0 + added, "column {column}");
            }
        }
    }
}
