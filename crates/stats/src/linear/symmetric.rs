//! The pseudo-inverse of a symmetric positive semi-definite matrix, as an operator to multiply with.
//!
//! Householder reflections make the matrix tridiagonal, implicit QL steps (Bowdler, Martin, Reinsch and Wilkinson 1968)
//! make that diagonal. Both are stored as reflections and rotations: applying them to one vector costs the square of
//! the size, where forming the eigenvectors would cost its cube.

use super::memory::dot;
use super::wide::{LANES, Unit, Work, wide};

/// Number of steps for one eigenvalue, at most; two or three are usual.
const MAX_STEPS: usize = 60;

/// Factorisation of a symmetric matrix: A = Q J diag(eigenvalues) Jᵀ Qᵀ.
pub(super) struct Symmetric {
    n: usize,
    /// Q: unit vectors u of the reflections I - 2uuᵀ, the k-th of the entries after k.
    reflections: Vec<Vec<f64>>,
    /// J: rotations of the entries i and i + 1 by (cosine, sine).
    rotations: Vec<(u32, f64, f64)>,
    eigenvalues: Vec<f64>,
}

impl Symmetric {
    /// Factorises `a`, a full matrix `[n, n]`.
    pub fn new(mut a: Vec<f64>, n: usize) -> Self {
        let mut reflections = Vec::with_capacity(n.saturating_sub(2));
        let (mut diagonal, mut beside) = (vec![0.0; n], vec![0.0; n]);
        for k in 0..n.saturating_sub(2) {
            let mut u: Vec<f64> = a[k * n + k + 1..(k + 1) * n].to_vec();
            let length = dot(&u, &u).sqrt();
            let to = if u[0] > 0.0 { -length } else { length };
            (diagonal[k], beside[k]) = (a[k * n + k], to);
            u[0] -= to;
            let length = dot(&u, &u).sqrt();
            if length > 0.0 {
                u.iter_mut().for_each(|v| *v /= length);
                wide(Reflection {
                    a: &mut a,
                    n,
                    u: &u,
                    from: k + 1,
                });
            }
            reflections.push(u);
        }
        for k in n.saturating_sub(2)..n {
            diagonal[k] = a[k * n + k];
            if k + 1 < n {
                beside[k] = a[k * n + k + 1];
            }
        }
        let rotations = diagonalise(&mut diagonal, &mut beside);
        Self {
            n,
            reflections,
            rotations,
            eigenvalues: diagonal,
        }
    }

    /// The largest eigenvalue.
    pub fn largest(&self) -> f64 {
        self.eigenvalues.iter().copied().fold(0.0, f64::max)
    }

    /// Number of eigenvalues larger than `least`.
    pub fn rank(&self, least: f64) -> usize {
        self.eigenvalues
            .iter()
            .filter(|&&value| value > least)
            .count()
    }

    /// The pseudo-inverse times `b`, eigenvalues of at most `least` taken for zero.
    pub fn solve(&self, b: &[f64], least: f64) -> Vec<f64> {
        assert_eq!(b.len(), self.n, "the vector is as long as the matrix");
        let mut x = b.to_vec();
        for (k, u) in self.reflections.iter().enumerate() {
            reflect(u, &mut x[k + 1..]);
        }
        for &(i, c, s) in &self.rotations {
            let i = i as usize;
            (x[i], x[i + 1]) = (c * x[i] - s * x[i + 1], s * x[i] + c * x[i + 1]);
        }
        for (x, value) in x.iter_mut().zip(&self.eigenvalues) {
            *x = if *value > least { *x / value } else { 0.0 };
        }
        for &(i, c, s) in self.rotations.iter().rev() {
            let i = i as usize;
            (x[i], x[i + 1]) = (c * x[i] + s * x[i + 1], c * x[i + 1] - s * x[i]);
        }
        for (k, u) in self.reflections.iter().enumerate().rev() {
            reflect(u, &mut x[k + 1..]);
        }
        x
    }
}

/// x - 2 u (u · x)
fn reflect(u: &[f64], x: &mut [f64]) {
    let twice = 2.0 * dot(u, x);
    x.iter_mut().zip(u).for_each(|(x, u)| *x -= twice * u);
}

/// H A H with H = I - 2uuᵀ on the rows and columns from `from` on; the rest is not needed again.
struct Reflection<'a> {
    a: &'a mut [f64],
    n: usize,
    u: &'a [f64],
    from: usize,
}

