//! Regressions on dense features compared with scikit-learn's, from `fixtures/make/dense.py`.

use serde::Deserialize;
use totune_stats::{Dense, Linear, Logistic, Solver};

#[derive(Deserialize)]
struct Cases {
    logistic: Vec<LogisticCase>,
    linear: Vec<LinearCase>,
}

#[derive(Deserialize)]
struct LogisticCase {
    name: String,
    columns: usize,
    n_classes: usize,
    x: Vec<f64>,
    y: Vec<usize>,
    c: f64,
    max_iter: usize,
    tol: f64,
    steps: usize,
    coef: Vec<f64>,
    intercepts: Vec<f64>,
    probabilities: Vec<f64>,
    predicted: Vec<usize>,
}

#[derive(Deserialize)]
struct LinearCase {
    name: String,
    columns: usize,
    x: Vec<f64>,
    y: Vec<f64>,
    rank: usize,
    coef: Vec<f64>,
    intercept: f64,
    predicted: Vec<f64>,
}

fn cases() -> Cases {
    serde_json::from_str(include_str!("../../../../fixtures/stats/dense.json"))
        .expect("the fixture has the shape its script gives it")
}

#[test]
fn logistic_regression_takes_the_steps_of_scikit_learn() {
    for case in cases().logistic {
        let settings = Logistic {
            c: case.c,
            max_iter: case.max_iter,
            tol: case.tol,
            ..Logistic::default()
        };
        let x = Dense::new(&case.x, case.columns);
        let fitted = settings.fit_dense(&x, &case.y, case.n_classes);
        let name = &case.name;
        assert_eq!(fitted.iterations, case.steps, "{name}");
        let coef: Vec<f64> = fitted.outputs().flat_map(|o| o.0.to_vec()).collect();
        let intercepts: Vec<f64> = fitted.outputs().map(|output| output.1).collect();
        check(name, &coef, &case.coef, 1e-6);
        check(name, &intercepts, &case.intercepts, 1e-6);
        check(name, &fitted.probabilities(&x), &case.probabilities, 1e-7);
        assert_eq!(fitted.predict(&x), case.predicted, "{name}");
    }
}

#[test]
fn numbers_of_single_precision_give_almost_the_same() {
    for case in cases().logistic {
        let single: Vec<f32> = case.x.iter().map(|&value| value as f32).collect();
        let x = Dense::new(&single, case.columns);
        let settings = Logistic {
            c: case.c,
            max_iter: case.max_iter,
            tol: case.tol,
            ..Logistic::default()
        };
        let fitted = settings.fit_dense(&x, &case.y, case.n_classes);
        let found = fitted.probabilities(&x);
        check(&case.name, &found, &case.probabilities, 1e-4);
    }
}

#[test]
fn the_preconditioned_solver_ends_where_scikit_learn_would_end_at_a_tighter_tolerance() {
    // The one case that scikit-learn took to its minimum.
    let cases = cases().logistic.into_iter().filter(|case| case.tol < 1e-5);
    for case in cases {
        let settings = Logistic {
            c: case.c,
            max_iter: case.max_iter,
            tol: 1e-9,
            solver: Solver::Preconditioned,
        };
        let x = Dense::new(&case.x, case.columns);
        let fitted = settings.fit_dense(&x, &case.y, case.n_classes);
        assert!(fitted.converged, "{}", case.name);
        let found = fitted.probabilities(&x);
        check(&case.name, &found, &case.probabilities, 1e-4);
        assert_eq!(fitted.predict(&x), case.predicted, "{}", case.name);
    }
}

#[test]
fn least_squares_are_those_of_scikit_learn() {
    for case in cases().linear {
        let x = Dense::new(&case.x, case.columns);
        let fitted = Linear::fit(&x, &case.y);
        let name = &case.name;
        assert_eq!(fitted.rank, case.rank, "{name}");
        check(name, &fitted.coef, &case.coef, 1e-9);
        check(name, &[fitted.intercept], &[case.intercept], 1e-9);
        check(name, &fitted.predict(&x), &case.predicted, 1e-9);
    }
}

#[track_caller]
fn check(name: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{name}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            (found - expected).abs() <= tolerance * expected.abs().max(1.0),
            "{name}: found {found:e}, expected {expected:e}"
        );
    }
}
