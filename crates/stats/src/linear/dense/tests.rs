//! Tests of the module above.

use super::*;

#[test]
fn dense_and_sparse_take_the_same_steps() {
    let values: Vec<f64> = (0..30u32).map(|i| f64::from(i * i % 11) - 4.0).collect();
    let y = [0, 1, 1, 0, 1, 0, 0, 1, 1, 0];
    let mut sparse = Csr::new(3);
    for row in values.chunks(3) {
        let mut row: Vec<(u32, f64)> = (0..).zip(row.iter().copied()).collect();
        sparse.push_row(&mut row);
    }
    let settings = Logistic {
        tol: 1e-8,
        ..Logistic::default()
    };
    let expected = settings.fit(&sparse, &y);
    let x = Dense::new(&values, 3);
    let found = settings.fit_dense(&x, &y, 2);
    assert_eq!(found.iterations, expected.iterations);
    let (coef, intercept) = found.outputs().next().expect("one output");
    assert!((intercept - expected.intercept).abs() < 1e-9);
    for (a, b) in coef.iter().zip(&expected.coef) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }
    assert_eq!(found.predict(&x), expected.predict(&sparse));
}

#[test]
fn both_solvers_find_the_minimum() {
    // Columns of very different spread, and several rows for each.
    let (rows, columns) = (300, 20);
    let values: Vec<f64> = (0..rows * columns)
        .map(|at| {
            let (i, j) = (at / columns, at % columns);
            let value = ((i * i * 7 + j * 13 + i * j * 5) % 101) as f64 / 50.0 - 1.0;
            value * 3f64.powi(j as i32 % 5 - 2) + 0.3
        })
        .collect();
    let x = Dense::new(&values, columns);
    for n_classes in [2, 3] {
        let y: Vec<usize> = (0..rows)
            .map(|i| {
                (values[i * columns + 2] > 0.2 * (i % 7) as f64) as usize + i % (n_classes - 1)
            })
            .collect();
        let fit = |solver| {
            let settings = Logistic {
                tol: 1e-8,
                max_iter: 10_000,
                solver,
                ..Logistic::default()
            };
            settings.fit_dense(&x, &y, n_classes)
        };
        let (plain, quick) = (fit(Solver::Lbfgs), fit(Solver::Preconditioned));
        assert!(plain.converged && quick.converged, "{n_classes}");
        assert!(
            3 * quick.iterations < plain.iterations,
            "{n_classes}: {} of {}",
            quick.iterations,
            plain.iterations
        );
        let pairs = plain
            .probabilities(&x)
            .into_iter()
            .zip(quick.probabilities(&x));
        for (a, b) in pairs {
            assert!((a - b).abs() < 1e-5, "{n_classes}: {a} {b}");
        }
    }
}

#[test]
fn a_class_that_does_not_occur_is_never_predicted() {
    let values = [1.0f32, -1.0, 2.0, -2.0];
    let x = Dense::new(&values, 1);
    let fitted = Logistic::default().fit_dense(&x, &[3, 1, 3, 1], 5);
    assert_eq!(fitted.outputs().len(), 1);
    assert_eq!(fitted.predict(&x), [3, 1, 3, 1]);
    for row in fitted.probabilities(&x).chunks(5) {
        assert_eq!((row[0], row[2], row[4]), (0.0, 0.0, 0.0));
        assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}

#[test]
#[should_panic(expected = "examples of two classes")]
fn one_class_is_refused() {
    Logistic::default().fit_dense(&Dense::new(&[1.0, 2.0], 1), &[1, 1], 2);
}
