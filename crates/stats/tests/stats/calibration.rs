//! Calibration of probabilities compared with scikit-learn's, from `fixtures/make/calibration.py`.

use std::collections::BTreeMap;

use serde::Deserialize;
use totune_stats::{brier_score, expected_calibration_error};

#[derive(Deserialize)]
struct Case {
    probabilities: Vec<Vec<f64>>,
    gold: Vec<usize>,
    brier: f64,
    confidence: Vec<f64>,
    right: Vec<bool>,
    errors: BTreeMap<usize, f64>,
}

#[test]
fn brier_score_and_calibration_error_are_those_of_scikit_learn() {
    let cases: Vec<Case> =
        serde_json::from_str(include_str!("../../../../fixtures/stats/calibration.json"))
            .expect("the fixture has the shape its script gives it");
    for case in cases {
        let brier = brier_score(&case.probabilities, &case.gold).expect("there are examples");
        assert!(
            (brier - case.brier).abs() < 1e-12,
            "{brier}, expected {}",
            case.brier
        );
        for (n_bins, expected) in case.errors {
            let found = expected_calibration_error(&case.confidence, &case.right, n_bins);
            let found = found.expect("there are examples");
            assert!(
                (found - expected).abs() < 1e-12,
                "{n_bins} bins: {found}, expected {expected}"
            );
        }
    }
}
