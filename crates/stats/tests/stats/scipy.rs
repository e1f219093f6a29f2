//! Statistics compared with scipy's and numpy's, from `fixtures/make/stats.py`.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use totune_stats::{
    Estimate, Pairing, PlannedSample, cohens_d, holm, mean, mean_squared_error,
    minimal_detectable_difference, paired_bootstrap_of, pearson, permutation_test, quartiles, sd,
    spearman, spearman_textbook, t_interval, t_two_sided_p,
};

#[derive(Deserialize)]
struct Sample {
    name: String,
    a: Vec<f64>,
    b: Vec<f64>,
    mean_a: f64,
    sd_a: Option<f64>,
    quartiles_a: [f64; 5],
    t_interval_a: Option<[f64; 2]>,
    welch: Option<Welch>,
    cohens_d: Option<f64>,
}

#[derive(Deserialize)]
struct Regression {
    name: String,
    gold: Vec<f64>,
    predicted: Vec<f64>,
    pearson: Option<f64>,
    spearman: Option<f64>,
    textbook: Option<f64>,
    mse: Option<f64>,
}

#[derive(Deserialize)]
struct Welch {
    t: f64,
    df: f64,
    p: f64,
    interval: [f64; 2],
}

#[test]
fn correlations_are_those_of_scipy_and_errors_those_of_scikit_learn() {
    let cases: Vec<Regression> = read(include_str!("../../../../fixtures/stats/regressions.json"));
    for case in cases {
        for (score, found, expected) in [
            (
                "pearson",
                pearson(&case.gold, &case.predicted),
                case.pearson,
            ),
            (
                "spearman",
                spearman(&case.gold, &case.predicted),
                case.spearman,
            ),
            (
                "textbook",
                spearman_textbook(&case.gold, &case.predicted),
                // The formula has a number where there is no correlation to speak of.
                case.spearman.and(case.textbook),
            ),
            (
                "mse",
                mean_squared_error(&case.gold, &case.predicted),
                case.mse,
            ),
        ] {
            let name = format!("{}: {score}: {found:?}, expected {expected:?}", case.name);
            match (found, expected) {
                (Some(found), Some(expected)) => {
                    let size = expected.abs().max(1.0);
                    assert!((found - expected).abs() <= 1e-12 * size, "{name}");
                }
                (found, expected) => assert_eq!(found, expected, "{name}"),
            }
        }
    }
}

#[test]
fn samples_are_described_as_numpy_does() {
    for sample in samples() {
        let name = &sample.name;
        check(name, mean(&sample.a), sample.mean_a, 1e-14);
        for (found, expected) in quartiles(&sample.a).into_iter().zip(sample.quartiles_a) {
            check(name, found, expected, 1e-14);
        }
        match sample.sd_a {
            Some(expected) => check_scaled(name, sd(&sample.a), expected, 1e-9, expected),
            None => assert!(sd(&sample.a).is_nan(), "{name}"),
        }
    }
}

#[test]
fn intervals_of_a_mean_are_those_of_scipy() {
    for sample in samples() {
        let found = t_interval(&sample.a, 0.9).map(|i| [i.low, i.high]);
        assert_eq!(
            found.is_some(),
            sample.t_interval_a.is_some(),
            "{}",
            sample.name
        );
        for (found, expected) in found
            .into_iter()
            .flatten()
            .zip(sample.t_interval_a.into_iter().flatten())
        {
            check(&sample.name, found, expected, 1e-12);
        }
    }
}

#[test]
fn welch_is_that_of_scipy() {
    let mut made = 0;
    for sample in samples() {
        let name = &sample.name;
        let found = Estimate::welch(&sample.a, &sample.b);
        assert_eq!(found.is_some(), sample.welch.is_some(), "{name}");
        if let (Some(found), Some(expected)) = (found, sample.welch) {
            let scale = (expected.interval[1] - expected.interval[0]).abs();
            let interval = found.interval(0.95);
            check(name, found.t(), expected.t, 1e-9);
            check(name, found.df, expected.df, 1e-9);
            check(name, found.p(), expected.p, 1e-9);
            check_scaled(name, interval.low, expected.interval[0], 1e-9, scale);
            check_scaled(name, interval.high, expected.interval[1], 1e-9, scale);
            made += 1;
        }
    }
    assert_eq!(made, 9, "samples that can be compared");
}

#[test]
fn effect_sizes_are_pooled_standard_deviations() {
    for sample in samples() {
        let found = cohens_d(&sample.a, &sample.b);
        assert_eq!(
            found.is_some(),
            sample.cohens_d.is_some(),
            "{}",
            sample.name
        );
        if let (Some(found), Some(expected)) = (found, sample.cohens_d) {
            check(&sample.name, found, expected, 1e-9);
        }
    }
}

