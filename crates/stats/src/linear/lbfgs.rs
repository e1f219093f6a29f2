//! Limited-memory BFGS as L-BFGS-B runs it on a problem without bounds.
//!
//! The direction is the two-loop recursion of Nocedal (1980), which without bounds equals the compact form of L-BFGS-B;
//! first step, line search, skipped updates, restarts and stopping tests are those of L-BFGS-B 3.0. So the iterates
//! follow scipy's up to rounding, and stopping early stops at the same place.
//!
//! The general crate argmin (0.11) has the recursion and the line search as well. It tries a first step of 1, stops on
//! the Euclidean norm of the gradient, evaluates value and gradient separately, and makes a new vector for each sum; at
//! this tolerance its results would differ.

use super::line_search::{LineSearch, Next, Point};
use super::memory::{Memory, add_scaled, dot};

/// Number of trials in one line search, scikit-learn's `maxls`.
const MAX_TRIALS: usize = 50;
/// Relative decrease below which the search ends, scikit-learn's `ftol`.
const LEAST_DECREASE: f64 = 64.0 * f64::EPSILON;
/// Longest step of a line search.
const LARGEST_STEP: f64 = 1e10;

/// A function to minimise.
pub(super) trait Objective {
    /// Evaluates it at `x`, and writes its gradient there into `gradient`.
    fn evaluate(&mut self, x: &[f64], gradient: &mut [f64]) -> f64;

    /// Largest absolute entry of the gradient of the latest evaluation, in the coordinates that the tolerance applies to.
    fn largest(&self, gradient: &[f64]) -> f64;

    /// Share of the first direction that is tried first. Steepest descent does not determine a length, so that it is a
    /// step of length one.
    fn first_step(&self, direction: &[f64]) -> f64 {
        1.0 / dot(direction, direction).sqrt()
    }
}

/// Result of a search.
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
            objective.first_step(&direction)
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

    /// A slope that ends in no number.
    struct Cliff;

    impl Objective for Cliff {
        fn evaluate(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
            gradient[0] = -1.0;
            if x[0] > 0.0 { f64::NAN } else { -x[0] }
        }

        fn largest(&self, gradient: &[f64]) -> f64 {
            gradient[0].abs()
        }
    }

    #[test]
    fn a_search_that_meets_no_number_ends_where_it_was() {
        let minimum = minimise(&mut Cliff, 1, 100, 1e-8);
        assert_eq!((minimum.x, minimum.converged), (vec![0.0], false));
    }
}
