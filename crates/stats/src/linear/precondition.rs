//! Coordinates in which a logistic regression on dense features is quickly minimised.
//!
//! Features that vary much along few directions and little along many make a long valley, which L-BFGS follows in
//! hundreds of steps. With H ≈ the second derivative factorised as L Lᵀ, the objective as a function of Lᵀ w curves
//! about alike in all directions. An exact H would cost more than the steps it saves: some of the rows are enough,
//! since any L gives the same minimum.

use super::cholesky::Cholesky;
use super::lbfgs::{Minimum, Objective};
use crate::matrix::{Dense, Real};

/// Rows that H is estimated from, for each column.
const ROWS: usize = 2;
/// The least that H curves along each direction, as a share of its mean.
const LEAST: f64 = 1e-10;

/// H of one output, its intercept the last coordinate, without the penalty's part: the mean over some rows of p (1 - p)
/// (x, 1)(x, 1)ᵀ with p the classes' shares. The same for all outputs and for every penalty.
pub(super) struct Curvature {
    h: Vec<f64>,
    columns: usize,
}

impl Curvature {
    pub fn new<T: Real>(x: &Dense<T>, y: &[usize], outputs: usize) -> Self {
        let columns = x.n_columns();
        let some = x.every((x.n_rows() / (ROWS * columns)).max(1));
        let mut counts = vec![0.0; outputs.max(2)];
        y.iter().for_each(|&class| counts[class] += 1.0);
        let shares = counts.iter().map(|count| count / y.len() as f64);
        let variance = shares.map(|p| p * (1.0 - p)).sum::<f64>() / counts.len() as f64;
        let scale = variance / some.n_rows() as f64;

        let products = T::rough_gram(&some);
        let n = columns + 1;
        let mut h = vec![0.0; n * n];
        for (to, from) in h.chunks_exact_mut(n).zip(products.chunks_exact(columns)) {
            for (to, from) in to.iter_mut().zip(from) {
                *to = scale * f64::from(*from);
            }
        }
        for (j, mean) in T::means(&some).into_iter().enumerate() {
            h[j * n + columns] = variance * mean;
            h[columns * n + j] = variance * mean;
        }
        h[n * n - 1] = variance;
        Self { h, columns }
    }

    /// Triangle of H with a penalty of this `strength`. `None` if the factorisation fails.
    pub fn triangle(&self, strength: f64) -> Option<Cholesky<f32>> {
        let (mut h, n) = (self.h.clone(), self.columns + 1);
        let trace: f64 = h.iter().step_by(n + 1).sum();
        let least = LEAST * trace / n as f64;
        for j in 0..self.columns {
            h[j * (n + 1)] += strength;
        }
        h.iter_mut().step_by(n + 1).for_each(|h| *h += least);
        Some(Cholesky::new(h, n)?.rounded())
    }
}

/// An objective of one or more outputs as a function of Lᵀ times the parameters of each.
pub(super) struct Preconditioned<'a, O> {
    of: &'a mut O,
    triangle: &'a Cholesky<f32>,
    /// The parameters of the objective.
    point: Vec<f64>,
    /// Its largest gradient entry at the point of the latest evaluation.
    largest: f64,
}

impl<'a, O: Objective> Preconditioned<'a, O> {
    pub fn new(of: &'a mut O, triangle: &'a Cholesky<f32>, n: usize) -> Self {
        Self {
            of,
            triangle,
            point: vec![0.0; n],
            largest: f64::INFINITY,
        }
    }

    /// The minimum in the parameters of the objective.
    pub fn back(&self, mut minimum: Minimum) -> Minimum {
        for output in minimum.x.chunks_exact_mut(self.triangle.n()) {
            self.triangle.backward(output);
        }
        minimum
    }
}

impl<O: Objective> Objective for Preconditioned<'_, O> {
    fn evaluate(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
        self.point.copy_from_slice(x);
        for output in self.point.chunks_exact_mut(self.triangle.n()) {
            self.triangle.backward(output);
        }
        let value = self.of.evaluate(&self.point, gradient);
        self.largest = self.of.largest(gradient);
        for output in gradient.chunks_exact_mut(self.triangle.n()) {
            self.triangle.forward(output);
        }
        value
    }

    fn largest(&self, _gradient: &[f64]) -> f64 {
        self.largest
    }

    /// Newton's step, were H exact.
    fn first_step(&self, _direction: &[f64]) -> f64 {
        1.0
    }
}
