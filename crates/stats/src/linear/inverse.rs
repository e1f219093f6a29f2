//! The pseudo-inverse of a symmetric positive semi-definite matrix of the products of features.
//!
//! Most such matrices are regular, or have one or two directions without spread: each layer normalisation takes one.
//! Those directions are found by inverse iteration, and the rest is solved by a Cholesky factorisation, in a tenth of
//! the time of all eigenvalues. Where it is unclear which directions have no spread, the eigenvalues decide.

use super::cholesky::Cholesky;
use super::memory::{add_scaled, dot};
use super::symmetric::Symmetric;
use crate::matrix::Dense;
use crate::matrix::Kernels;

/// Number of directions to search; fewer than these may have no spread.
const DIRECTIONS: usize = 4;
/// Inverse iterations. A direction of ten times the least spread that counts leaves the others by 11⁸.
const ROUNDS: usize = 8;
/// Number of steps of the power iteration. Its result is a lower bound, so that no number is too small.
const POWERS: usize = 10;
/// Thresholds of a clear decision, relative to the least eigenvalue that counts: smaller than the first is zero, larger
/// than the second is not.
const CLEAR: [f64; 2] = [0.5, 10.0];
/// Fewest columns for which inverse iteration is worthwhile.
const FEWEST: usize = 32;

/// Pseudo-inverse, to be multiplied with vectors.
pub(super) struct Inverse {
    /// Number of directions that count.
    pub rank: usize,
    by: By,
}

enum By {
    /// Triangle of the matrix plus a little of each direction without spread, and these directions.
    Triangle(Cholesky, Vec<Vec<f64>>),
    /// Eigenvalues, and the least of them that counts.
    Eigenvalues(Symmetric, f64),
}

impl Inverse {
    /// Inverts a full matrix `[n, n]`; eigenvalues of at most `share` of the largest are taken for zero.
    pub fn new(a: Vec<f64>, n: usize, share: f64) -> Self {
        let by_triangle = if n < FEWEST {
            None
        } else {
            triangle(&a, n, share)
        };
        match by_triangle {
            Some((of, nothing)) => Self {
                rank: n - nothing.len(),
                by: By::Triangle(of, nothing),
            },
            None => {
                let apart = Symmetric::new(a, n);
                let least = share * apart.largest();
                Self {
                    rank: apart.rank(least),
                    by: By::Eigenvalues(apart, least),
                }
            }
        }
    }

    /// The pseudo-inverse times `b`.
    pub fn solve(&self, b: &[f64]) -> Vec<f64> {
        match &self.by {
            By::Triangle(of, nothing) => {
                let mut x = b.to_vec();
                without(&mut x, nothing);
                of.solve(&mut x);
                without(&mut x, nothing);
                x
            }
            By::Eigenvalues(apart, least) => apart.solve(b, *least),
        }
    }
}

/// Triangle of the matrix, and unit vectors of its directions without spread; `None` if these are too many, or not
/// clearly separated.
fn triangle(a: &[f64], n: usize, share: f64) -> Option<(Cholesky, Vec<Vec<f64>>)> {
    let trace: f64 = (0..n).map(|i| a[i * n + i]).sum();
    let matrix = Dense::new(a, n);
    let times = |x: &[f64]| f64::products(&matrix, x, 0.0);
    let mut along = start(n, 0);
    for _ in 0..POWERS {
        along = times(&along);
        unit(&mut along)?;
    }
    // The largest eigenvalue lies between these two.
    let least = [dot(&along, &times(&along)), trace].map(|largest| share * largest);

    let mut shifted = a.to_vec();
    (0..n).for_each(|i| shifted[i * n + i] += least[1]);
    let shifted = Cholesky::new(shifted, n)?;
    let mut directions: Vec<Vec<f64>> = (0..DIRECTIONS).map(|k| start(n, k)).collect();
    for _ in 0..ROUNDS {
        for k in 0..DIRECTIONS {
            let (before, rest) = directions.split_at_mut(k);
            let direction = &mut rest[0];
            shifted.solve(direction);
            unit(direction)?;
            // Twice, to remove the rounding error of the first time.
            without(direction, before);
            without(direction, before);
            unit(direction)?;
        }
    }
    let mut nothing = Vec::new();
    let mut clear = false;
    for direction in directions {
        let value = dot(&direction, &times(&direction));
        if value < CLEAR[0] * least[0] && !clear {
            nothing.push(direction);
        } else if value > CLEAR[1] * least[1] {
            clear = true;
        } else {
            return None;
        }
    }
    if !clear {
        return None;
    }
    let mut regular = a.to_vec();
    for direction in &nothing {
        for (row, of) in regular.chunks_exact_mut(n).zip(direction) {
            let by = of * trace / n as f64;
            row.iter_mut()
                .zip(direction)
                .for_each(|(a, d)| *a += by * d);
        }
    }
    Some((Cholesky::new(regular, n)?, nothing))
}

