//! The products of the centred columns of a matrix with each other.

use super::wide::{Work, wide};
use crate::matrix::{Dense, Real};

/// Rows copied, centred, into one block, which stays in the second cache.
const ROWS: usize = 64;
/// A tile of products kept in registers over a block: so many columns by so many.
const TALL: usize = 4;
const WIDE: usize = 16;

/// (X - 1 mᵀ)ᵀ (X - 1 mᵀ), full, row after row: `[columns, columns]`.
pub(super) fn gram<T: Real>(x: &Dense<T>, means: &[f64]) -> Vec<f64> {
    let columns = x.n_columns();
    let width = columns.next_multiple_of(WIDE);
    let mut products = vec![0.0; width * width];
    let mut block = vec![0.0; ROWS * width];
    for from in (0..x.n_rows()).step_by(ROWS) {
        let rows = ROWS.min(x.n_rows() - from);
        for (k, to) in block.chunks_exact_mut(width).take(rows).enumerate() {
            for ((to, &value), mean) in to.iter_mut().zip(x.row(from + k)).zip(means) {
                *to = value.into() - mean;
            }
        }
        wide(Block {
            values: &block[..rows * width],
            width,
            products: &mut products,
        });
    }
    let mut full = vec![0.0; columns * columns];
    for i in 0..columns {
        for j in 0..columns {
            // Only tiles on and above the diagonal were filled.
            let (low, high) = (i.min(j), i.max(j));
            full[i * columns + j] = products[low * width + high];
        }
    }
    full
}

/// Adds the products of some rows.
struct Block<'a> {
    values: &'a [f64],
    width: usize,
    products: &'a mut [f64],
}

impl Work for Block<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let width = self.width;
        for i in (0..width).step_by(TALL) {
            for j in (i / WIDE * WIDE..width).step_by(WIDE) {
                let mut sums = [[0.0; WIDE]; TALL];
                for row in self.values.chunks_exact(width) {
                    let left: &[f64; TALL] = row[i..].first_chunk().expect("width is padded");
                    let right: &[f64; WIDE] = row[j..].first_chunk().expect("width is padded");
                    for (sums, left) in sums.iter_mut().zip(left) {
                        for (sum, right) in sums.iter_mut().zip(right) {
                            *sum += left * right;
                        }
                    }
                }
                for (k, sums) in sums.iter().enumerate() {
                    let at = (i + k) * width + j;
                    for (product, sum) in self.products[at..at + WIDE].iter_mut().zip(sums) {
                        *product += sum;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_centred_columns_over_several_blocks() {
        let (rows, columns) = (ROWS + 7, WIDE + 3);
        let values: Vec<f64> = (0..rows * columns)
            .map(|i| ((i * i) % 17) as f64 / 4.0 - 1.5)
            .collect();
        let x = Dense::new(&values, columns);
        let means = x.means();
        let found = gram(&x, &means);
        for i in 0..columns {
            for j in 0..columns {
                let plain: f64 = x
                    .rows()
                    .map(|row| (row[i] - means[i]) * (row[j] - means[j]))
                    .sum();
                assert!(
                    (found[i * columns + j] - plain).abs() < 1e-10,
                    "{i} {j}: {} {plain}",
                    found[i * columns + j]
                );
            }
        }
    }
}
