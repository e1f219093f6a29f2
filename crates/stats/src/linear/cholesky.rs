//! Symmetric positive definite matrices as products of a triangle and its transpose.

use super::blocks::{BLOCK, multiply};
use super::wide::{LANES, Unit, Work, wide};

/// L of A = L Lᵀ.
pub(super) struct Cholesky {
    n: usize,
    /// `[n, n]`, whose entries above the diagonal are unused.
    l: Vec<f64>,
}

impl Cholesky {
    /// Factorises `a`, a full matrix `[n, n]`; `None` if it is not positive definite.
    pub fn new(a: Vec<f64>, n: usize) -> Option<Self> {
        assert_eq!(a.len(), n * n, "the matrix is square");
        let l = wide(Factor { a, n })?;
        Some(Self { n, l })
    }

    /// Number of rows of the matrix.
    pub fn n(&self) -> usize {
        self.n
    }

    /// L⁻¹ x, in the place of `x`.
    pub fn forward(&self, x: &mut [f64]) {
        assert_eq!(x.len(), self.n, "the vector is as long as the matrix");
        wide(Forward { of: self, x });
    }

    /// L⁻ᵀ x, in the place of `x`.
    pub fn backward(&self, x: &mut [f64]) {
        assert_eq!(x.len(), self.n, "the vector is as long as the matrix");
        wide(Backward { of: self, x });
    }

    /// A⁻¹ x, in the place of `x`.
    pub fn solve(&self, x: &mut [f64]) {
        self.forward(x);
        self.backward(x);
    }

    /// L x
    pub fn times(&self, x: &[f64]) -> Vec<f64> {
        assert_eq!(x.len(), self.n, "the vector is as long as the matrix");
        wide(Times { of: self, x })
    }
}

/// Row after row, four at a time: the contributions of earlier rows are read once for the four.
struct Factor {
    a: Vec<f64>,
    n: usize,
}

impl Work for Factor {
    type Output = Option<Vec<f64>>;

    #[inline(always)]
    fn run<U: Unit>(self, unit: U) -> Self::Output {
        let Self { mut a, n } = self;
        for from in (0..n).step_by(BLOCK) {
            let rows = BLOCK.min(n - from);
            let (done, new) = a.split_at_mut(from * n);
            for (j, before) in done.chunks_exact(n).enumerate() {
                let starts: [&[f64]; BLOCK] = std::array::from_fn(|k| {
                    let k = k.min(rows - 1);
                    &new[k * n..k * n + j]
                });
                let products = multiply(unit, starts, &before[..j]);
                for k in 0..rows {
                    new[k * n + j] = (new[k * n + j] - products[k]) / before[j];
                }
            }
            for k in 0..rows {
                let (above, row) = new.split_at_mut(k * n);
                for (j, before) in above.chunks_exact(n).enumerate() {
                    let j = from + j;
                    row[j] = (row[j] - unit.dot(&row[..j], &before[..j])) / before[j];
                }
                let i = from + k;
                let left = row[i] - unit.dot(&row[..i], &row[..i]);
                if left.is_nan() || left <= 0.0 {
                    return None;
                }
                row[i] = left.sqrt();
            }
        }
        Some(a)
    }
}

struct Forward<'a> {
    of: &'a Cholesky,
    x: &'a mut [f64],
}

impl Work for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<U: Unit>(self, unit: U) {
        for (i, row) in self.of.l.chunks_exact(self.of.n).enumerate() {
            let (before, at) = self.x.split_at_mut(i);
            at[0] = (at[0] - unit.dot(&row[..i], before)) / row[i];
        }
    }
}

struct Backward<'a> {
    of: &'a Cholesky,
    x: &'a mut [f64],
}

impl Work for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<U: Unit>(self, unit: U) {
        for (i, row) in self.of.l.chunks_exact(self.of.n).enumerate().rev() {
            let (before, at) = self.x.split_at_mut(i);
            at[0] /= row[i];
            let by = unit.splat(-at[0]);
            let (chunks, rest) = before.as_chunks_mut::<LANES>();
            let (l_chunks, l_rest) = row[..i].as_chunks::<LANES>();
            for (x, l) in chunks.iter_mut().zip(l_chunks) {
                unit.store(unit.multiply_add(by, unit.load(l), unit.load(x)), x);
            }
            for (x, l) in rest.iter_mut().zip(l_rest) {
                *x -= at[0] * l;
            }
        }
    }
}

struct Times<'a> {
    of: &'a Cholesky,
    x: &'a [f64],
}

impl Work for Times<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run<U: Unit>(self, unit: U) -> Vec<f64> {
        let mut product = vec![0.0; self.of.n];
        for (i, row) in self.of.l.chunks_exact(self.of.n).enumerate() {
            product[i] = unit.dot(&row[..=i], &self.x[..=i]);
        }
        product
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B Bᵀ + I of small numbers.
    fn definite(n: usize) -> Vec<f64> {
        let b = |r: usize, c: usize| ((r * 7 + c * c * 3 + r * c) % 13) as f64 - 6.0;
        let entry = |i: usize, j: usize| -> f64 {
            let product: f64 = (0..n).map(|c| b(i, c) * b(j, c)).sum();
            product + f64::from(u8::from(i == j))
        };
        (0..n * n).map(|at| entry(at / n, at % n)).collect()
    }

    fn check(found: &[f64], expected: &[f64], n: usize) {
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                (found - expected).abs() < 1e-8 * expected.abs().max(1.0),
                "{n}: {found} {expected}"
            );
        }
    }

    #[test]
    fn a_triangle_times_its_transpose_is_the_matrix() {
        for n in [1, 2, 4, 7, 30] {
            let a = definite(n);
            let apart = Cholesky::new(a.clone(), n).expect("definite");
            for k in 0..n {
                // Lᵀ e, and that the column of A comes of it.
                let column: Vec<f64> = (0..n)
                    .map(|j| if j <= k { apart.l[k * n + j] } else { 0.0 })
                    .collect();
                check(&apart.times(&column), &a[k * n..(k + 1) * n], n);
            }
        }
    }

    #[test]
    fn equations_are_solved() {
        let n = 27;
        let a = definite(n);
        let x: Vec<f64> = (0..n).map(|i| i as f64 - 9.5).collect();
        let mut solved: Vec<f64> = a
            .chunks(n)
            .map(|row| row.iter().zip(&x).map(|(a, x)| a * x).sum())
            .collect();
        Cholesky::new(a, n).expect("definite").solve(&mut solved);
        check(&solved, &x, n);
    }

    #[test]
    fn what_is_not_positive_definite_is_refused() {
        assert!(Cholesky::new(vec![1.0, 2.0, 2.0, 1.0], 2).is_none());
        assert!(Cholesky::new(vec![0.0], 1).is_none());
        assert!(Cholesky::new(vec![f64::NAN], 1).is_none());
    }
}
