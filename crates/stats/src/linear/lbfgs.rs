//! Limited-memory BFGS as L-BFGS-B runs it on a problem without bounds.
//!
//! The direction is the two-loop recursion of Nocedal (1980), which without bounds is what the compact form of
//! L-BFGS-B comes to; first step, line search, skipped updates, restarts and stopping tests are those of
//! L-BFGS-B 3.0. So the iterates follow scipy's up to rounding, and stopping early stops at the same place. A
//! general crate (argmin) has the recursion and the line search as well, but other first steps and stopping
//! tests, and a vector allocated for each sum.

use std::collections::VecDeque;

use super::line_search::{LineSearch, Next, Point};

/// Pairs of steps and gradient changes kept, scipy's `maxcor`.
const MEMORY: usize = 10;
/// Trials in one line search, scikit-learn's `maxls`.
const MAX_TRIALS: usize = 50;
/// A relative decrease below this ends the search, scikit-learn's `ftol`.
const LEAST_DECREASE: f64 = 64.0 * f64::EPSILON;
/// Entries worked on at a time, few enough to stay in the first cache.
const BLOCK: usize = 1024;
/// Longest step of a line search.
const LARGEST_STEP: f64 = 1e10;

/// A function to minimise.
pub(super) trait Objective {
    /// Its value at `x`; its gradient there goes into `gradient`.
    fn evaluate(&mut self, x: &[f64], gradient: &mut [f64]) -> f64;

    /// The largest absolute entry of a gradient, in the coordinates the tolerance is meant in.
    fn largest(&self, gradient: &[f64]) -> f64;
}

/// Where a search ended.
#[derive(Debug)]
pub(super) struct Minimum {
    pub x: Vec<f64>,
    pub iterations: usize,
    pub converged: bool,
}

/// Minimises from zero, until the largest gradient entry is at most `tol` or `max_iter` steps are taken.
pub(super) fn minimise(
    objective: &mut impl Objective,
    n: usize,
    max_iter: usize,
    tol: f64,
) -> Minimum {
    let mut x = vec![0.0; n];
    let mut gradient = vec![0.0; n];
    let mut value = objective.evaluate(&x, &mut gradient);
    let mut iterations = 0;
    if objective.largest(&gradient) <= tol {
        return Minimum {
            x,
            iterations,
            converged: true,
        };
    }
    let mut memory = Memory::default();
    let (mut direction, mut x_new, mut gradient_new) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
    loop {
        memory.descend(&gradient, &mut direction);
        let slope = dot(&gradient, &direction);
        let first = if iterations == 0 {
            1.0 / dot(&direction, &direction).sqrt()
        } else {
            1.0
        };
        let found = if slope < 0.0 {
            search(first.min(LARGEST_STEP), value, slope, |step| {
                add_scaled(&x, step, &direction, &mut x_new);
                let value = objective.evaluate(&x_new, &mut gradient_new);
                (value, dot(&gradient_new, &direction))
            })
        } else {
            None
        };
        let Some(accepted) = found else {
            if memory.is_empty() {
                return Minimum {
                    x,
                    iterations,
                    converged: false,
                };
            }
            memory.forget();
            continue;
        };
        iterations += 1;
        let value_before = std::mem::replace(&mut value, accepted.value);
        std::mem::swap(&mut x, &mut x_new);
        std::mem::swap(&mut gradient, &mut gradient_new);
        if iterations >= max_iter {
            return Minimum {
                x,
                iterations,
                converged: false,
            };
        }
        let flat =
            value_before - value <= LEAST_DECREASE * value_before.abs().max(value.abs()).max(1.0);
        if objective.largest(&gradient) <= tol || flat {
            return Minimum {
                x,
                iterations,
                converged: true,
            };
        }
        memory.learn(
            accepted.step,
            &direction,
            [&gradient_new, &gradient],
            [slope, accepted.slope],
        );
    }
}

