//! Mutual information compared with a program of the definition, `fixtures/make/edge.py`, and with known values.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;
use totune_stats::{Dense, Edge, EdgeEstimate, information_bound};

#[derive(Deserialize)]
struct Cases {
    stored: Vec<Stored>,
    made: Vec<Made>,
}

#[derive(Deserialize)]
struct Stored {
    name: String,
    columns: [usize; 2],
    x: Vec<f64>,
    y: Vec<f64>,
    first_pass: f64,
    second_pass: f64,
}

#[derive(Deserialize)]
struct Made {
    rows: usize,
    columns: usize,
    shift: f64,
    first_pass: f64,
    second_pass: f64,
}

fn cases() -> Cases {
    serde_json::from_str(include_str!("../../../../fixtures/stats/edge.json"))
        .expect("the fixture has the shape its script gives it")
}

#[track_caller]
fn check(name: &str, found: Option<EdgeEstimate>, expected: [f64; 2]) {
    let found = found.expect("enough rows");
    let found = [found.first_pass, found.second_pass];
    for (found, expected) in found.into_iter().zip(expected) {
        assert!(
            (found - expected).abs() < 1e-9,
            "{name}: found {found}, expected {expected}"
        );
    }
}

#[test]
fn edge_of_stored_matrices_is_that_of_the_definition() {
    for case in cases().stored {
        let x = Dense::new(&case.x, case.columns[0]);
        let y = Dense::new(&case.y, case.columns[1]);
        let found = Edge::default().estimate(&x, &y);
        check(&case.name, found, [case.first_pass, case.second_pass]);
    }
}

#[test]
fn edge_of_wide_matrices_is_that_of_the_definition() {
    for case in cases().made {
        let (x, classes) = made(&case);
        let x = Dense::new(&x, case.columns);
        let found = Edge::default().estimate_classes(&x, &classes);
        let name = format!("{} x {} + {}", case.rows, case.columns, case.shift);
        check(&name, found, [case.first_pass, case.second_pass]);
    }
}

/// The matrix of the script's function `made`.
fn made(case: &Made) -> (Vec<f64>, Vec<usize>) {
    let classes: Vec<usize> = (0..case.rows).map(|i| (i * 7919 % 101) % 2).collect();
    let value = |i: usize, j: usize| {
        let whole = (i * i * 73 + j * 151 + i * j * 37) % 1009;
        whole as f64 / 1009.0 + case.shift * classes[i] as f64
    };
    let rows = (0..case.rows).flat_map(|i| (0..case.columns).map(move |j| (i, j)));
    (rows.map(|(i, j)| value(i, j)).collect(), classes)
}

/// Two Gaussians of unit spread in `columns` dimensions whose means are `apart` along one direction; classes in turn.
fn gaussians(rows: usize, columns: usize, apart: f64, seed: u64) -> (Vec<f32>, Vec<usize>) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = || {
        // Box and Muller, one of the two numbers.
        let (u, v): (f64, f64) = (random.random(), random.random());
        (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    };
    let classes: Vec<usize> = (0..rows).map(|i| i % 2).collect();
    let along = apart / (columns as f64).sqrt();
    let x = classes
        .iter()
        .flat_map(|&class| std::iter::repeat_n(class, columns))
        .map(|class| (normal() + class as f64 * along) as f32)
        .collect();
    (x, classes)
}

/// Mutual information of the classes of [`gaussians`] and their rows, in bits: 1 - E[log2(1 + exp(-z))] with the
/// log-odds z of the own class, which are normal with mean apart² / 2 and standard deviation `apart`.
fn shared(apart: f64) -> f64 {
    let steps = 20_000;
    let at = |i: usize| (i as f64 + 0.5) / f64::from(steps) * 16.0 - 8.0;
    let density = |t: f64| (-t * t / 2.0).exp() / std::f64::consts::TAU.sqrt();
    let lost: f64 = (0..steps as usize)
        .map(at)
        .map(|t| density(t) * (-(apart * apart / 2.0 + apart * t)).exp().ln_1p())
        .sum();
    1.0 - lost / std::f64::consts::LN_2 * 16.0 / f64::from(steps)
}

/// Ross (2014): ψ(N) + ψ(k) - mean ψ(examples of the class) - mean ψ(rows within the k-th neighbour of the class).
fn neighbours(x: &Dense<f32>, classes: &[usize], k: usize) -> f64 {
    let n = x.n_rows();
    let distance = |i: usize, j: usize| -> f64 {
        let pairs = x.row(i).iter().zip(x.row(j));
        pairs.map(|(a, b)| f64::from(a - b).powi(2)).sum()
    };
    let mut sum = digamma(n) + digamma(k);
    for i in 0..n {
        let others: Vec<(f64, bool)> = (0..n)
            .filter(|&j| j != i)
            .map(|j| (distance(i, j), classes[j] == classes[i]))
            .collect();
        let mut own: Vec<f64> = others.iter().filter(|o| o.1).map(|o| o.0).collect();
        own.sort_by(f64::total_cmp);
        let within = others.iter().filter(|o| o.0 <= own[k - 1]).count();
        sum -= (digamma(own.len() + 1) + digamma(within)) / n as f64;
    }
    sum / std::f64::consts::LN_2
}

/// ψ of a whole number: the harmonic number before it, minus Euler's constant.
fn digamma(n: usize) -> f64 {
    (1..n).map(|i| 1.0 / i as f64).sum::<f64>() - 0.577_215_664_901_532_9
}

/// Comparison that decided between the two estimators, with EDGE on the same rows.
#[test]
fn the_bound_is_near_zero_without_dependence_and_rises_with_it() {
    let (rows, columns) = (400, 384);
    let mut before = -1.0;
    for (apart, least_share) in [(0.0, 0.0), (2.0, 0.2), (3.0, 0.5), (4.0, 0.7)] {
        let (x, classes) = gaussians(rows, columns, apart, 17);
        let x = Dense::new(&x, columns);
        let (bound, truth) = (information_bound(&x, &classes), shared(apart));
        let bound = bound.expect("enough of each class");
        let by_neighbours = neighbours(&x, &classes, 3);
        let edge = Edge::default().estimate_classes(&x, &classes);
        println!("{apart}: {truth:.3}; bound {bound:.3}, neighbours {by_neighbours:.3}, {edge:?}");
        assert!(bound <= truth + 0.02, "{apart}: {bound} of {truth}");
        assert!(bound >= least_share * truth, "{apart}: {bound} of {truth}");
        assert!(bound > before, "{apart}: {bound} after {before}");
        if apart == 0.0 {
            assert!(by_neighbours.abs() < 0.05, "{by_neighbours}");
        } else {
            assert!(by_neighbours < bound, "{apart}: {by_neighbours} {bound}");
        }
        before = bound - 1e-9;
    }
}

#[test]
fn shuffled_labels_share_nothing() {
    for (rows, columns, seed) in [(400, 768, 3), (1000, 384, 4), (700, 384, 5)] {
        let (x, classes) = gaussians(rows, columns, 6.0, seed);
        // The classes alternate, so that others that alternate at half the pace say nothing about them.
        let unrelated: Vec<usize> = (0..classes.len()).map(|i| i / 2 % 2).collect();
        let x = Dense::new(&x, columns);
        let bits = information_bound(&x, &unrelated).expect("enough of each class");
        assert!(bits < 0.01, "{rows} x {columns}: {bits}");
    }
}
