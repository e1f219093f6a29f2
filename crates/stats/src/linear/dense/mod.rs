//! Logistic regression of two or more classes on dense features.

use super::blocks::{BLOCK, add, multiply, rows_from};
use super::lbfgs::{Minimum, Objective, minimise};
use super::logistic::{FACTORS, Logistic, Solver};
use super::memory::dot;
use super::precondition::{Curvature, Preconditioned};
use super::wide::{Unit, Work, wide};
use crate::matrix::{Dense, Real};
use crate::sparse::Csr;

impl Logistic {
    /// Fits to the rows of a dense matrix, with classes from 0 to below `n_classes`.
    ///
    /// Minimises, from zero, the same objective as scikit-learn 1.9: the mean of -ln pᵢ(yᵢ) plus ‖W‖² / (2 n C),
    /// intercepts not penalised. With two classes there is one row of weights and p is the logistic function of it,
    /// with more there is one row for each class and p is their softmax. A class that does not occur gets no weights
    /// and the probability 0, as in scikit-learn, which never sees it.
    ///
    /// # Panics
    /// If `x` and `y` differ in length, a class is out of range, or fewer than two classes occur.
    pub fn fit_dense<T: Real>(&self, x: &Dense<T>, y: &[usize], n_classes: usize) -> FittedClasses {
        let mut fitted = self.path_dense(x, y, n_classes, &[self.c]);
        fitted.pop().expect("one for each C")
    }

    /// Fits [`Logistic::fit_dense`] once for each C of `cs` in place of its own.
    ///
    /// # Panics
    /// As [`Logistic::fit_dense`].
    pub fn path_dense<T: Real>(
        &self,
        x: &Dense<T>,
        y: &[usize],
        n_classes: usize,
        cs: &[f64],
    ) -> Vec<FittedClasses> {
        assert_eq!(x.n_rows(), y.len(), "rows and classes differ in length");
        let occurring = Occurring::of(y, n_classes);
        let outputs = occurring.outputs();
        let curvature = match self.solver {
            Solver::Lbfgs => None,
            Solver::Preconditioned => Some(Curvature::new(x, &occurring.y, outputs)),
        };
        let n = outputs * (x.n_columns() + 1);
        let fit = |&c: &f64| {
            let mut loss = Loss {
                x,
                y: &occurring.y,
                outputs,
                strength: 1.0 / (c * y.len() as f64),
            };
            let triangle = curvature.as_ref();
            let minimum = match triangle.and_then(|of| of.triangle(loss.strength)) {
                None => minimise(&mut loss, n, self.max_iter, self.tol),
                Some(triangle) => {
                    let mut seen = Preconditioned::new(&mut loss, &triangle, n);
                    let minimum = minimise(&mut seen, n, self.max_iter, self.tol);
                    seen.back(minimum)
                }
            };
            occurring.fitted(minimum, x.n_columns())
        };
        cs.iter().map(fit).collect()
    }
}

/// The classes of some examples, numbered by those that occur.
pub(super) struct Occurring {
    /// Classes that occur, in order.
    classes: Vec<usize>,
    n_classes: usize,
    /// Position of each example's class among them.
    pub y: Vec<usize>,
}

impl Occurring {
    /// # Panics
    /// If a class is out of range, or fewer than two classes occur.
    pub fn of(y: &[usize], n_classes: usize) -> Self {
        let mut classes = y.to_vec();
        classes.sort_unstable();
        classes.dedup();
        assert!(
            classes.last().is_some_and(|&largest| largest < n_classes),
            "classes are below {n_classes}"
        );
        assert!(
            classes.len() > 1,
            "a regression needs examples of two classes"
        );
        let place = |class| classes.binary_search(class).expect("it occurs");
        let y = y.iter().map(place).collect();
        Self {
            classes,
            n_classes,
            y,
        }
    }

    /// Number of outputs: one with two classes, else one for each.
    pub fn outputs(&self) -> usize {
        match self.classes.len() {
            2 => 1,
            n => n,
        }
    }

    /// Returns the model whose weights, output after output with the intercept last, are those of a minimum.
    pub fn fitted(&self, minimum: Minimum, n_columns: usize) -> FittedClasses {
        FittedClasses {
            weights: minimum.x,
            n_columns,
            classes: self.classes.clone(),
            n_classes: self.n_classes,
            iterations: minimum.iterations,
            converged: minimum.converged,
        }
    }
}

/// A logistic regression of two or more classes, fitted to dense or sparse features.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedClasses {
    /// Weights of each output: one for each column, then the intercept.
    weights: Vec<f64>,
    n_columns: usize,
    /// Classes that occurred, in order.
    classes: Vec<usize>,
    n_classes: usize,
    /// Number of steps taken.
    pub iterations: usize,
    /// True if the search met a stopping criterion, false if it ran out of steps or its line search failed.
    pub converged: bool,
}