/// Start of an iteration: pseudo-random numbers from -0.5 to 0.5, the same each time.
fn start(n: usize, k: usize) -> Vec<f64> {
    let golden = 0.618_033_988_749_894_9;
    (0..n)
        .map(|i| ((i * i + (2 * k + 1) * (i + 1)) as f64 * golden).fract() - 0.5)
        .collect()
}

/// Scales `x` to length one; `None` if it has no direction.
fn unit(x: &mut [f64]) -> Option<()> {
    let length = dot(x, x).sqrt();
    if !(length > 0.0 && length.is_finite()) {
        return None;
    }
    x.iter_mut().for_each(|x| *x /= length);
    Some(())
}

/// Subtracts the components along `directions` from `x`.
fn without(x: &mut [f64], directions: &[Vec<f64>]) {
    for direction in directions {
        let along = dot(x, direction);
        let before = x.to_vec();
        add_scaled(&before, -along, direction, x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bᵀ B of a matrix `[rows, n]` of small numbers, whose last columns are zero but for `noise`.
    fn products(rows: usize, n: usize, last: usize, noise: f64) -> Vec<f64> {
        let b: Vec<f64> = (0..rows * n)
            .map(|at| {
                let value = start(rows * n, 3)[at];
                if at % n < n - last {
                    value
                } else {
                    value * noise
                }
            })
            .collect();
        // Turned, so that no direction is a column.
        let turn = start(n, 7);
        let length = dot(&turn, &turn);
        let turned: Vec<f64> = b
            .chunks(n)
            .flat_map(|row| {
                let along = 2.0 * dot(row, &turn) / length;
                row.iter().zip(&turn).map(move |(v, t)| v - along * t)
            })
            .collect();
        let column = |j: usize| turned.iter().skip(j).step_by(n);
        let entry = |i: usize, j: usize| column(i).zip(column(j)).map(|(a, b)| a * b).sum();
        (0..n * n).map(|at| entry(at / n, at % n)).collect()
    }

    #[test]
    fn triangles_give_the_answer_of_the_eigenvalues() {
        let n = 40;
        let b: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
        for (last, noise, triangle) in [
            (0, 0.0, true),
            (1, 0.0, true),
            (3, 0.0, true),
            (1, 1e-8, true),  // (1e-8)² is far below 1e-12
            (1, 5e-6, false), // at the border
            (4, 0.0, false),  // too many
            (20, 0.0, false),
        ] {
            let a = products(100, n, last, noise);
            let found = Inverse::new(a.clone(), n, 1e-12);
            let name = format!("{last} of {noise}");
            assert_eq!(matches!(found.by, By::Triangle(..)), triangle, "{name}");
            let apart = Symmetric::new(a, n);
            let least = 1e-12 * apart.largest();
            assert_eq!(found.rank, apart.rank(least), "{name}");
            let expected = apart.solve(&b, least);
            for (found, expected) in found.solve(&b).iter().zip(&expected) {
                assert!(
                    (found - expected).abs() < 1e-7 * expected.abs().max(1.0),
                    "{name}: {found} {expected}"
                );
            }
        }
    }

    #[test]
    fn no_spread_at_all_has_no_rank() {
        let n = 40;
        let nothing = Inverse::new(vec![0.0; n * n], n, 1e-12);
        assert_eq!(nothing.rank, 0);
        assert_eq!(nothing.solve(&vec![1.0; n]), vec![0.0; n]);
    }
}
