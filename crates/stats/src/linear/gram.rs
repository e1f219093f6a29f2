//! The products of the centred columns of a matrix with each other.

use super::wide::{LANES, SINGLES, Unit, Work, wide};
use crate::matrix::{Dense, Real};

/// Rows copied, centred, into one block, which stays in the second cache, two panels of it in the first.
const ROWS: usize = 128;
/// Number of columns of a panel, in which the block is stored row by row.
const WIDE: usize = 16;
/// Number of columns of one panel that are multiplied with a whole panel at a time, as a tile of products kept in
/// registers over a block.
const TALL: usize = 8;

/// A row of a panel.
type Strip<N> = [N; WIDE];

/// Precision in which products are added up.
pub(super) trait Precision: Copy + Default {
    /// A strip in the registers of a unit.
    type Vector<U: Unit>: Copy;

    fn of(value: f64) -> Self;
    fn splat<U: Unit>(unit: U, value: Self) -> Self::Vector<U>;
    fn load<U: Unit>(unit: U, strip: &Strip<Self>) -> Self::Vector<U>;
    fn store<U: Unit>(unit: U, from: Self::Vector<U>, to: &mut Strip<Self>);
    fn multiply_add<U: Unit>(
        unit: U,
        a: Self::Vector<U>,
        b: Self::Vector<U>,
        c: Self::Vector<U>,
    ) -> Self::Vector<U>;
}

impl Precision for f64 {
    type Vector<U: Unit> = [U::Vector; WIDE / LANES];

    fn of(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn splat<U: Unit>(unit: U, value: Self) -> Self::Vector<U> {
        [unit.splat(value); WIDE / LANES]
    }

    #[inline(always)]
    fn load<U: Unit>(unit: U, strip: &Strip<Self>) -> Self::Vector<U> {
        let halves = strip.as_chunks::<LANES>().0;
        [unit.load(&halves[0]), unit.load(&halves[1])]
    }

    #[inline(always)]
    fn store<U: Unit>(unit: U, from: Self::Vector<U>, to: &mut Strip<Self>) {
        let halves = to.as_chunks_mut::<LANES>().0;
        unit.store(from[0], &mut halves[0]);
        unit.store(from[1], &mut halves[1]);
    }

    #[inline(always)]
    fn multiply_add<U: Unit>(
        unit: U,
        a: Self::Vector<U>,
        b: Self::Vector<U>,
        c: Self::Vector<U>,
    ) -> Self::Vector<U> {
        [
            unit.multiply_add(a[0], b[0], c[0]),
            unit.multiply_add(a[1], b[1], c[1]),
        ]
    }
}

const _: () = assert!(WIDE == SINGLES && WIDE == 2 * LANES);

impl Precision for f32 {
    type Vector<U: Unit> = U::Singles;

    fn of(value: f64) -> Self {
        value as f32
    }

    #[inline(always)]
    fn splat<U: Unit>(unit: U, value: Self) -> Self::Vector<U> {
        unit.splat_singles(value)
    }

    #[inline(always)]
    fn load<U: Unit>(unit: U, strip: &Strip<Self>) -> Self::Vector<U> {
        unit.load_singles(strip)
    }

    #[inline(always)]
    fn store<U: Unit>(unit: U, from: Self::Vector<U>, to: &mut Strip<Self>) {
        unit.store_singles(from, to);
    }

    #[inline(always)]
    fn multiply_add<U: Unit>(
        unit: U,
        a: Self::Vector<U>,
        b: Self::Vector<U>,
        c: Self::Vector<U>,
    ) -> Self::Vector<U> {
        unit.multiply_add_singles(a, b, c)
    }
}

/// (X - 1 mᵀ)ᵀ (X - 1 mᵀ), full, row after row: `[columns, columns]`.
pub(super) fn gram<T: Real, P: Precision>(x: &Dense<T>, means: &[f64]) -> Vec<P> {
    let columns = x.n_columns();
    let width = columns.next_multiple_of(WIDE);
    let mut products = vec![P::default(); width * width];
    let mut block = vec![[P::default(); WIDE]; width / WIDE * ROWS];
    for from in (0..x.n_rows()).step_by(ROWS) {
        let rows = ROWS.min(x.n_rows() - from);
        for k in 0..rows {
            let strips = x.row(from + k).chunks(WIDE).zip(means.chunks(WIDE));
            for (panel, (values, means)) in strips.enumerate() {
                let to = &mut block[panel * rows + k];
                for ((to, &value), mean) in to.iter_mut().zip(values).zip(means) {
                    *to = P::of(value.into() - mean);
                }
            }
        }
        wide(Block {
            panels: &block[..width / WIDE * rows],
            rows,
            products: &mut products,
        });
    }
    let mut full = vec![P::default(); columns * columns];
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
struct Block<'a, P> {
    /// `[panels, rows]`
    panels: &'a [Strip<P>],
    rows: usize,
    products: &'a mut [P],
}

impl<P: Precision> Work for Block<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run<U: Unit>(self, unit: U) {
        let width = self.panels.len() / self.rows * WIDE;
        for (i, left) in self.panels.chunks_exact(self.rows).enumerate() {
            for (j, right) in self.panels.chunks_exact(self.rows).enumerate().skip(i) {
                for half in 0..WIDE / TALL {
                    let from = half * TALL;
                    let sums = tile(unit, left, from, right);
                    for (k, &sum) in sums.iter().enumerate() {
                        let at = (i * WIDE + from + k) * width + j * WIDE;
                        let to = self.products[at..].first_chunk_mut().expect("a strip");
                        let one = P::splat(unit, P::of(1.0));
                        let sum = P::multiply_add(unit, sum, one, P::load(unit, to));
                        P::store(unit, sum, to);
                    }
                }
            }
        }
    }
}

/// The products of some columns of one panel, those after `from`, with all of another.
#[inline(always)]
fn tile<U: Unit, P: Precision>(
    unit: U,
    left: &[Strip<P>],
    from: usize,
    right: &[Strip<P>],
) -> [P::Vector<U>; TALL] {
    let mut sums = [P::splat(unit, P::default()); TALL];
    for (left, right) in left.iter().zip(right) {
        let left: &[P; TALL] = left[from..].first_chunk().expect("a part of a panel");
        let right = P::load(unit, right);
        for k in 0..TALL {
            sums[k] = P::multiply_add(unit, P::splat(unit, left[k]), right, sums[k]);
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
        let found: Vec<f64> = gram(&x, &means);
        let single: Vec<f32> = gram(&x, &means);
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
                let single = f64::from(single[i * columns + j]);
                assert!(
                    (single - plain).abs() < 1e-4 * plain.abs().max(1.0),
                    "{single} {plain}"
                );
            }
        }
    }
}
