//! Compares sparse features with logistic regression in scores and times with scikit-learn, on the same folds.
//!
//! ```text
//! python fixtures/make/bench_sklearn_sparse.py train.csv folds.json
//! cargo run --release -p totune-stats --example sparse_cv -- train.csv folds.json
//! ```
//!
//! Prints for each kind of fold and feature the mean accuracy and F1 of both, their differences, and the median seconds
//! of everything from texts to scores: serially (on the wall, and on a core), and on two threads that share out the
//! folds. Ends with a failure where a mean differs by more than 0.002, the tolerance that this project promises.

use std::collections::BTreeMap;
use std::fs::File;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use rayon::prelude::*;
use serde::Deserialize;
use totune_stats::{Features, Logistic, Vectorizer, accuracy, for_class, mean, quartiles};

const TOLERANCE: f64 = 0.002;
const REPEATS: usize = 5;

#[derive(Deserialize)]
struct Row {
    text: String,
    target: usize,
}

#[derive(Deserialize)]
struct Reference {
    n_folds: usize,
    folds: BTreeMap<String, Vec<usize>>,
    measured: BTreeMap<String, BTreeMap<String, Measured>>,
}

#[derive(Deserialize)]
struct Measured {
    accuracy: f64,
    f1: f64,
    steps: f64,
    seconds_serial: f64,
    cpu_seconds_serial: f64,
    /// Absent with `--serial`.
    seconds_two_workers: Option<f64>,
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let csv = arguments.next().context("expected: train.csv folds.json")?;
    let json = arguments.next().context("expected: train.csv folds.json")?;
    let rows: Vec<Row> = csv::Reader::from_path(&csv)?
        .into_deserialize()
        .collect::<Result<_, _>>()
        .with_context(|| csv.clone())?;
    let reference: Reference =
        serde_json::from_reader(File::open(&json)?).with_context(|| json.clone())?;
    let two_threads = rayon::ThreadPoolBuilder::new().num_threads(2).build()?;

    println!("{}", HEADER.join("\t"));
    let mut worst: f64 = 0.0;
    for (kind, folds) in &reference.folds {
        ensure!(
            folds.len() == rows.len(),
            "{json}: {} rows in {kind}, {} in {csv}",
            folds.len(),
            rows.len()
        );
        for (name, theirs) in &reference.measured[kind] {
            let features: Features = serde_json::from_value(name.as_str().into())?;
            let run = |number| fold(&rows, folds, number, features);
            let (serial, scores) = medians(|| (0..reference.n_folds).map(run).collect());
            let (parallel, again) = medians(|| {
                two_threads.install(|| (0..reference.n_folds).into_par_iter().map(run).collect())
            });
            ensure!(scores == again, "two threads changed the scores");
            let [accuracy, f1, steps] =
                [0, 1, 2].map(|k| mean(&scores.iter().map(|s| s[k]).collect::<Vec<_>>()));
            let (accuracy_less, f1_less) = (accuracy - theirs.accuracy, f1 - theirs.f1);
            worst = worst.max(accuracy_less.abs()).max(f1_less.abs());
            print!("{kind}\t{name}\t{accuracy:.4}\t{accuracy_less:+.5}\t{f1:.4}\t{f1_less:+.5}");
            print!("\t{steps:.1}\t{:.1}", theirs.steps);
            for (ours, theirs) in [
                (serial.wall, theirs.seconds_serial),
                (serial.cpu, theirs.cpu_seconds_serial),
                (
                    parallel.wall,
                    theirs.seconds_two_workers.unwrap_or(f64::NAN),
                ),
            ] {
                print!("\t{ours:.3}\t{theirs:.3}\t{:.1}", theirs / ours);
            }
            println!();
        }
    }
    println!("largest difference of a mean: {worst:.5}");
    ensure!(
        worst <= TOLERANCE,
        "a mean differs by {worst:.5}, expected at most {TOLERANCE}"
    );
    Ok(())
}

const HEADER: [&str; 17] = [
    "folds",
    "features",
    "accuracy",
    "less theirs",
    "f1",
    "less theirs",
    "steps",
    "theirs",
    "s",
    "theirs",
    "ratio",
    "cpu s",
    "theirs",
    "ratio",
    "s on two",
    "theirs",
    "ratio",
];

/// Accuracy, F1 of class 1 and steps of one fold.
fn fold(rows: &[Row], folds: &[usize], number: usize, features: Features) -> [f64; 3] {
    let part = |of_test: bool| -> (Vec<&str>, Vec<usize>) {
        rows.iter()
            .zip(folds)
            .filter(|&(_, &fold)| (fold == number) == of_test)
            .map(|(row, _)| (row.text.as_str(), row.target))
            .unzip()
    };
    let ((train, train_gold), (test, gold)) = (part(false), part(true));
    let (vectorizer, matrix) = Vectorizer::fit(features, &train);
    let fitted = Logistic::default().fit(&matrix, &train_gold);
    let predicted = fitted.predict(&vectorizer.transform(&test));
    [
        accuracy(&gold, &predicted),
        for_class(&gold, &predicted, 1).f1,
        fitted.iterations as f64,
    ]
}

/// Seconds on the wall, and seconds this thread spent on a core.
#[derive(Clone, Copy)]
struct Seconds {
    wall: f64,
    cpu: f64,
}

/// Runs a few times; returns the median seconds of each kind, and the result.
fn medians(run: impl Fn() -> Vec<[f64; 3]>) -> (Seconds, Vec<[f64; 3]>) {
    let mut seconds = Vec::new();
    loop {
        let (start, cpu) = (Instant::now(), cpu_seconds());
        let result = run();
        seconds.push(Seconds {
            wall: start.elapsed().as_secs_f64(),
            cpu: cpu_seconds() - cpu,
        });
        if seconds.len() == REPEATS {
            let median =
                |of: fn(&Seconds) -> f64| quartiles(&seconds.iter().map(of).collect::<Vec<_>>())[2];
            return (
                Seconds {
                    wall: median(|s| s.wall),
                    cpu: median(|s| s.cpu),
                },
                result,
            );
        }
    }
}

/// Seconds this thread has spent on a core, as Linux counts them; not a number elsewhere.
fn cpu_seconds() -> f64 {
    let counted = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = counted.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    nanoseconds.map_or(f64::NAN, |n| n / 1e9)
}