impl FittedClasses {
    /// The weights of the columns and the intercept, for each output: one with two classes, else one for each.
    pub fn outputs(&self) -> impl ExactSizeIterator<Item = (&[f64], f64)> {
        self.weights
            .chunks_exact(self.n_columns + 1)
            .map(|output| (&output[..self.n_columns], output[self.n_columns]))
    }

    /// The probability of each class for each row: `[rows, classes]`.
    ///
    /// # Panics
    /// If `x` has another number of columns than the matrix fitted to.
    pub fn probabilities<T: Real>(&self, x: &Dense<T>) -> Vec<f64> {
        self.softmax(self.logits(x))
    }

    /// Probabilities of [`FittedClasses::probabilities`], for sparse rows.
    ///
    /// # Panics
    /// As [`FittedClasses::probabilities`].
    pub fn probabilities_sparse(&self, x: &Csr) -> Vec<f64> {
        self.softmax(self.logits_sparse(x))
    }

    /// The likeliest class of each row; the first of several equally likely ones.
    ///
    /// # Panics
    /// As [`FittedClasses::probabilities`].
    pub fn predict<T: Real>(&self, x: &Dense<T>) -> Vec<usize> {
        self.likeliest(self.logits(x))
    }

    /// Predictions of [`FittedClasses::predict`], for sparse rows.
    ///
    /// # Panics
    /// As [`FittedClasses::probabilities`].
    pub fn predict_sparse(&self, x: &Csr) -> Vec<usize> {
        self.likeliest(self.logits_sparse(x))
    }

    /// The probabilities of all classes, row by row.
    fn softmax(&self, logits: Vec<Vec<f64>>) -> Vec<f64> {
        let mut all = vec![0.0; logits.len() * self.n_classes];
        for (logits, row) in logits.into_iter().zip(all.chunks_mut(self.n_classes)) {
            let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let exps: Vec<f64> = logits.iter().map(|z| (z - largest).exp()).collect();
            let sum: f64 = exps.iter().sum();
            for (&class, e) in self.classes.iter().zip(exps) {
                row[class] = e / sum;
            }
        }
        all
    }

    fn likeliest(&self, logits: Vec<Vec<f64>>) -> Vec<usize> {
        let best = |logits: Vec<f64>| {
            let mut best = 0;
            for (k, z) in logits.iter().enumerate() {
                if *z > logits[best] {
                    best = k;
                }
            }
            self.classes[best]
        };
        logits.into_iter().map(best).collect()
    }

    /// Logits of the classes that occurred, row by row: their softmax is the probability.
    fn logits<T: Real>(&self, x: &Dense<T>) -> Vec<Vec<f64>> {
        self.check(x.n_columns());
        let products = |(coef, b): (&[f64], f64)| T::products(x, coef, b);
        self.by_row(x.n_rows(), self.outputs().map(products).collect())
    }

    fn logits_sparse(&self, x: &Csr) -> Vec<Vec<f64>> {
        self.check(x.n_columns());
        let products = |(coef, b): (&[f64], f64)| x.products(coef, b);
        self.by_row(x.n_rows(), self.outputs().map(products).collect())
    }

    fn check(&self, n_columns: usize) {
        assert_eq!(
            n_columns, self.n_columns,
            "columns differ from those fitted to"
        );
    }

    /// Turns the logits of each output into those of each row.
    fn by_row(&self, n_rows: usize, of_outputs: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
        // With two classes the first one has no weights of its own.
        let first = (self.classes.len() == 2).then(|| vec![0.0; n_rows]);
        let by_class: Vec<Vec<f64>> = first.into_iter().chain(of_outputs).collect();
        (0..n_rows)
            .map(|row| by_class.iter().map(|logits| logits[row]).collect())
            .collect()
    }
}

/// Objective; its parameters are in the order of [`FittedClasses::weights`].
struct Loss<'a, T> {
    x: &'a Dense<'a, T>,
    y: &'a [usize],
    outputs: usize,
    strength: f64,
}

impl<T: Real> Objective for Loss<'_, T> {
    fn evaluate(&mut self, point: &[f64], gradient: &mut [f64]) -> f64 {
        let columns = self.x.n_columns();
        let mut penalty = 0.0;
        for (w, g) in point
            .chunks_exact(columns + 1)
            .zip(gradient.chunks_exact_mut(columns + 1))
        {
            let coef = &w[..columns];
            penalty += 0.5 * self.strength * dot(coef, coef);
            for (g, w) in g.iter_mut().zip(coef) {
                *g = self.strength * w;
            }
            g[columns] = 0.0;
        }
        let loss = T::loss(self.x, self.y, self.outputs, point, gradient);
        loss / self.y.len() as f64 + penalty
    }

    fn largest(&self, gradient: &[f64]) -> f64 {
        gradient.iter().fold(0.0, |largest, g| largest.max(g.abs()))
    }
}

