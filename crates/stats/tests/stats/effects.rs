//! Hedges' g and its interval compared with scipy's noncentral t, from `fixtures/make/effect.py`.

use serde::Deserialize;
use totune_stats::hedges_g;

#[derive(Deserialize)]
struct Case {
    a: Vec<f64>,
    b: Vec<f64>,
    g: f64,
    low: f64,
    high: f64,
}

#[test]
fn effect_sizes_are_those_of_scipy() {
    let text = include_str!("../../../../fixtures/stats/effects.json");
    let cases: Vec<Case> = serde_json::from_str(text).expect("the reference values are JSON");
    assert!(cases.len() > 5);
    for Case { a, b, g, low, high } in cases {
        let found = hedges_g(&a, &b, 0.95).expect("every case varies");
        for (what, found, expected, tolerance) in [
            ("g", found.g, g, 1e-12),
            ("low", found.interval.low, low, 1e-6),
            ("high", found.interval.high, high, 1e-6),
        ] {
            assert!(
                (found - expected).abs() < tolerance * expected.abs().max(1.0),
                "{what} of {a:?} and {b:?}: found {found}, expected {expected}"
            );
        }
        let turned = hedges_g(&b, &a, 0.95).expect("every case varies");
        assert!((turned.interval.low + found.interval.high).abs() < 1e-7);
    }
}
