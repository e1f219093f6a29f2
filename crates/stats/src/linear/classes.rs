//! Logistic regression of two or more classes on sparse features.

use super::dense::{FittedClasses, Occurring};
use super::lbfgs::{Minimum, Objective, minimise};
use super::logistic::{Logistic, Solver};
use super::memory::dot;
use super::rows::Rows;
use crate::sparse::Csr;

impl Logistic {
    /// Fits to the rows of a sparse matrix, with classes from 0 to below `n_classes`: as [`Logistic::fit`] with two,
    /// with the softmax of [`Logistic::fit_dense`] with more.
    ///
    /// # Panics
    /// If `x` and `y` differ in length, a class is out of range, fewer than two classes occur, or the solver is one for
    /// dense features.
    pub fn fit_classes(&self, x: &Csr, y: &[usize], n_classes: usize) -> FittedClasses {
        assert_eq!(x.n_rows(), y.len(), "rows and classes differ in length");
        assert_eq!(self.solver, Solver::Lbfgs, "the solver of sparse features");
        let occurring = Occurring::of(y, n_classes);
        let outputs = occurring.outputs();
        if outputs == 1 {
            let fitted = self.fit(x, &occurring.y);
            let mut weights = fitted.coef;
            weights.push(fitted.intercept);
            let minimum = Minimum {
                x: weights,
                iterations: fitted.iterations,
                converged: fitted.converged,
            };
            return occurring.fitted(minimum, x.n_columns());
        }
        let rows = Rows::reduce(x);
        let n = rows.n_coordinates() + 1;
        let mut loss = Loss {
            n,
            rows,
            y: &occurring.y,
            strength: 1.0 / (self.c * y.len() as f64),
            by_row: vec![vec![0.0; y.len()]; outputs],
        };
        let minimum = minimise(&mut loss, outputs * n, self.max_iter, self.tol);
        let mut weights = Vec::with_capacity(outputs * (x.n_columns() + 1));
        for output in minimum.x.chunks_exact(n) {
            weights.extend(loss.rows.coef(x, output));
            weights.push(output[n - 1]);
        }
        let minimum = Minimum {
            x: weights,
            ..minimum
        };
        occurring.fitted(minimum, x.n_columns())
    }
}

/// The objective. Of each output its parameters are the weights of the shared columns, then one for each row, and at
/// last the intercept.
struct Loss<'a> {
    rows: Rows,
    y: &'a [usize],
    /// Parameters of an output.
    n: usize,
    strength: f64,
    /// Logit of each row and output, then its part in the gradient.
    by_row: Vec<Vec<f64>>,
}

impl Objective for Loss<'_> {
    fn evaluate(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
        let share = 1.0 / self.y.len() as f64;
        let mut penalty = 0.0;
        for (point, logits) in x.chunks_exact(self.n).zip(&mut self.by_row) {
            let (intercept, weights) = point.split_last().expect("there is an intercept");
            penalty += 0.5 * self.strength * dot(weights, weights);
            self.rows.multiply(weights, logits);
            logits.iter_mut().for_each(|z| *z += intercept);
        }
        let mut loss = 0.0;
        for (row, &class) in self.y.iter().enumerate() {
            let logits = self.by_row.iter().map(|logits| logits[row]);
            let largest = logits.fold(f64::NEG_INFINITY, f64::max);
            loss += largest - self.by_row[class][row];
            let mut sum = 0.0;
            for logits in &mut self.by_row {
                logits[row] = (logits[row] - largest).exp();
                sum += logits[row];
            }
            loss += sum.ln();
            for (output, logits) in self.by_row.iter_mut().enumerate() {
                let expected = f64::from(u8::from(output == class));
                logits[row] = (logits[row] / sum - expected) * share;
            }
        }
        let outputs = x
            .chunks_exact(self.n)
            .zip(gradient.chunks_exact_mut(self.n));
        for ((point, gradient), factors) in outputs.zip(&self.by_row) {
            let (intercept, gradient) = gradient.split_last_mut().expect("as many as x");
            for (g, w) in gradient.iter_mut().zip(point) {
                *g = self.strength * w;
            }
            self.rows.add_transposed(factors, gradient);
            *intercept = factors.iter().sum();
        }
        loss * share + penalty
    }

    fn largest(&self, gradient: &[f64]) -> f64 {
        let of_output = |gradient: &[f64]| {
            let (intercept, gradient) = gradient.split_last().expect("there is an intercept");
            self.rows.largest(gradient).max(intercept.abs())
        };
        gradient
            .chunks_exact(self.n)
            .map(of_output)
            .fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Dense;

    #[test]
    fn sparse_and_dense_take_the_same_steps() {
        // The last two columns have one entry each, in one row.
        let values: Vec<f64> = (0..60u32)
            .map(|at| match at % 5 {
                column @ (3 | 4) => f64::from(u8::from(at / 5 == 7)) * f64::from(column),
                _ => f64::from(at * at % 11) - 4.0,
            })
            .collect();
        let mut sparse = Csr::new(5);
        for row in values.chunks(5) {
            let entries = (0..).zip(row.iter().copied());
            let mut entries: Vec<(u32, f64)> = entries.filter(|(_, v)| *v != 0.0).collect();
            sparse.push_row(&mut entries);
        }
        let x = Dense::new(&values, 5);
        let settings = Logistic {
            tol: 1e-8,
            ..Logistic::default()
        };
        for y in [
            [0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0],
            [3, 1, 1, 0, 1, 0, 3, 1, 1, 3, 1, 0],
        ] {
            let (found, expected) = (
                settings.fit_classes(&sparse, &y, 4),
                settings.fit_dense(&x, &y, 4),
            );
            assert_eq!(found.iterations, expected.iterations);
            for ((a, b), (c, d)) in found.outputs().zip(expected.outputs()) {
                assert!((b - d).abs() < 1e-8, "{b} {d}");
                for (a, c) in a.iter().zip(c) {
                    assert!((a - c).abs() < 1e-8, "{a} {c}");
                }
            }
            assert_eq!(found.predict_sparse(&sparse), expected.predict(&x));
            let found = found.probabilities_sparse(&sparse);
            for (a, b) in found.iter().zip(expected.probabilities(&x)) {
                assert!((a - b).abs() < 1e-8, "{a} {b}");
            }
        }
    }
}
