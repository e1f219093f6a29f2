//! Scores of several labels, and of labels in an order, compared with scikit-learn's, from
//! `fixtures/make/label_sets.py`.

use std::collections::BTreeMap;

use serde::Deserialize;
use totune_stats::{multi_label_scores, ordinal_scores};

#[derive(Deserialize)]
struct Reference {
    multi_label: Vec<Several>,
    ordinal: Vec<Ordinal>,
}

#[derive(Deserialize)]
struct Several {
    labels: Vec<String>,
    gold: Vec<Vec<usize>>,
    predicted: Vec<Vec<usize>>,
    probabilities: Vec<Vec<f64>>,
    scores: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
struct Ordinal {
    n_labels: usize,
    gold: Vec<usize>,
    predicted: Vec<usize>,
    scores: BTreeMap<String, f64>,
}

fn reference() -> Reference {
    serde_json::from_str(include_str!("../../../../fixtures/stats/label_sets.json"))
        .expect("the fixture has the shape its script gives it")
}

#[track_caller]
fn check(found: impl IntoIterator<Item = (String, f64)>, expected: &BTreeMap<String, f64>) {
    let found: BTreeMap<String, f64> = found.into_iter().collect();
    assert!(found.keys().eq(expected.keys()), "{found:?} {expected:?}");
    for (name, value) in found {
        let expected = expected[&name];
        assert!(
            (value - expected).abs() < 1e-12,
            "{name}: {value}, expected {expected}"
        );
    }
}

#[test]
fn scores_of_several_labels_are_those_of_scikit_learn() {
    for case in reference().multi_label {
        let gold: Vec<&[usize]> = case.gold.iter().map(Vec::as_slice).collect();
        let predicted: Vec<&[usize]> = case.predicted.iter().map(Vec::as_slice).collect();
        let asked: Vec<&str> = case.scores.keys().map(String::as_str).collect();
        let scores = Some(&case.probabilities[..]);
        let found = multi_label_scores(&gold, &predicted, scores, &case.labels, asked);
        check(found, &case.scores);
    }
}

#[test]
fn scores_of_ordered_labels_are_those_of_scikit_learn() {
    for case in reference().ordinal {
        let found = ordinal_scores(&case.gold, &case.predicted, case.n_labels).into_iter();
        let found = found.map(|(name, value)| (name.to_string(), value));
        check(found, &case.scores);
    }
}
