//! Symmetric positive definite matrices as products of a triangle and its transpose.

use super::blocks::{BLOCK, add, multiply};
use super::wide::{Unit, Work, wide};
use crate::matrix::Real;

/// L of A = L Lᵀ, kept as `T`.
pub(super) struct Cholesky<T = f64> {
    n: usize,
    /// `[n, n]`, whose entries above the diagonal are unused.
    l: Vec<T>,
}

impl Cholesky {
    /// Factorises `a`, a full matrix `[n, n]`; `None` if it is not positive definite.
    pub fn new(a: Vec<f64>, n: usize) -> Option<Self> {
        assert_eq!(a.len(), n * n, "the matrix is square");
        let l = wide(Factor { a, n })?;
        Some(Self { n, l })
    }

    /// The triangle in single precision, which is read from memory in half the time.
    pub fn rounded(&self) -> Cholesky<f32> {
        let l = self.l.iter().map(|&value| value as f32).collect();
        Cholesky { n: self.n, l }
    }

    /// A⁻¹ x, in the place of `x`.
    pub fn solve(&self, x: &mut [f64]) {
        self.forward(x);
        self.backward(x);
    }
}

impl<T: Real> Cholesky<T> {
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

    /// The rows from `from` on, four at most, each up to column `end`; the last one is repeated.
    fn rows(&self, from: usize, end: usize) -> [&[T]; BLOCK] {
        std::array::from_fn(|k| {
            let start = (from + k).min(self.n - 1) * self.n;
            &self.l[start..start + end]
        })
    }

    fn at(&self, i: usize, j: usize) -> f64 {
        self.l[i * self.n + j].into()
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

/// Four rows at a time, which share what is known of x.
struct Forward<'a, T> {
    of: &'a Cholesky<T>,
    x: &'a mut [f64],
}

impl<T: Real> Work for Forward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<U: Unit>(self, unit: U) {
        let Self { of, x } = self;
        for from in (0..of.n).step_by(BLOCK) {
            let (known, unknown) = x.split_at_mut(from);
            let products = multiply(unit, of.rows(from, from), known);
            for k in 0..BLOCK.min(of.n - from) {
                let i = from + k;
                let earlier = (0..k).map(|j| of.at(i, from + j) * unknown[j]);
                let sum = products[k] + earlier.sum::<f64>();
                unknown[k] = (unknown[k] - sum) / of.at(i, i);
            }
        }
    }
}

struct Backward<'a, T> {
    of: &'a Cholesky<T>,
    x: &'a mut [f64],
}

impl<T: Real> Work for Backward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<U: Unit>(self, unit: U) {
        let Self { of, x } = self;
        for from in (0..of.n).step_by(BLOCK).rev() {
            let (above, block) = x.split_at_mut(from);
            let mut factors = [0.0; BLOCK];
            for k in (0..BLOCK.min(of.n - from)).rev() {
                let i = from + k;
                block[k] /= of.at(i, i);
                factors[k] = -block[k];
                for j in 0..k {
                    block[j] -= of.at(i, from + j) * block[k];
                }
            }
            add(unit, of.rows(from, from), factors, above);
        }
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
            let l = Cholesky::new(a.clone(), n).expect("definite").l;
            let below = |i: usize, j: usize| if j <= i { l[i * n + j] } else { 0.0 };
            let entry = |at: usize| -> f64 {
                let (i, j) = (at / n, at % n);
                (0..n).map(|k| below(i, k) * below(j, k)).sum()
            };
            check(&(0..n * n).map(entry).collect::<Vec<_>>(), &a, n);
        }
    }

    #[test]
    fn a_rounded_triangle_is_undone_by_itself() {
        let n = 27;
        let rounded = Cholesky::new(definite(n), n).expect("definite").rounded();
        let x: Vec<f64> = (0..n).map(|i| i as f64 - 9.5).collect();
        // L times x, and Lᵀ times x.
        let times = |entry: &dyn Fn(usize, usize) -> f64| -> Vec<f64> {
            let row = |i: usize| (0..n).map(|j| entry(i, j) * x[j]).sum();
            (0..n).map(row).collect()
        };
        let l = |i: usize, j: usize| if j <= i { rounded.at(i, j) } else { 0.0 };
        let mut found = times(&l);
        rounded.forward(&mut found);
        check(&found, &x, n);
        let mut found = times(&|i, j| l(j, i));
        rounded.backward(&mut found);
        check(&found, &x, n);
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
