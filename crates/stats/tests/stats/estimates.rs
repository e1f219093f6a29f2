//! Tests, intervals, equivalence and clusters compared with scipy, statsmodels and other packages; the values of the
//! file are from `fixtures/make/estimates.py`, the others are quoted.

use serde::Deserialize;
use totune_stats::{Estimate, Interval, holm, mean};

#[derive(Deserialize)]
struct Reference {
    tests: Vec<Case>,
    clusters: Vec<Clusters>,
    holm: Vec<[Vec<f64>; 2]>,
    equivalence_power: Vec<[f64; 6]>,
}

#[derive(Deserialize)]
struct Case {
    samples: Vec<(f64, Vec<f64>)>,
    value: f64,
    error: f64,
    df: f64,
    p: f64,
    margin: f64,
    tost: [f64; 2],
    interval_95: [f64; 2],
    interval_90: [f64; 2],
}

#[derive(Deserialize)]
struct Clusters {
    means: Vec<f64>,
    mixed: [f64; 2],
}

fn reference() -> Reference {
    let text = include_str!("../../../../fixtures/stats/estimates.json");
    serde_json::from_str(text).expect("the reference values are JSON")
}

#[test]
fn tests_and_equivalence_are_those_of_scipy_and_statsmodels() {
    for (at, case) in reference().tests.iter().enumerate() {
        let samples: Vec<(f64, &[f64])> = case.samples.iter().map(|(w, s)| (*w, &s[..])).collect();
        let found = Estimate::of_samples(&samples).expect("every case varies");
        let tost = found.tost(case.margin);
        let [wide, narrow] = [0.95, 0.90].map(|level| found.interval(level));
        for (what, found, expected) in [
            ("value", found.value, case.value),
            ("error", found.error, case.error),
            ("df", found.df, case.df),
            ("p", found.p(), case.p),
            ("p above -margin", tost.lower.1, case.tost[0]),
            ("p below margin", tost.upper.1, case.tost[1]),
            ("p above 0", found.p_above(-case.margin), case.tost[0]),
            ("low of 95 %", wide.low, case.interval_95[0]),
            ("high of 95 %", wide.high, case.interval_95[1]),
            ("low of 90 %", narrow.low, case.interval_90[0]),
            ("high of 90 %", narrow.high, case.interval_90[1]),
        ] {
            check(&format!("case {at}: {what}"), found, expected, 1e-9);
        }
    }
}

#[test]
fn equivalence_is_that_of_toster() {
    // tests/testthat/test-known_results.R: means, standard deviations and sizes of two samples, and of one.
    let two = Estimate::welch(&sample(5.25, 0.95, 95), &sample(5.22, 0.83, 89)).expect("vary");
    let found = two.tost(0.384);
    check("t of the lower test", found.lower.0, 3.153015, 1e-6);
    check("t of the upper test", found.upper.0, -2.696056, 1e-6);
    check("p of the lower test", found.lower.1, 0.0009458745, 1e-6);
    check("p of the upper test", found.upper.1, 0.003838994, 1e-6);
    check("df", two.df, 181.1344, 1e-6);
    check("low", two.interval(0.90).low, -0.1870843, 1e-6);
    check("high", two.interval(0.90).high, 0.2470843, 1e-6);
    let one = Estimate::of_mean(&sample(0.02, 0.5, 300)).expect("varies");
    check("one sample", one.tost(0.1).p(), 0.002966762, 1e-6);
    check("its other test", one.tost(0.1).lower.1, 0.00002108451, 1e-6);
}

#[test]
fn folds_of_one_cross_validation_are_those_of_baycomp() {
    // tests/test_single.py: mean 1 and variance 13.3333 of the posterior on 2 degrees of freedom; two runs of two
    // folds: 3.
    for (x, y, share, df) in [
        (&[4.0, 2.0, 6.0][..], &[5.0, 7.0, 3.0][..], 1.0 / 2.0, 2.0),
        (&[4.0, 2.0, 6.0, 4.0], &[5.0, 7.0, 3.0, 5.0], 1.0, 3.0),
    ] {
        let differences: Vec<f64> = x.iter().zip(y).map(|(x, y)| y - x).collect();
        let found = Estimate::of_folds(&differences, share).expect("vary");
        check("mean", found.value, 1.0, 1e-12);
        check("variance", found.error * found.error, 40.0 / 3.0, 1e-12);
        assert_eq!(found.df, df);
    }
}

#[test]
fn means_over_clusters_have_the_error_of_a_balanced_mixed_model() {
    for Clusters { means, mixed } in reference().clusters {
        let found = Estimate::of_mean(&means).expect("varies");
        // A model fitted by search agrees to the digits at which the search stops.
        check("mean", found.value, mixed[0], 1e-6);
        check("error", found.error, mixed[1], 1e-4);
    }
}

#[test]
fn holm_is_that_of_statsmodels() {
    for [p, expected] in reference().holm {
        for (found, expected) in holm(&p).into_iter().zip(expected) {
            check(&format!("{p:?}"), found, expected, 1e-12);
        }
    }
}

#[test]
fn predictions_of_another_study_are_those_of_replication_success() {
    // Qtest: an original of 2 (se 1) and a replication of .5 (se .5), by the normal distribution.
    let found = Estimate {
        value: 2.0,
        error: 1.0,
        df: f64::INFINITY,
    };
    let Interval { low, high } = found.prediction(0.5, 0.95);
    check("low", low, -0.1913, 1e-3);
    check("high", high, 4.1913, 1e-4);
}

#[test]
fn the_power_of_equivalence_is_owens_integral() {
    for [difference, error, df, margin, alpha, expected] in reference().equivalence_power {
        let value = 0.0;
        let found = Estimate { value, error, df }.equivalence_power(difference, margin, alpha);
        check(&format!("within {margin}"), found, expected, 1e-6);
    }
    // TOSTER's tests/testthat/test-power_t_TOST.R, two samples of n.
    for (n, expected) in [
        (3.0, 0.039),
        (8.0, 0.28871),
        (15.0, 0.69339),
        (30.0, 0.94326),
        (50.0, 0.99458),
    ] {
        let (value, error, df) = (0.0, 18.0 * f64::sqrt(2.0 / n), 2.0 * (n - 1.0));
        let found = Estimate { value, error, df }.equivalence_power(-4.0, 19.2, 0.05);
        assert!(
            (found - expected).abs() < 5e-4,
            "{n}: {found}, expected {expected}"
        );
    }
}

/// `n` numbers with exactly this mean and standard deviation.
fn sample(centre: f64, sd: f64, n: usize) -> Vec<f64> {
    let raw: Vec<f64> = (0..n).map(|i| (i * i % 17) as f64).collect();
    let (middle, spread) = (mean(&raw), totune_stats::sd(&raw));
    raw.iter()
        .map(|v| centre + sd * (v - middle) / spread)
        .collect()
}

#[track_caller]
fn check(what: &str, found: f64, expected: f64, tolerance: f64) {
    let off = (found - expected).abs() / expected.abs().max(1e-6);
    assert!(
        off < tolerance,
        "{what}: found {found}, expected {expected}"
    );
}
