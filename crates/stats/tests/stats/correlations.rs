//! Tests of correlations against scipy; `fixtures/make/correlation.py` made the numbers.

use serde::Deserialize;
use totune_stats::{Correlation, pearson_test, sd_interval, spearman_test};

#[derive(Deserialize)]
struct Reference {
    correlations: Vec<Case>,
    /// Standard deviation, degrees of freedom, ends of the interval.
    deviations: Vec<[f64; 4]>,
}

fn read() -> Reference {
    let text = include_str!("../../../../fixtures/stats/correlations.json");
    serde_json::from_str(text).expect("the fixture is as its script wrote it")
}

#[derive(Deserialize)]
struct Case {
    x: Vec<f64>,
    y: Vec<f64>,
    pearson: [f64; 2],
    interval: [f64; 2],
    spearman: [f64; 2],
}

#[test]
fn correlations_have_scipys_p_values_and_intervals() {
    let cases = read().correlations;
    assert_eq!(cases.len(), 6);
    for case in cases {
        let n = case.x.len();
        let pearson = pearson_test(&case.x, &case.y, 0.95).expect("the sides vary");
        check(&pearson, case.pearson, &format!("Pearson, {n} pairs"));
        let interval = pearson.interval.expect("more than three pairs");
        assert!(
            (interval.low - case.interval[0]).abs() < 1e-9,
            "{interval:?}"
        );
        assert!(
            (interval.high - case.interval[1]).abs() < 1e-9,
            "{interval:?}"
        );
        let spearman = spearman_test(&case.x, &case.y, 0.95).expect("the sides vary");
        check(&spearman, case.spearman, &format!("Spearman, {n} pairs"));
        assert_eq!(spearman.exact, n <= 8, "{n} pairs");
    }
}

#[track_caller]
fn check(found: &Correlation, [r, p]: [f64; 2], what: &str) {
    assert!(
        (found.r - r).abs() < 1e-12,
        "{what}: r {} against {r}",
        found.r
    );
    assert!(
        (found.p - p).abs() < 1e-10,
        "{what}: p {} against {p}",
        found.p
    );
}

#[test]
fn a_standard_deviation_has_the_interval_of_chi_squared() {
    for [sd, df, low, high] in read().deviations {
        let interval = sd_interval(sd, df, 0.95).expect("it varies");
        let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-6;
        assert!(
            near(interval.low, low) && near(interval.high, high),
            "sd {sd}, df {df}: {interval:?} against [{low}, {high}]"
        );
    }
    assert_eq!(sd_interval(0.0, 4.0, 0.95), None);
}
