//! Logistic regression of two classes with an L2 penalty.

use serde::{Deserialize, Serialize};

use super::lbfgs::{Objective, minimise};
use super::memory::dot;
use super::rows::Rows;
use crate::sparse::Csr;

/// Settings of a logistic regression; the defaults are those of scikit-learn's `LogisticRegression`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Logistic {
    /// Inverse strength of the penalty.
    pub c: f64,
    /// Number of L-BFGS steps, at most.
    pub max_iter: usize,
    /// Largest entry of the gradient at which to stop.
    pub tol: f64,
    /// Solver of the minimisation.
    pub solver: Solver,
}

/// Solver of a regression. The minimum is the same; the point at which a search stops short of it is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Solver {
    /// L-BFGS, step for step as scikit-learn takes it.
    #[default]
    Lbfgs,
    /// L-BFGS in coordinates in which the objective curves alike in all directions. It takes a quarter of the steps,
    /// and at the same tolerance stops nearer to the minimum. Only for dense features.
    Preconditioned,
}

impl Default for Logistic {
    fn default() -> Self {
        Self {
            c: 1.0,
            max_iter: 100,
            tol: 1e-4,
            solver: Solver::Lbfgs,
        }
    }
}

impl Logistic {
    /// Fits to the rows of `x`, of class 0 or 1 as `y` says.
    ///
    /// Minimises, from zero and by L-BFGS, the same objective as scikit-learn 1.9: (1/n) Σ [ln(1 + exp zᵢ) - yᵢ zᵢ] +
    /// ‖w‖² / (2 n C) with zᵢ = w · xᵢ + b; the intercept b is not penalised. The tolerance applies to the gradient of
    /// this mean, so with many examples the search stops well before the minimum, and where it stops is part of the
    /// result.
    ///
    /// # Panics
    /// If `x` and `y` differ in length, a class is neither 0 nor 1, only one of them occurs (then the best intercept is
    /// infinite; scikit-learn refuses this too), or the solver is one for dense features.
    pub fn fit(&self, x: &Csr, y: &[usize]) -> Fitted {
        assert_eq!(x.n_rows(), y.len(), "rows and classes differ in length");
        assert!(y.iter().all(|&class| class < 2), "classes are 0 and 1");
        assert!(
            y.contains(&0) && y.contains(&1),
            "a regression needs examples of both classes"
        );
        assert_eq!(self.solver, Solver::Lbfgs, "the solver of sparse features");
        let rows = Rows::reduce(x);
        let n = rows.n_coordinates() + 1;
        let mut loss = Loss {
            rows,
            y,
            strength: 1.0 / (self.c * y.len() as f64),
            by_row: vec![0.0; y.len()],
        };
        let minimum = minimise(&mut loss, n, self.max_iter, self.tol);
        Fitted {
            coef: loss.rows.coef(x, &minimum.x),
            intercept: minimum.x[n - 1],
            iterations: minimum.iterations,
            converged: minimum.converged,
        }
    }
}

/// A fitted logistic regression.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The weight of each column.
    pub coef: Vec<f64>,
    /// The intercept.
    pub intercept: f64,
    /// Number of steps taken.
    pub iterations: usize,
    /// True if the search met a stopping criterion, false if it ran out of steps or its line search failed.
    pub converged: bool,
}

impl Fitted {
    /// The log-odds of class 1 for each row.
    ///
    /// # Panics
    /// If `x` has another number of columns than the matrix fitted to.
    pub fn decision(&self, x: &Csr) -> Vec<f64> {
        assert_eq!(
            x.n_columns(),
            self.coef.len(),
            "columns differ from those fitted to"
        );
        x.products(&self.coef, self.intercept)
    }

    /// The probability of class 1 for each row.
    ///
    /// # Panics
    /// As [`Fitted::decision`].
    pub fn probability(&self, x: &Csr) -> Vec<f64> {
        self.decision(x)
            .into_iter()
            .map(|z| 1.0 / (1.0 + (-z).exp()))
            .collect()
    }

    /// The likelier class of each row; 0 where both are equally likely.
    ///
    /// # Panics
    /// As [`Fitted::decision`].
    pub fn predict(&self, x: &Csr) -> Vec<usize> {
        self.decision(x)
            .into_iter()
            .map(|z| usize::from(z > 0.0))
            .collect()
    }
}

/// The objective. Its parameters are the weights of the shared columns, then one for each row, and at last the
/// intercept.
struct Loss<'a> {
    rows: Rows,
    y: &'a [usize],
    strength: f64,
    /// First the log-odds of each row, then its part in the gradient.
    by_row: Vec<f64>,
}

/// Factors between 1 and 2 that can be multiplied before their logarithm is taken: 2⁶⁴ is far from overflowing.
pub(super) const FACTORS: usize = 64;