/// Runs one line search; `None` where it does not end.
fn search(
    first: f64,
    value: f64,
    slope: f64,
    mut evaluate: impl FnMut(f64) -> (f64, f64),
) -> Option<Point> {
    let mut line = LineSearch::new(value, slope, first, LARGEST_STEP);
    let mut step = first;
    for _ in 0..MAX_TRIALS {
        let (value, slope) = evaluate(step);
        let trial = Point { step, value, slope };
        match line.advance(trial) {
            Next::Accept => return Some(trial),
            Next::Try(next) => step = next,
        }
    }
    None
}

/// The last few steps and what they did to the gradient: an estimate of the inverse Hessian.
///
/// The recursion needs each vector only in products with others, so it runs on a table of products (Chen, Wang
/// and Zhou 2014): one pass over the pairs for their products with the gradient, and one to add up the
/// direction, where the plain recursion makes four.
#[derive(Debug, Default)]
struct Memory {
    pairs: Vec<Pair>,
    /// Where the pairs stand in `pairs`, oldest first.
    order: VecDeque<usize>,
    /// The pair taken in since the last direction, whose products with the others are not known yet.
    fresh: Option<usize>,
    /// `step_change[i][j]` = stepᵢ · changeⱼ, where i is older than j.
    step_change: [[f64; MEMORY]; MEMORY],
    /// `change_change[i][j]` = changeᵢ · changeⱼ
    change_change: [[f64; MEMORY]; MEMORY],
    /// stepᵢ · gradient and changeᵢ · gradient, of the gradient last seen.
    step_gradient: [f64; MEMORY],
    change_gradient: [f64; MEMORY],
}

/// A step, the change of the gradient over it, and their product.
#[derive(Debug)]
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
    curvature: f64,
}

impl Memory {
    fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    fn forget(&mut self) {
        self.order.clear();
        self.fresh = None;
    }

    /// Minus the estimated inverse Hessian times `gradient`.
    fn descend(&mut self, gradient: &[f64], direction: &mut [f64]) {
        self.multiply(gradient);
        // q = -gradient - Σ weightⱼ changeⱼ, newest first.
        let mut weights = [0.0; MEMORY];
        for (position, &i) in self.order.iter().enumerate().rev() {
            let mut product = -self.step_gradient[i];
            for &j in self.order.range(position + 1..) {
                product -= weights[j] * self.step_change[i][j];
            }
            weights[i] = product / self.pairs[i].curvature;
        }
        // The inverse Hessian before any pair is applied, as a multiple of the identity.
        let scale = self
            .order
            .back()
            .map_or(1.0, |&i| self.pairs[i].curvature / self.change_change[i][i]);
        // direction = scale q + Σ shareⱼ stepⱼ, oldest first.
        let mut shares = [0.0; MEMORY];
        for (position, &i) in self.order.iter().enumerate() {
            let mut product = -self.change_gradient[i];
            for &j in &self.order {
                product -= weights[j] * self.change_change[i][j];
            }
            product *= scale;
            for &j in self.order.range(..position) {
                product += shares[j] * self.step_change[j][i];
            }
            shares[i] = weights[i] - product / self.pairs[i].curvature;
        }
        for (block, start) in direction.chunks_mut(BLOCK).zip((0..).step_by(BLOCK)) {
            let range = start..start + block.len();
            for (d, g) in block.iter_mut().zip(&gradient[range.clone()]) {
                *d = -scale * g;
            }
            for &i in &self.order {
                let pair = &self.pairs[i];
                let (along_step, along_change) = (shares[i], -scale * weights[i]);
                let vectors = pair.step[range.clone()]
                    .iter()
                    .zip(&pair.change[range.clone()]);
                for (d, (s, c)) in block.iter_mut().zip(vectors) {
                    *d += along_step * s + along_change * c;
                }
            }
        }
    }

