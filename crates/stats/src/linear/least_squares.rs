//! Linear regression by least squares.

use super::inverse::Inverse;
use super::memory::dot;
use crate::matrix::{Dense, Real};

/// Directions in which the features spread less than this share of the widest are taken for no spread at all,
/// scikit-learn's `tol`. In a mean of layer-normalised states one direction has no spread but rounding.
const LEAST_SPREAD: f64 = 1e-6;
/// Number of corrections by the residuals of the first solution, whose error grows with the square of the features'
/// condition number.
const CORRECTIONS: usize = 3;

/// A fitted linear regression.
#[derive(Clone, Debug, PartialEq)]
pub struct Linear {
    /// The weight of each column.
    pub coef: Vec<f64>,
    /// The intercept.
    pub intercept: f64,
    /// Number of directions of the features that were used.
    pub rank: usize,
}

impl Linear {
    /// Fits to the rows of `x` as scikit-learn 1.9's `LinearRegression` does: minimises Σ (yᵢ - w · xᵢ - b)², and of
    /// several w that do takes the shortest.
    ///
    /// # Panics
    /// If `x` and `y` differ in length, or there are no rows.
    pub fn fit<T: Real>(x: &Dense<T>, y: &[f64]) -> Self {
        assert_eq!(x.n_rows(), y.len(), "rows and values differ in length");
        assert!(!y.is_empty(), "a regression needs examples");
        let means = x.means();
        let mean = y.iter().sum::<f64>() / y.len() as f64;
        let inverse = Inverse::new(T::gram(x, &means), x.n_columns(), LEAST_SPREAD.powi(2));
        let mut fitted = Self {
            coef: vec![0.0; x.n_columns()],
            intercept: mean,
            rank: inverse.rank,
        };
        for _ in 0..=CORRECTIONS {
            let left = fitted.predict(x);
            let left: Vec<f64> = y.iter().zip(left).map(|(y, z)| y - z).collect();
            let along = transposed(x, &means, &left);
            for (w, by) in fitted.coef.iter_mut().zip(inverse.solve(&along)) {
                *w += by;
            }
            fitted.intercept = mean - dot(&fitted.coef, &means);
        }
        fitted
    }

    /// The value for each row.
    ///
    /// # Panics
    /// If `x` has another number of columns than the matrix fitted to.
    pub fn predict<T: Real>(&self, x: &Dense<T>) -> Vec<f64> {
        assert_eq!(
            x.n_columns(),
            self.coef.len(),
            "columns differ from those fitted to"
        );
        T::products(x, &self.coef, self.intercept)
    }
}

/// (X - 1 mᵀ)ᵀ r
fn transposed<T: Real>(x: &Dense<T>, means: &[f64], r: &[f64]) -> Vec<f64> {
    let total: f64 = r.iter().sum();
    let mut products: Vec<f64> = means.iter().map(|mean| -mean * total).collect();
    T::add_rows(x, r, &mut products);
    products
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found() {
        let x = [0.0, 1.0, 2.0, 5.0];
        let y: Vec<f64> = x.iter().map(|x| 3.0 - 0.5 * x).collect();
        let fitted = Linear::fit(&Dense::new(&x, 1), &y);
        assert!((fitted.coef[0] + 0.5).abs() < 1e-12 && (fitted.intercept - 3.0).abs() < 1e-12);
        assert_eq!(fitted.rank, 1);
    }

    #[test]
    fn equal_columns_share_the_weight() {
        let x = [1.0, 1.0, 2.0, 2.0, 4.0, 4.0];
        let fitted = Linear::fit(&Dense::new(&x, 2), &[2.0, 4.0, 8.0]);
        assert_eq!(fitted.rank, 1);
        for w in fitted.coef {
            assert!((w - 1.0).abs() < 1e-12, "{w}");
        }
    }

    #[test]
    fn features_without_spread_leave_the_mean() {
        let fitted = Linear::fit(&Dense::new(&[7f32, 7.0], 1), &[1.0, 2.0]);
        assert_eq!(
            (fitted.coef[0], fitted.intercept, fitted.rank),
            (0.0, 1.5, 0)
        );
    }
}
