//! The predictions of thirty runs on 1,523 tweets, written and read as parquet.

use std::path::PathBuf;

use divan::Bencher;
use totune_record::{PredictionRow, RunRow, Tables};

fn main() {
    divan::main();
}

#[divan::bench]
fn write(bencher: Bencher) {
    let (folder, tables) = (folder("write"), tables());
    bencher.bench_local(|| tables.write(&folder).expect("the folder is writable"));
}

#[divan::bench]
fn read(bencher: Bencher) {
    let folder = folder("read");
    tables().write(&folder).expect("the folder is writable");
    bencher.bench_local(|| Tables::read(&folder).expect("the tables were just written"));
}

#[divan::bench]
fn sort(bencher: Bencher) {
    let tables = tables();
    let reversed = || {
        let mut tables = tables.clone();
        tables.predictions.reverse();
        tables
    };
    bencher
        .with_inputs(reversed)
        .bench_local_values(|mut tables| {
            tables.sort();
            tables
        });
}

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("the target folder is writable");
    folder
}

fn tables() -> Tables {
    let runs: Vec<RunRow> = (0..30).map(run).collect();
    let predictions = runs
        .iter()
        .flat_map(|run| {
            (0..1_523u64).map(|number| {
                // Scores that spread over (0, 1) without repeating.
                let score = (((number + 1) * (run.seed + 1)) as f32 * 0.618_034).fract();
                let word = |positive: bool| if positive { "1" } else { "0" }.to_owned();
                PredictionRow {
                    run_id: run.run_id.clone(),
                    split: "test".into(),
                    example_id: (number * 5).to_string(),
                    position: 0,
                    gold: word(number % 7 < 3),
                    predicted: word(score > 0.5),
                    scores: vec![1.0 - score, score],
                }
            })
        })
        .collect();
    Tables {
        runs,
        evals: vec![],
        predictions,
    }
}

fn run(number: u64) -> RunRow {
    RunRow {
        run_id: format!("{number:016x}"),
        paper: "synthetic".into(),
        experiment: "bench".into(),
        profile: "fixture".into(),
        spec: "{}".into(),
        dataset: "synthetic".into(),
        seed: number,
        device: "cpu".into(),
        dtype: "f32".into(),
        threads: 1,
        status: "ok".into(),
        ..RunRow::default()
    }
}