#[test]
fn tails_are_those_of_scipy_from_one_degree_of_freedom_to_ten_million() {
    for [t, df, expected] in
        read::<Vec<[f64; 3]>>(include_str!("../../../../fixtures/stats/tails.json"))
    {
        check(
            &format!("t = {t}, df = {df}"),
            t_two_sided_p(t, df),
            expected,
            1e-9,
        );
    }
}

#[test]
fn the_smallest_difference_is_that_of_the_noncentral_t() {
    #[derive(Deserialize)]
    struct Case {
        plan: (f64, usize, f64, usize, f64, f64),
        difference: f64,
    }
    for Case { plan, difference } in
        read::<Vec<Case>>(include_str!("../../../../fixtures/stats/power.json"))
    {
        let (sd_a, n_a, sd_b, n_b, alpha, power) = plan;
        let (a, b) = (
            PlannedSample { sd: sd_a, n: n_a },
            PlannedSample { sd: sd_b, n: n_b },
        );
        let found = minimal_detectable_difference(a, b, alpha, power);
        check(&format!("{plan:?}"), found, difference, 1e-9);
    }
}

#[derive(Deserialize)]
struct Resampling {
    permutation: Vec<Exchange>,
    bootstrap: Bootstrap,
    holm: Vec<Holm>,
}

#[derive(Deserialize)]
struct Exchange {
    paired: bool,
    a: Vec<f64>,
    b: Vec<f64>,
    p: f64,
}

#[derive(Deserialize)]
struct Bootstrap {
    a: Vec<f64>,
    b: Vec<f64>,
    p: f64,
    deciles: [f64; 2],
}

#[derive(Deserialize)]
struct Holm {
    p: Vec<f64>,
    adjusted: Vec<f64>,
}

#[test]
fn exact_permutation_tests_are_those_of_scipy() {
    for case in resampling().permutation {
        let pairing = if case.paired {
            Pairing::Paired
        } else {
            Pairing::Unpaired
        };
        let found = permutation_test(&case.a, &case.b, pairing, 1_000_000, 0).expect("not empty");
        assert!(found.exact, "{pairing:?} {:?}", case.a);
        check(&format!("{pairing:?} {:?}", case.a), found.p, case.p, 1e-12);
    }
}

#[test]
fn the_bootstrap_approaches_what_all_draws_give() {
    let case = resampling().bootstrap;
    let pairs: Vec<f64> = case.a.iter().zip(&case.b).map(|(a, b)| a - b).collect();
    let mean = |sample: &[usize]| sample.iter().map(|&i| pairs[i]).sum::<f64>() / 4.0;
    let found = paired_bootstrap_of(pairs.len(), mean, 100_000, 0.8, 11).expect("four pairs");
    // Five standard errors of twice a share of 0.043 in 100,000.
    assert!((found.p - case.p).abs() < 0.0065, "{} {}", found.p, case.p);
    // The means of four lie on a grid, and 0.1 and 0.9 fall well inside a step of their distribution.
    assert!(
        (found.interval.low - case.deciles[0]).abs() < 1e-12,
        "{:?}",
        found.interval
    );
    assert!(
        (found.interval.high - case.deciles[1]).abs() < 1e-12,
        "{:?}",
        found.interval
    );
}

#[test]
fn holm_is_the_closed_test_of_bonferroni() {
    for case in resampling().holm {
        for (found, expected) in holm(&case.p).into_iter().zip(&case.adjusted) {
            check(&format!("{:?}", case.p), found, *expected, 1e-12);
        }
    }
}

fn samples() -> Vec<Sample> {
    read(include_str!("../../../../fixtures/stats/samples.json"))
}

fn resampling() -> Resampling {
    read(include_str!("../../../../fixtures/stats/resampling.json"))
}

fn read<T: DeserializeOwned>(text: &str) -> T {
    serde_json::from_str(text).expect("the fixture has the shape its script gives it")
}

/// Checks a difference relative to the expected value.
#[track_caller]
fn check(name: &str, found: f64, expected: f64, tolerance: f64) {
    check_scaled(name, found, expected, tolerance, expected.abs());
}

#[track_caller]
fn check_scaled(name: &str, found: f64, expected: f64, tolerance: f64, scale: f64) {
    assert!(
        (found - expected).abs() <= tolerance * scale,
        "{name}: found {found:e}, expected {expected:e}"
    );
}
