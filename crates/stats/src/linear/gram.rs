//! The products of the centred columns of a matrix with each other.

use super::wide::{LANES, Unit, Work, wide};
use crate::matrix::{Dense, Real};

/// Rows copied, centred, into one block, which stays in the second cache, two panels of it in the first.
const ROWS: usize = 128;
/// Number of columns of a panel, in which the block is stored row by row.
const WIDE: usize = 2 * LANES;
/// Number of columns of one panel that are multiplied with a whole panel at a time, as a tile of products kept in
/// registers over a block.
const TALL: usize = 8;

/// A row of a panel.
type Strip = [f64; WIDE];

/// (X - 1 mᵀ)ᵀ (X - 1 mᵀ), full, row after row: `[columns, columns]`.
pub(super) fn gram<T: Real>(x: &Dense<T>, means: &[f64]) -> Vec<f64> {
    let columns = x.n_columns();
    let width = columns.next_multiple_of(WIDE);
    let mut products = vec![0.0; width * width];
    let mut block = vec![[0.0; WIDE]; width / WIDE * ROWS];
    for from in (0..x.n_rows()).step_by(ROWS) {
        let rows = ROWS.min(x.n_rows() - from);
        for k in 0..rows {
            let strips = x.row(from + k).chunks(WIDE).zip(means.chunks(WIDE));
            for (panel, (values, means)) in strips.enumerate() {
                let to = &mut block[panel * rows + k];
                for ((to, &value), mean) in to.iter_mut().zip(values).zip(means) {
                    *to = value.into() - mean;
                }
            }
        }
        wide(Block {
            panels: &block[..width / WIDE * rows],
            rows,
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
    /// `[panels, rows]`
    panels: &'a [Strip],
    rows: usize,
    products: &'a mut [f64],
}

impl Work for Block<'_> {
    type Output = ();

    #[inline(always)]
    fn run<U: Unit>(self, unit: U) {
        let width = self.panels.len() / self.rows * WIDE;
        for (i, left) in self.panels.chunks_exact(self.rows).enumerate() {
            for (j, right) in self.panels.chunks_exact(self.rows).enumerate().skip(i) {
                for half in 0..WIDE / TALL {
                    let from = half * TALL;
                    let sums = tile(unit, left, from, right);
                    for (k, sums) in sums.iter().enumerate() {
                        let at = (i * WIDE + from + k) * width + j * WIDE;
                        let to = self.products[at..at + WIDE].as_chunks_mut::<LANES>().0;
                        for (to, sum) in to.iter_mut().zip(sums) {
                            let sum = unit.multiply_add(*sum, unit.splat(1.0), unit.load(to));
                            unit.store(sum, to);
                        }
                    }
                }
            }
        }
    }
}

/// The products of some columns of one panel, those after `from`, with all of another.
#[inline(always)]
fn tile<U: Unit>(
    unit: U,
    left: &[Strip],
    from: usize,
    right: &[Strip],
) -> [[U::Vector; WIDE / LANES]; TALL] {
    let mut sums = [[unit.splat(0.0); WIDE / LANES]; TALL];
    for (left, right) in left.iter().zip(right) {
        let left: &[f64; TALL] = left[from..].first_chunk().expect("a part of a panel");
        let right = right.as_chunks::<LANES>().0;
        let right = [unit.load(&right[0]), unit.load(&right[1])];
        for k in 0..TALL {
            let by = unit.splat(left[k]);
            for (sum, right) in sums[k].iter_mut().zip(&right) {
                *sum = unit.multiply_add(by, *right, *sum);
            }
        }
    }
    sums
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
