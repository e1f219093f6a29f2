//! A whole sweep with the cache, and what PyTorch takes for the same without.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use totune_data::{BatchPlan, Encoded, Target};
use totune_sweep::{Plan, Selection, Work};

use super::grid::{BATCH, EVALUATION_BATCH, Grid, MAX_LENGTH, PROFILE, RATES, SEEDS, scratch};
use super::results::{Peer, Sweep};
use super::{Bench, CHUNK, encoded};
use crate::bench::side::{Side, alternate};

/// What `bench/cache.py` is started with.
#[derive(Serialize)]
struct Case<'a> {
    encoder: &'a Path,
    /// File with the [`Rows`].
    rows: &'a Path,
    /// Layers that move.
    k: usize,
    /// `random` or `bucketed`.
    order: &'a str,
    evaluation_batch: usize,
    lr: f64,
    threads: usize,
}

/// Examples as our tokenizer cuts them, and the batches they come in.
#[derive(Serialize)]
struct Rows {
    labels: usize,
    train: Vec<Row>,
    dev: Vec<Row>,
    random: Vec<Vec<usize>>,
    bucketed: Vec<Vec<usize>>,
}

#[derive(Serialize)]
struct Row {
    ids: Vec<u32>,
    types: Vec<u8>,
    label: usize,
}

/// Runs our sweep of `dataset` between two halves of PyTorch's epochs.
pub fn measure(bench: &Bench, dataset: &str, orders: &[&str]) -> Result<Sweep> {
    let rows = bench.scratch.root.join(format!("{dataset}.json"));
    let lengths = write_rows(bench, dataset, &rows)?;
    let steps = lengths.div_ceil(BATCH);
    let mut peers = Vec::new();
    let script = bench.project.root.join("bench/cache.py");
    for &order in orders {
        for (k, strategy) in [(0, "frozen"), (1, "last-1")] {
            let case = Case {
                encoder: &bench.encoder,
                rows: &rows,
                k,
                order,
                evaluation_batch: EVALUATION_BATCH,
                lr: RATES[0],
                threads: bench.options.threads,
            };
            let name = format!("pytorch {strategy} {order}");
            let side = Side::python(&name, &bench.options.python, &script, &case, case.threads)?;
            peers.push((strategy, order, side));
        }
    }
    let mut sides = Vec::new();
    let mut names = Vec::new();
    for (strategy, order, mut side) in peers {
        side.run(2)?; // warm-up
        sides.push(side);
        names.push((strategy, order));
    }
    // As many steps as an epoch has, so that the warm-up shifts which come last and not how many there are.
    let n = bench.options.peer_epochs;
    let before = alternate(&mut sides, n * steps / 2, CHUNK)?;
    let mut ours = ours(bench, dataset)?;
    let after = alternate(&mut sides, n * steps - n * steps / 2, CHUNK)?;
    let version = sides[0].version.clone();
    for (at, side) in sides.into_iter().enumerate() {
        let seconds = [&before[at][..], &after[at]].concat();
        let end = side.finish()?;
        let scoring = end["scoring"].as_f64();
        ours.peers.push(Peer {
            strategy: names[at].0.to_string(),
            order: names[at].1.to_string(),
            epochs: seconds
                .chunks(steps)
                .map(|epoch| epoch.iter().sum())
                .collect(),
            scoring: scoring.context("bench/cache.py: did not score")?,
            peak: end["peak_memory"].as_u64().unwrap_or(0),
        });
    }
    bench.says("pytorch", &version);
    Ok(ours)
}

/// Runs `totune sweep run` on a store of its own.
fn ours(bench: &Bench, dataset: &str) -> Result<Sweep> {
    let folder = bench.scratch.root.join(format!("sweep-{dataset}"));
    let (project, store) = scratch(bench.project, &folder)?;
    let grid = Grid {
        name: "bench",
        dataset,
        seeds: SEEDS,
        rates: &RATES,
        strategies: &[0, 1],
        epochs: bench.options.epochs,
        cache: Some("f32"),
        train_limit: None,
    };
    grid.expand(&project)?;
    let mut command = Command::new(std::env::current_exe()?);
    command
        .arg("--project")
        .arg(&project.root)
        .args(&bench.globals[2..])
        .args(["--quiet", "sweep", "run", "bench", PROFILE])
        .env("OMP_NUM_THREADS", bench.options.threads.to_string())
        .stdin(Stdio::null());
    let clock = Instant::now();
    let status = command.status().context("the sweep cannot be started")?;
    let seconds = clock.elapsed().as_secs_f64();
    ensure!(status.success(), "the sweep of {dataset} failed: {status}");

    let plan = Plan::new(&project, &store, "bench", PROFILE, &Selection::default())?;
    let mut sweep = Sweep {
        runs: plan.runs.len(),
        epochs: bench.options.epochs,
        seconds,
        filling: 0.0,
        training: 0.0,
        scoring: 0.0,
        states: 0,
        peak: 0,
        peers: Vec::new(),
    };
    let mut filling = BTreeMap::new();
    for run in &plan.runs {
        let row = &store.tables(&run.id)?.runs[0];
        ensure!(
            row.status == "ok",
            "{}: {} {}",
            run.label,
            row.status,
            row.error
        );
        sweep.training += row.train_seconds - row.cache_seconds;
        sweep.scoring += row.eval_seconds;
        sweep.peak = sweep.peak.max(row.peak_memory);
        // Every run counts what filling took, whichever run did it: once for each strategy.
        if let Work::Tune(work) = &run.spec.work {
            let strategy = work.training.adaptation.label();
            filling.insert(strategy, row.cache_seconds);
        }
    }
    sweep.filling = filling.values().sum();
    for entry in fs::read_dir(folder.join("runs/states"))? {
        sweep.states += entry?.metadata()?.len();
    }
    Ok(sweep)
}

/// Writes what PyTorch reads; the number of training examples.
fn write_rows(bench: &Bench, dataset: &str, file: &Path) -> Result<usize> {
    let (labels, train) = rows(bench, dataset, "train")?;
    let (_, dev) = rows(bench, dataset, "dev")?;
    let lengths: Vec<usize> = train.iter().map(|row| row.ids.len()).collect();
    let batches = |bucketing| {
        let size = BATCH;
        BatchPlan { size, bucketing }.shuffled(&lengths, 1, 0)
    };
    let rows = Rows {
        labels,
        random: batches(false),
        bucketed: batches(true),
        train,
        dev,
    };
    fs::write(file, serde_json::to_vec(&rows)?)?;
    Ok(lengths.len())
}

fn rows(bench: &Bench, dataset: &str, split: &str) -> Result<(usize, Vec<Row>)> {
    let (dataset, texts) = encoded(bench, dataset, split, MAX_LENGTH)?;
    let row = |(example, text): (&totune_data::Example, Encoded)| match example.target {
        Target::Class(label) => Ok(Row {
            ids: text.ids,
            types: text.type_ids,
            label,
        }),
        _ => anyhow::bail!("{}: {} has no class", dataset.name, example.id),
    };
    let rows = dataset.examples.iter().zip(texts).map(row);
    Ok((dataset.labels.len(), rows.collect::<Result<_>>()?))
}
