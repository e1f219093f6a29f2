//! Scores, words, features and logistic regression compared with scikit-learn's, from `fixtures/make/stats.py`.

use std::collections::BTreeMap;

use serde::Deserialize;
use totune_stats::{
    Average, Csr, Features, Logistic, Vectorizer, accuracy, averaged, f1_batch_mean, f1_macro,
    f1_micro, for_class, matthews, tokens,
};

#[derive(Deserialize)]
struct Scores {
    name: String,
    n_classes: usize,
    gold: Vec<usize>,
    predicted: Vec<usize>,
    accuracy: f64,
    classes: Vec<[f64; 4]>,
    f1_macro: f64,
    f1_micro: f64,
    f1_batch_mean_of_1: BTreeMap<usize, f64>,
    averages: BTreeMap<String, [f64; 3]>,
    matthews: f64,
}

#[test]
fn scores_are_those_of_scikit_learn() {
    let cases: Vec<Scores> =
        serde_json::from_str(include_str!("../../../../fixtures/stats/scores.json"))
            .expect("the fixture has the shape its script gives it");
    for case in cases {
        let (name, gold, predicted) = (&case.name, &case.gold[..], &case.predicted[..]);
        check(name, accuracy(gold, predicted), case.accuracy, 1e-12);
        check(
            name,
            f1_macro(gold, predicted, case.n_classes),
            case.f1_macro,
            1e-12,
        );
        check(
            name,
            f1_micro(gold, predicted, case.n_classes),
            case.f1_micro,
            1e-12,
        );
        for (class, expected) in case.classes.iter().enumerate() {
            let found = for_class(gold, predicted, class);
            let found = [
                found.precision,
                found.recall,
                found.f1,
                found.support as f64,
            ];
            for (found, expected) in found.into_iter().zip(expected) {
                check(name, found, *expected, 1e-12);
            }
        }
        for (average, of) in [
            ("macro", Average::Macro),
            ("micro", Average::Micro),
            ("weighted", Average::Weighted),
        ] {
            let found = averaged(gold, predicted, case.n_classes, of);
            let found = [found.precision, found.recall, found.f1];
            for (found, expected) in found.into_iter().zip(case.averages[average]) {
                check(name, found, expected, 1e-12);
            }
        }
        let found = matthews(gold, predicted, case.n_classes);
        check(name, found, case.matthews, 1e-12);
        for (batch, expected) in case.f1_batch_mean_of_1 {
            check(
                name,
                f1_batch_mean(gold, predicted, 1, batch),
                expected,
                1e-12,
            );
        }
    }
}

#[derive(Deserialize)]
struct Texts {
    texts: Vec<String>,
    classes: Vec<usize>,
    n_train: usize,
    tokens: Vec<Vec<String>>,
    words: Vec<String>,
    features: BTreeMap<String, Expected>,
}

#[derive(Deserialize)]
struct Expected {
    train: Matrix,
    test: Matrix,
    models: Vec<Model>,
}

#[derive(Deserialize)]
struct Matrix {
    n_columns: usize,
    columns: Vec<Vec<u32>>,
    values: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
struct Model {
    c: f64,
    max_iter: usize,
    tol: f64,
    steps: usize,
    intercept: f64,
    norm: f64,
    probability: Vec<f64>,
    predicted: Vec<usize>,
}

#[test]
fn words_are_those_pythons_pattern_finds() {
    let fixture = texts();
    for (text, expected) in fixture.texts.iter().zip(&fixture.tokens) {
        assert_eq!(&tokens(text), expected, "{text:?}");
    }
}

#[test]
fn the_vocabulary_is_in_the_same_order() {
    let fixture = texts();
    let (train, _) = fixture.split();
    let (vectorizer, _) = Vectorizer::fit(Features::Count, &train);
    assert_eq!(vectorizer.words(), fixture.words);
    for (column, word) in fixture.words.iter().enumerate() {
        assert_eq!(vectorizer.column(word), Some(column), "{word}");
    }
}

#[test]
fn features_are_those_of_scikit_learn() {
    let fixture = texts();
    let (train, test) = fixture.split();
    for (name, expected) in &fixture.features {
        let (vectorizer, matrix) = Vectorizer::fit(features(name), &train);
        check_matrix(&format!("{name}, fitted to"), &matrix, &expected.train);
        check_matrix(
            &format!("{name}, new"),
            &vectorizer.transform(&test),
            &expected.test,
        );
    }
}

#[test]
fn logistic_regression_takes_the_same_steps_to_the_same_probabilities() {
    let fixture = texts();
    let (train, test) = fixture.split();
    for (name, expected) in &fixture.features {
        let (vectorizer, matrix) = Vectorizer::fit(features(name), &train);
        let test = vectorizer.transform(&test);
        for model in &expected.models {
            let name = format!("{name}, c = {}, max_iter = {}", model.c, model.max_iter);
            let settings = Logistic {
                c: model.c,
                max_iter: model.max_iter,
                tol: model.tol,
                ..Logistic::default()
            };
            let fitted = settings.fit(&matrix, &fixture.classes[..fixture.n_train]);
            assert_eq!(fitted.iterations, model.steps, "{name}");
            assert_eq!(fitted.converged, model.steps < model.max_iter, "{name}");
            check(&name, fitted.intercept, model.intercept, 1e-6);
            let norm = fitted.coef.iter().map(|w| w * w).sum::<f64>().sqrt();
            check(&name, norm, model.norm, 1e-6 * model.norm);
            assert_eq!(fitted.predict(&test), model.predicted, "{name}");
            for (found, expected) in fitted
                .probability(&test)
                .into_iter()
                .zip(&model.probability)
            {
                check(&name, found, *expected, 1e-6);
            }
        }
    }
}

impl Texts {
    /// The texts to fit to, and the others.
    fn split(&self) -> (Vec<&str>, Vec<&str>) {
        let texts: Vec<&str> = self.texts.iter().map(String::as_str).collect();
        let (train, test) = texts.split_at(self.n_train);
        (train.to_vec(), test.to_vec())
    }
}

fn texts() -> Texts {
    serde_json::from_str(include_str!("../../../../fixtures/stats/texts.json"))
        .expect("the fixture has the shape its script gives it")
}

fn features(name: &str) -> Features {
    serde_json::from_value(name.into()).expect("the fixture names features as settings do")
}

#[track_caller]
fn check_matrix(name: &str, found: &Csr, expected: &Matrix) {
    assert_eq!(found.n_columns(), expected.n_columns, "{name}");
    assert_eq!(found.n_rows(), expected.columns.len(), "{name}");
    for (i, (columns, values)) in found.rows().enumerate() {
        assert_eq!(columns, expected.columns[i], "{name}, row {i}");
        for (found, expected) in values.iter().zip(&expected.values[i]) {
            check(&format!("{name}, row {i}"), *found, *expected, 1e-9);
        }
    }
}

#[track_caller]
fn check(name: &str, found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance,
        "{name}: found {found:e}, expected {expected:e}"
    );
}
