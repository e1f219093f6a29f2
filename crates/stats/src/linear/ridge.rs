//! Linear regression with an L2 penalty.

use super::cholesky::Cholesky;
use super::inverse::Inverse;
use super::least_squares::Linear;
use super::memory::dot;
use crate::matrix::{Dense, Real};
use crate::sparse::Csr;

/// Length of the gradient, as a share of that at zero, at which conjugate gradients stop.
const TOLERANCE: f64 = 1e-11;
/// Number of steps of conjugate gradients, at most; word counts take some hundred.
const STEPS: usize = 10_000;

/// Ridge regressions as scikit-learn 1.9's `Ridge`: each minimises Σ (yᵢ - w · xᵢ - b)² + α ‖w‖², the intercept b not
/// penalised, for one α of `alphas`. The `rank` of each is the number of columns.
///
/// # Panics
/// If `x` and `y` differ in length, there are no rows, or an α is not positive.
pub fn ridge_path<T: Real>(x: &Dense<T>, y: &[f64], alphas: &[f64]) -> Vec<Linear> {
    check(x.n_rows(), y, alphas);
    let n = x.n_columns();
    let means = x.means();
    let gram = T::gram(x, &means);
    let mean = mean(y);
    let left: Vec<f64> = y.iter().map(|y| y - mean).collect();
    // The centred targets sum to 0, so that the columns need no centring here.
    let mut along = vec![0.0; n];
    T::add_rows(x, &left, &mut along);
    let fit = |alpha: &f64| {
        let mut a = gram.clone();
        a.iter_mut().step_by(n + 1).for_each(|a| *a += alpha);
        let mut coef = along.clone();
        match Cholesky::new(a, n) {
            Some(apart) => apart.solve(&mut coef),
            // Where α is lost in the rounding of the products.
            None => coef = Inverse::new(gram.clone(), n, f64::EPSILON).solve(&along),
        }
        linear(coef, mean, &means)
    };
    alphas.iter().map(fit).collect()
}

/// Fits [`ridge_path`] to sparse rows, by conjugate gradients: the columns are centred implicitly.
///
/// # Panics
/// As [`ridge_path`].
pub fn ridge_path_sparse(x: &Csr, y: &[f64], alphas: &[f64]) -> Vec<Linear> {
    check(x.n_rows(), y, alphas);
    let (n_rows, n) = (x.n_rows() as f64, x.n_columns());
    let mut means = vec![0.0; n];
    for (columns, values) in x.rows() {
        for (&column, value) in columns.iter().zip(values) {
            means[column as usize] += value / n_rows;
        }
    }
    let mean = mean(y);
    let left: Vec<f64> = y.iter().map(|y| y - mean).collect();
    let fit = |alpha: &f64| linear(least_squares(x, &means, &left, *alpha), mean, &means);
    alphas.iter().map(fit).collect()
}

fn check(n_rows: usize, y: &[f64], alphas: &[f64]) {
    assert_eq!(n_rows, y.len(), "rows and values differ in length");
    assert!(!y.is_empty(), "a regression needs examples");
    assert!(
        alphas.iter().all(|alpha| *alpha > 0.0),
        "penalties are positive"
    );
}

fn mean(y: &[f64]) -> f64 {
    y.iter().sum::<f64>() / y.len() as f64
}

fn linear(coef: Vec<f64>, mean: f64, means: &[f64]) -> Linear {
    Linear {
        rank: coef.len(),
        intercept: mean - dot(&coef, means),
        coef,
    }
}

/// (X - 1 mᵀ)ᵀ r
fn transposed(x: &Csr, means: &[f64], r: &[f64]) -> Vec<f64> {
    let total: f64 = r.iter().sum();
    let mut sum: Vec<f64> = means.iter().map(|mean| -mean * total).collect();
    for ((columns, values), factor) in x.rows().zip(r) {
        for (&column, value) in columns.iter().zip(values) {
            sum[column as usize] += factor * value;
        }
    }
    sum
}

/// Minimises ‖r - (X - 1 mᵀ) w‖² + α ‖w‖² by conjugate gradients in the form for least squares (CGLS; Björck 1996,
/// section 7.4), whose rounding errors are those of X and not of its products. Every step lies in the span of the rows,
/// so that columns that outnumber them make nothing worse.
fn least_squares(x: &Csr, means: &[f64], r: &[f64], alpha: f64) -> Vec<f64> {
    let slope = |r: &[f64], w: &[f64]| -> Vec<f64> {
        let along = transposed(x, means, r).into_iter();
        along.zip(w).map(|(along, w)| along - alpha * w).collect()
    };
    let (mut w, mut r) = (vec![0.0; x.n_columns()], r.to_vec());
    let mut s = slope(&r, &w);
    let mut direction = s.clone();
    let mut along = dot(&s, &s);
    let enough = TOLERANCE * along.sqrt();
    for _ in 0..STEPS {
        if along.sqrt() <= enough {
            break;
        }
        let product = x.products(&direction, -dot(means, &direction));
        let curvature = dot(&product, &product) + alpha * dot(&direction, &direction);
        let step = along / curvature;
        for (w, d) in w.iter_mut().zip(&direction) {
            *w += step * d;
        }
        for (r, p) in r.iter_mut().zip(&product) {
            *r -= step * p;
        }
        s = slope(&r, &w);
        let next = dot(&s, &s);
        for (d, s) in direction.iter_mut().zip(&s) {
            *d = s + next / along * *d;
        }
        along = next;
    }
    w
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_penalty_shrinks_the_slope() {
        // Σ (x - 2)² = 2, so that α = 2 halves the slope.
        let x = [1.0, 2.0, 3.0];
        let fitted = &ridge_path(&Dense::new(&x, 1), &[3.0, 5.0, 7.0], &[2.0])[0];
        assert!((fitted.coef[0] - 1.0).abs() < 1e-12 && (fitted.intercept - 3.0).abs() < 1e-12);
    }

    #[test]
    fn sparse_and_dense_agree() {
        let (rows, columns) = (30, 50);
        let values: Vec<f64> = (0..rows * columns)
            .map(|at| match (at * at + at / 7) % 9 {
                small @ 0..3 => small as f64,
                _ => 0.0,
            })
            .collect();
        let y: Vec<f64> = (0..rows).map(|row| ((row * 5) % 11) as f64).collect();
        let mut sparse = Csr::new(columns);
        for row in values.chunks(columns) {
            let entries = (0..).zip(row.iter().copied());
            let mut entries: Vec<(u32, f64)> = entries.filter(|(_, v)| *v != 0.0).collect();
            sparse.push_row(&mut entries);
        }
        let alphas = [1e-3, 1.0, 100.0];
        let dense = ridge_path(&Dense::new(&values, columns), &y, &alphas);
        for (found, expected) in ridge_path_sparse(&sparse, &y, &alphas).iter().zip(dense) {
            assert!((found.intercept - expected.intercept).abs() < 1e-8);
            for (a, b) in found.coef.iter().zip(&expected.coef) {
                assert!((a - b).abs() < 1e-8, "{a} {b}");
            }
        }
    }

    #[test]
    fn features_without_spread_leave_the_mean() {
        let mut x = Csr::new(2);
        (0..2).for_each(|_| x.push_row(&mut [(0, 7.0)]));
        let fitted = &ridge_path_sparse(&x, &[1.0, 2.0], &[1.0])[0];
        assert_eq!((&fitted.coef[..], fitted.intercept), (&[0.0; 2][..], 1.5));
    }
}