    /// Brings the table up to date with `gradient`.
    ///
    /// The newest change is the difference of this gradient and the last, and so are its products.
    fn multiply(&mut self, gradient: &[f64]) {
        let (mut of_steps, mut of_changes) = ([0.0; MEMORY], [0.0; MEMORY]);
        for (block, start) in gradient.chunks(BLOCK).zip((0..).step_by(BLOCK)) {
            let range = start..start + block.len();
            for &i in &self.order {
                of_steps[i] += dot(block, &self.pairs[i].step[range.clone()]);
                of_changes[i] += dot(block, &self.pairs[i].change[range.clone()]);
            }
        }
        if let Some(new) = self.fresh.take() {
            for &i in self.order.iter().filter(|&&i| i != new) {
                self.step_change[i][new] = of_steps[i] - self.step_gradient[i];
                let product = of_changes[i] - self.change_gradient[i];
                self.change_change[i][new] = product;
                self.change_change[new][i] = product;
            }
        }
        (self.step_gradient, self.change_gradient) = (of_steps, of_changes);
    }

    /// Takes in a step of length `step` along `direction`, unless the function does not curve upwards over it.
    fn learn(&mut self, step: f64, direction: &[f64], gradients: [&[f64]; 2], slopes: [f64; 2]) {
        let curvature = (slopes[1] - slopes[0]) * step; // change · step
        if curvature <= f64::EPSILON * (-slopes[0] * step) {
            return;
        }
        let n = direction.len();
        let new = if self.order.len() == MEMORY {
            self.order.pop_front().expect("the memory is full")
        } else {
            self.order.len()
        };
        if new == self.pairs.len() {
            self.pairs.push(Pair {
                step: vec![0.0; n],
                change: vec![0.0; n],
                curvature,
            });
        }
        let pair = &mut self.pairs[new];
        pair.curvature = curvature;
        for (s, d) in pair.step.iter_mut().zip(direction) {
            *s = step * d;
        }
        add_scaled(gradients[1], -1.0, gradients[0], &mut pair.change);
        self.change_change[new][new] = dot(&pair.change, &pair.change);
        self.order.push_back(new);
        self.fresh = Some(new);
    }
}

/// a · b, in eight running sums, which the compiler can keep in vector registers.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a_blocks, a_rest) = a.as_chunks::<8>();
    let (b_blocks, b_rest) = b.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for k in 0..8 {
            sums[k] += a[k] * b[k];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

/// `sum = a + scale · b`
fn add_scaled(a: &[f64], scale: f64, b: &[f64], sum: &mut [f64]) {
    for ((sum, a), b) in sum.iter_mut().zip(a).zip(b) {
        *sum = a + scale * b;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rosenbrock's valley, whose minimum is 0 at (1, 1).
    struct Valley {
        evaluations: usize,
    }

    impl Objective for Valley {
        fn evaluate(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
            self.evaluations += 1;
            let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
            gradient[0] = -2.0 * a - 400.0 * x[0] * b;
            gradient[1] = 200.0 * b;
            a * a + 100.0 * b * b
        }

        fn largest(&self, gradient: &[f64]) -> f64 {
            gradient.iter().fold(0.0, |m, g| m.max(g.abs()))
        }
    }

    #[test]
    fn the_valley_is_followed_to_its_end() {
        let mut valley = Valley { evaluations: 0 };
        let minimum = minimise(&mut valley, 2, 100, 1e-8);
        assert!(minimum.converged);
        assert!((minimum.x[0] - 1.0).abs() < 1e-6 && (minimum.x[1] - 1.0).abs() < 1e-6);
    }

    #[test]
    fn the_steps_are_those_of_scipy() {
        // scipy 1.17.1: minimize(method="L-BFGS-B", gtol=1e-8, ftol=64 * eps, maxls=50) from (0, 0): nit, nfev.
        let mut valley = Valley { evaluations: 0 };
        let minimum = minimise(&mut valley, 2, 100, 1e-8);
        assert_eq!((minimum.iterations, valley.evaluations), (23, 27));
    }

    #[test]
    fn the_number_of_steps_is_bounded() {
        let minimum = minimise(&mut Valley { evaluations: 0 }, 2, 3, 1e-8);
        assert_eq!((minimum.iterations, minimum.converged), (3, false));
    }

    #[test]
    fn sums_in_blocks_include_the_rest() {
        let a: Vec<f64> = (0..19).map(f64::from).collect();
        assert_eq!(dot(&a, &a), 2109.0);
    }
}
