//! Regressions with penalties chosen by cross-validation compared with scikit-learn's, from
//! `fixtures/make/chosen_penalties.py`.

use serde::Deserialize;
use totune_stats::{Csr, Design, Logistic, Matrix, Solver, logistic_cv, ridge_cv};

#[derive(Deserialize)]
struct Cases {
    folds: usize,
    logistic: Vec<Case<usize>>,
    ridge: Vec<Case<f64>>,
}

#[derive(Deserialize)]
struct Case<Y> {
    name: String,
    n_train: usize,
    columns: usize,
    #[serde(default)]
    n_classes: usize,
    x: Vec<f64>,
    y: Vec<Y>,
    penalties: Vec<f64>,
    penalty: f64,
    scores: Vec<f64>,
    #[serde(default)]
    probabilities: Vec<f64>,
    predicted: Vec<Y>,
}

impl<Y> Case<Y> {
    /// The features of the examples to learn from, and of the others.
    fn dense(&self) -> [Matrix<f64>; 2] {
        let (train, test) = self.x.split_at(self.n_train * self.columns);
        [train, test].map(|rows| Matrix::new(rows.to_vec(), self.columns))
    }

    fn sparse(&self) -> [Csr; 2] {
        let (train, test) = self.x.split_at(self.n_train * self.columns);
        [train, test].map(|rows| {
            let mut matrix = Csr::new(self.columns);
            for row in rows.chunks(self.columns) {
                let entries = (0..).zip(row.iter().copied());
                let mut entries: Vec<(u32, f64)> = entries.filter(|(_, v)| *v != 0.0).collect();
                matrix.push_row(&mut entries);
            }
            matrix
        })
    }
}

fn cases() -> Cases {
    serde_json::from_str(include_str!(
        "../../../../fixtures/stats/chosen_penalties.json"
    ))
    .expect("the fixture has the shape its script gives it")
}

#[test]
fn logistic_regression_with_a_chosen_c_is_that_of_scikit_learn() {
    let cases = cases();
    for case in &cases.logistic {
        let name = &case.name;
        for solver in [Solver::Lbfgs, Solver::Preconditioned] {
            check_classes(
                &format!("{name}, {solver:?}"),
                case,
                (case.dense(), solver),
                cases.folds,
            );
        }
        let sparse = (case.sparse(), Solver::Lbfgs);
        check_classes(&format!("{name}, sparse"), case, sparse, cases.folds);
    }
}

fn check_classes<D: Design>(
    name: &str,
    case: &Case<usize>,
    ([train, test], solver): ([D; 2], Solver),
    folds: usize,
) {
    let settings = Logistic {
        tol: 1e-9,
        max_iter: 100_000,
        solver,
        ..Logistic::default()
    };
    let y = &case.y[..case.n_train];
    let chosen = logistic_cv(
        &train,
        (y, case.n_classes),
        &settings,
        &case.penalties,
        folds,
    );
    assert_eq!(chosen.penalty, case.penalty, "{name}");
    check(name, &chosen.scores, &case.scores, 1e-12);
    let found = test.probabilities(&chosen.model);
    check(name, &found, &case.probabilities, 1e-5);
    assert_eq!(test.classes(&chosen.model), case.predicted, "{name}");
}

#[test]
fn ridge_regression_with_a_chosen_alpha_is_that_of_scikit_learn() {
    let cases = cases();
    for case in &cases.ridge {
        check_values(&case.name, case, case.dense(), cases.folds);
        let name = format!("{}, sparse", case.name);
        check_values(&name, case, case.sparse(), cases.folds);
    }
}

fn check_values<D: Design>(name: &str, case: &Case<f64>, [train, test]: [D; 2], folds: usize) {
    let chosen = ridge_cv(&train, &case.y[..case.n_train], &case.penalties, folds);
    assert_eq!(chosen.penalty, case.penalty, "{name}");
    check(name, &chosen.scores, &case.scores, 1e-7);
    check(name, &test.values(&chosen.model), &case.predicted, 1e-7);
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