impl Objective for Loss<'_> {
    fn evaluate(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
        let share = 1.0 / self.y.len() as f64;
        let penalty = 0.5 * self.strength * dot(&x[..x.len() - 1], &x[..x.len() - 1]);
        for (g, w) in gradient.iter_mut().zip(x) {
            *g = self.strength * w;
        }
        let (intercept, weights) = x.split_last().expect("there is an intercept");
        let (intercept_gradient, gradient) =
            gradient.split_last_mut().expect("as many entries as x");

        self.rows.multiply(weights, &mut self.by_row);
        let (mut loss, mut residuals, mut product) = (0.0, 0.0, 1.0);
        for (i, (&class, z)) in self.y.iter().zip(&mut self.by_row).enumerate() {
            let log_odds = *z + intercept;
            // With e = exp(-|z|) nothing overflows: ln(1 + exp z) = max(z, 0) + ln(1 + e).
            let e = (-log_odds.abs()).exp();
            loss += log_odds.max(0.0) - class as f64 * log_odds;
            product *= 1.0 + e;
            if i % FACTORS == FACTORS - 1 {
                loss += product.ln();
                product = 1.0;
            }
            let probability = if log_odds >= 0.0 { 1.0 } else { e } / (1.0 + e);
            *z = (probability - class as f64) * share;
            residuals += *z;
        }
        self.rows.add_transposed(&self.by_row, gradient);
        *intercept_gradient = residuals;
        (loss + product.ln()) * share + penalty
    }

    fn largest(&self, gradient: &[f64]) -> f64 {
        let (intercept, gradient) = gradient.split_last().expect("there is an intercept");
        self.rows.largest(gradient).max(intercept.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: &[&[(u32, f64)]], n_columns: usize) -> Csr {
        let mut matrix = Csr::new(n_columns);
        rows.iter()
            .for_each(|row| matrix.push_row(&mut row.to_vec()));
        matrix
    }

    #[test]
    fn without_features_the_intercept_is_the_log_odds_of_the_classes() {
        let fitted = Logistic {
            tol: 1e-10,
            ..Logistic::default()
        }
        .fit(&matrix(&[&[][..]; 4], 0), &[1, 1, 1, 0]);
        assert!(
            (fitted.intercept - 3f64.ln()).abs() < 1e-6,
            "{}",
            fitted.intercept
        );
        assert!(fitted.converged);
    }

    #[test]
    fn the_gradient_of_the_sum_vanishes_at_the_minimum() {
        let x = matrix(
            &[
                &[(0, 1.0)],
                &[(0, -1.0)],
                &[(1, 2.0)],
                &[(0, 0.5), (1, 1.0)],
            ],
            2,
        );
        let y = [1, 0, 0, 1];
        let c = 2.5;
        let fitted = Logistic {
            c,
            tol: 1e-12,
            max_iter: 1000,
            ..Logistic::default()
        }
        .fit(&x, &y);
        let residuals: Vec<f64> = fitted
            .probability(&x)
            .iter()
            .zip(y)
            .map(|(p, y)| p - y as f64)
            .collect();
        let gradient = [
            fitted.coef[0] + c * (residuals[0] - residuals[1] + 0.5 * residuals[3]),
            fitted.coef[1] + c * (2.0 * residuals[2] + residuals[3]),
            c * residuals.iter().sum::<f64>(),
        ];
        assert!(gradient.iter().all(|g| g.abs() < 1e-7), "{gradient:?}");
    }

    #[test]
    fn a_column_without_entries_has_no_weight() {
        let fitted = Logistic::default().fit(&matrix(&[&[(2, 1.0)], &[(0, 1.0)]], 4), &[1, 0]);
        assert_eq!((fitted.coef[1], fitted.coef[3]), (0.0, 0.0));
        assert!(fitted.coef[2] > 0.0 && fitted.coef[0] < 0.0);
    }

    #[test]
    fn a_row_that_says_nothing_is_class_0() {
        let x = matrix(&[&[], &[]], 1);
        let fitted = Logistic::default().fit(&x, &[0, 1]);
        assert_eq!(fitted.predict(&x), [0, 0]);
    }

    #[test]
    fn huge_values_do_not_overflow() {
        let x = matrix(&[&[(0, 1e6)], &[(0, -1e6)]], 1);
        let fitted = Logistic::default().fit(&x, &[1, 0]);
        assert_eq!(fitted.predict(&x), [1, 0]);
        assert!(fitted.probability(&x).iter().all(|p| p.is_finite()));
    }

    #[test]
    #[should_panic(expected = "examples of both classes")]
    fn one_class_is_refused() {
        Logistic::default().fit(&matrix(&[&[], &[]], 0), &[1, 1]);
    }
}
