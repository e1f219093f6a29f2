//! The mean over strata beside scipy's and numpy's, from `fixtures/make/strata.py`.

use serde::Deserialize;
use totune_stats::stratified_t;

#[derive(Deserialize)]
struct Case {
    name: String,
    strata: Vec<Vec<f64>>,
    mean: f64,
    t: f64,
    df: f64,
    p: f64,
    low: f64,
    high: f64,
}

#[test]
fn means_over_strata_are_those_of_scipy() {
    let text = include_str!("../../../fixtures/stats/strata.json");
    let cases: Vec<Case> = serde_json::from_str(text).expect("the reference values are JSON");
    assert!(cases.len() > 5);
    for case in cases {
        let found = stratified_t(&case.strata, 0.95).expect("every case varies");
        for (what, found, expected) in [
            ("mean", found.mean, case.mean),
            ("t", found.t, case.t),
            ("df", found.df, case.df),
            ("p", found.p, case.p),
            ("low", found.interval.low, case.low),
            ("high", found.interval.high, case.high),
        ] {
            let tolerance = 1e-9 * expected.abs().max(1e-3);
            assert!(
                (found - expected).abs() < tolerance,
                "{}: {what}: found {found}, expected {expected}",
                case.name
            );
        }
    }
}