/// The sum of -ln p over all rows; the gradient of its mean is added to `gradient`.
pub(super) fn loss<T: Real>(
    x: &Dense<T>,
    y: &[usize],
    outputs: usize,
    point: &[f64],
    gradient: &mut [f64],
) -> f64 {
    wide(Pass {
        x,
        y,
        outputs,
        point,
        gradient,
    })
}

/// One pass over all rows: the sum of -ln p; the gradient of its mean is added to `gradient`.
struct Pass<'a, T> {
    x: &'a Dense<'a, T>,
    y: &'a [usize],
    outputs: usize,
    point: &'a [f64],
    gradient: &'a mut [f64],
}

impl<T: Real> Work for Pass<'_, T> {
    type Output = f64;

    #[inline(always)]
    fn run<U: Unit>(self, unit: U) -> f64 {
        match self.outputs {
            1 => two_classes(unit, self.x, self.y, self.point, self.gradient),
            n => many_classes(unit, (self.x, self.y), n, self.point, self.gradient),
        }
    }
}

#[inline(always)]
fn two_classes<T: Real, U: Unit>(
    unit: U,
    x: &Dense<T>,
    y: &[usize],
    point: &[f64],
    gradient: &mut [f64],
) -> f64 {
    let share = 1.0 / y.len() as f64;
    let (intercept, coef) = point.split_last().expect("there is an intercept");
    let (intercept_gradient, gradient) = gradient.split_last_mut().expect("as many as point");
    let (mut loss, mut odds) = (0.0, 1.0f64);
    for (from, classes) in (0..).step_by(BLOCK).zip(y.chunks(BLOCK)) {
        if from % FACTORS == 0 {
            loss += odds.ln();
            odds = 1.0;
        }
        let rows = rows_from(x, from);
        let products = multiply(unit, rows, coef);
        let mut factors = [0.0; BLOCK];
        for ((factor, &class), product) in factors.iter_mut().zip(classes).zip(products) {
            let log_odds = product + intercept;
            // With e = exp(-|z|) nothing overflows: ln(1 + exp z) = max(z, 0) + ln(1 + e).
            let e = (-log_odds.abs()).exp();
            loss += log_odds.max(0.0) - class as f64 * log_odds;
            odds *= 1.0 + e;
            let probability = if log_odds >= 0.0 { 1.0 } else { e } / (1.0 + e);
            *factor = (probability - class as f64) * share;
            *intercept_gradient += *factor;
        }
        add(unit, rows, factors, gradient);
    }
    loss + odds.ln()
}

/// Computes [`two_classes`] with a softmax over `outputs` classes.
#[inline(always)]
fn many_classes<T: Real, U: Unit>(
    unit: U,
    (x, y): (&Dense<T>, &[usize]),
    outputs: usize,
    point: &[f64],
    gradient: &mut [f64],
) -> f64 {
    let share = 1.0 / y.len() as f64;
    let columns = x.n_columns();
    let mut loss = 0.0;
    let mut logits = vec![[0.0; BLOCK]; outputs];
    for (from, classes) in (0..).step_by(BLOCK).zip(y.chunks(BLOCK)) {
        let rows = rows_from(x, from);
        for (logits, w) in logits.iter_mut().zip(point.chunks_exact(columns + 1)) {
            *logits = multiply(unit, rows, &w[..columns]).map(|product| product + w[columns]);
        }
        for k in 0..BLOCK {
            let Some(&class) = classes.get(k) else {
                logits.iter_mut().for_each(|logits| logits[k] = 0.0);
                continue;
            };
            let largest = logits.iter().fold(f64::NEG_INFINITY, |m, z| m.max(z[k]));
            loss += largest - logits[class][k];
            let mut sum = 0.0;
            for z in &mut logits {
                z[k] = (z[k] - largest).exp();
                sum += z[k];
            }
            loss += sum.ln();
            for (output, z) in logits.iter_mut().enumerate() {
                z[k] = (z[k] / sum - f64::from(u8::from(output == class))) * share;
            }
        }
        for (factors, g) in logits.iter().zip(gradient.chunks_exact_mut(columns + 1)) {
            let (intercept, coef) = g.split_last_mut().expect("there is an intercept");
            add(unit, rows, *factors, coef);
            *intercept += factors.iter().sum::<f64>();
        }
    }
    loss
}

#[cfg(test)]
mod tests;