impl Work for Reflection<'_> {
    type Output = ();

    #[inline(always)]
    fn run<U: Unit>(self, unit: U) {
        // H A H = A - u wᵀ - w uᵀ with w = 2 (A u - (uᵀ A u) u).
        let Self { a, n, u, from } = self;
        let rows = || (from..n).map(|i| i * n + from..(i + 1) * n);
        let mut w = vec![0.0; u.len()];
        for (w, row) in w.iter_mut().zip(rows()) {
            *w = unit.dot(&a[row], u);
        }
        let along = unit.dot(&w, u);
        for (w, u) in w.iter_mut().zip(u) {
            *w = 2.0 * (*w - along * u);
        }
        let ((u_chunks, u_rest), (w_chunks, w_rest)) = (u.as_chunks(), w.as_chunks());
        for (k, row) in rows().enumerate() {
            let (chunks, rest) = a[row].as_chunks_mut::<LANES>();
            let (of_u, of_w) = (unit.splat(-u[k]), unit.splat(-w[k]));
            for ((a, u), w) in chunks.iter_mut().zip(u_chunks).zip(w_chunks) {
                let new = unit.multiply_add(of_u, unit.load(w), unit.load(a));
                unit.store(unit.multiply_add(of_w, unit.load(u), new), a);
            }
            for ((a, u), of) in rest.iter_mut().zip(u_rest).zip(w_rest) {
                *a -= self.u[k] * of + w[k] * u;
            }
        }
    }
}

/// Diagonalises a tridiagonal matrix; returns the rotations, and leaves the eigenvalues on the diagonal.
fn diagonalise(diagonal: &mut [f64], beside: &mut [f64]) -> Vec<(u32, f64, f64)> {
    let n = diagonal.len();
    let mut rotations = Vec::new();
    for first in 0..n {
        for _ in 0..MAX_STEPS {
            // The end of the block that begins here: the first negligible off-diagonal number.
            let negligible = |i: &usize| {
                beside[*i].abs() <= f64::EPSILON * (diagonal[*i].abs() + diagonal[*i + 1].abs())
            };
            let last = (first..n - 1).find(negligible).unwrap_or(n - 1);
            if last == first {
                break;
            }
            // Wilkinson's shift, from the two numbers at the beginning.
            let half = (diagonal[first + 1] - diagonal[first]) / (2.0 * beside[first]);
            let root = half.hypot(1.0).copysign(half);
            let mut g = diagonal[last] - diagonal[first] + beside[first] / (half + root);
            let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
            let mut split = false;
            for i in (first..last).rev() {
                let (f, b) = (s * beside[i], c * beside[i]);
                let r = f.hypot(g);
                beside[i + 1] = r;
                if r == 0.0 {
                    diagonal[i + 1] -= p;
                    beside[last] = 0.0;
                    split = true;
                    break;
                }
                (s, c) = (f / r, g / r);
                g = diagonal[i + 1] - p;
                let r = (diagonal[i] - g) * s + 2.0 * c * b;
                p = s * r;
                diagonal[i + 1] = g + p;
                g = c * r - b;
                rotations.push((i as u32, c, s));
            }
            if split {
                continue;
            }
            diagonal[first] -= p;
            beside[first] = g;
            beside[last] = 0.0;
        }
    }
    rotations
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bᵀ B of a matrix `[rows, n]` of small numbers; its rank is at most `rows`.
    fn square(rows: usize, n: usize) -> Vec<f64> {
        let b = |r: usize, c: usize| ((r * 7 + c * c * 3 + r * c) % 13) as f64 - 6.0;
        let entry = |i: usize, j: usize| (0..rows).map(|r| b(r, i) * b(r, j)).sum();
        (0..n * n).map(|at| entry(at / n, at % n)).collect()
    }

    fn times(a: &[f64], x: &[f64]) -> Vec<f64> {
        a.chunks(x.len())
            .map(|row| row.iter().zip(x).map(|(a, x)| a * x).sum())
            .collect()
    }

    #[test]
    fn a_regular_matrix_is_inverted() {
        for n in [1, 2, 3, 10] {
            let mut a = square(n, n);
            (0..n).for_each(|i| a[i * n + i] += 5.0);
            let x: Vec<f64> = (0..n).map(|i| i as f64 - 2.5).collect();
            let apart = Symmetric::new(a.clone(), n);
            assert_eq!(apart.rank(1.0), n);
            for (found, expected) in apart.solve(&times(&a, &x), 1e-9).iter().zip(&x) {
                assert!((found - expected).abs() < 1e-11, "{n}: {found} {expected}");
            }
        }
    }

    #[test]
    fn a_singular_one_gives_the_shortest_solution() {
        let (rows, n) = (4, 9);
        let a = square(rows, n);
        let apart = Symmetric::new(a.clone(), n);
        let least = 1e-10 * apart.largest();
        assert_eq!(apart.rank(least), rows);
        let x: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
        let b = times(&a, &x);
        let shortest = apart.solve(&b, least);
        for (found, expected) in times(&a, &shortest).iter().zip(&b) {
            assert!((found - expected).abs() < 1e-8, "{found} {expected}");
        }
        // The shortest one has nothing in the null space: the projection onto the range does not change it.
        for (found, expected) in apart
            .solve(&times(&a, &shortest), least)
            .iter()
            .zip(&shortest)
        {
            assert!((found - expected).abs() < 1e-10);
        }
    }

    #[test]
    fn no_matrix_has_no_rank() {
        let apart = Symmetric::new(vec![0.0; 9], 3);
        assert_eq!((apart.largest(), apart.rank(0.0)), (0.0, 0));
        assert_eq!(apart.solve(&[1.0, 2.0, 3.0], 0.0), [0.0; 3]);
    }
}
