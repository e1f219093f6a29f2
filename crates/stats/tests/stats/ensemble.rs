//! Votes compared with those of scikit-learn's VotingClassifier, from `fixtures/make/ensemble.py`.

use serde::Deserialize;
use totune_stats::{Vote, mean_probabilities, predict_together};

#[derive(Deserialize)]
struct Case {
    /// `[members][examples][classes]`.
    members: Vec<Vec<Vec<f32>>>,
    weights: Vec<f64>,
    /// `[examples][classes]`.
    mean: Vec<Vec<f64>>,
    weighted_mean: Vec<Vec<f64>>,
    by_mean: Vec<usize>,
    by_weights: Vec<usize>,
    by_majority: Vec<usize>,
    tied: Vec<bool>,
}

#[test]
fn votes_are_those_of_scikit_learn() {
    let text = include_str!("../../../../fixtures/stats/ensemble.json");
    let cases: Vec<Case> = serde_json::from_str(text).expect("the reference values are JSON");
    let ties = cases.iter().flat_map(|case| &case.tied);
    assert!(ties.filter(|tied| **tied).count() > 5);
    for case in &cases {
        for row in 0..case.by_mean.len() {
            let members: Vec<&[f32]> = case.members.iter().map(|table| &*table[row]).collect();
            near(&mean_probabilities(&members, None), &case.mean[row]);
            let weighted = mean_probabilities(&members, Some(&case.weights));
            near(&weighted, &case.weighted_mean[row]);
            for (vote, expected) in [
                (Vote::Mean, &case.by_mean),
                (Vote::Weighted(&case.weights), &case.by_weights),
                (Vote::Majority, &case.by_majority),
            ] {
                let found = predict_together(&members, vote);
                assert_eq!(found, expected[row], "{vote:?} on row {row}");
            }
        }
    }
}

#[track_caller]
fn near(found: &[f64], expected: &[f64]) {
    let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(close),
        "found {found:?}, expected {expected:?}"
    );
}
