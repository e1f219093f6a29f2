//! A whole sweep with the cache, compared with PyTorch's time for the same without.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use serde::{Deserialize, Serialize};
use totune_data::{BatchPlan, Example, Target};
use totune_sweep::{Environment, Places, Plan, Selection, Silent, execute};

use super::Setting;
use super::grid::{BATCH, Grid, PAPER, PROFILE, scratch};
use crate::worker::{Worker, answer};

/// Our side.
#[derive(Debug, Serialize, Deserialize)]
pub struct Case {
    /// The runs.
    pub grid: Grid,
    /// Folder for a store of each step.
    pub folder: PathBuf,
}

/// The case of `bench/cache.py`.
#[derive(Debug, Serialize)]
pub struct Peer {
    /// Folder of the encoder.
    pub encoder: PathBuf,
    /// File with the [`Rows`].
    pub rows: PathBuf,
    /// Numbers of trainable layers.
    pub strategies: Vec<usize>,
    /// Epochs of each strategy in the sweep.
    pub times: usize,
    /// Examples in a batch that is evaluated.
    pub evaluation_batch: usize,
    /// Learning rate.
    pub lr: f64,
    /// Threads.
    pub threads: usize,
}

/// Examples as our tokenizer encodes them, and the batches they come in.
#[derive(Serialize)]
struct Rows {
    labels: usize,
    train: Vec<Row>,
    dev: Vec<Row>,
    batches: Vec<Vec<usize>>,
}

#[derive(Serialize)]
struct Row {
    ids: Vec<u32>,
    types: Vec<u8>,
    label: usize,
}

/// Runs the sweep on a store of its own on request.
pub fn work(case: &Case, worker: &Worker) -> Result<()> {
    let mut taken = 0;
    answer(&worker.machine.device_name, || {
        taken += 1;
        let folder = case.folder.join(taken.to_string());
        let (project, store) = scratch(&folder)?;
        case.grid.expand(&project)?;
        let places = Places {
            project: &project,
            store: &store,
            roots: &worker.roots,
        };
        let plan = Plan::new(places, PAPER, PROFILE, &Selection::default())?;
        // Cards and fixtures are the checkout's; only the experiment is made for this.
        let environment = Environment {
            project: &worker.project,
            roots: &worker.roots,
            machine: &worker.machine,
        };
        let summary = execute(&plan, &store, environment, &Silent)?;
        ensure!(
            summary.finished == plan.runs.len() && summary.failed == 0,
            "{} of {} runs of the sweep finished, {} failed",
            summary.finished,
            plan.runs.len(),
            summary.failed
        );
        fs::remove_dir_all(&folder)?;
        Ok(Vec::new())
    })
}

/// Writes the input of PyTorch's side.
pub fn write_rows(setting: &Setting, task: &str, file: &Path) -> Result<()> {
    let (labels, train) = rows(setting, task, "train")?;
    let (_, dev) = rows(setting, task, "dev")?;
    let lengths: Vec<usize> = train.iter().map(|row| row.ids.len()).collect();
    let plan = BatchPlan {
        size: BATCH,
        bucketing: false,
    };
    let rows = Rows {
        labels,
        batches: plan.shuffled(&lengths, 1, 0),
        train,
        dev,
    };
    Ok(fs::write(file, serde_json::to_vec(&rows)?)?)
}

fn rows(setting: &Setting, task: &str, split: &str) -> Result<(usize, Vec<Row>)> {
    let (dataset, texts) = setting.encoded(task, split)?;
    let row = |(example, text): (&Example, totune_data::Encoded)| match example.target {
        Target::Class(label) => Ok(Row {
            ids: text.ids,
            types: text.type_ids,
            label,
        }),
        _ => bail!("{}: {} has no class", dataset.name, example.id),
    };
    let rows = dataset.examples.iter().zip(texts).map(row);
    Ok((dataset.labels.len(), rows.collect::<Result<_>>()?))
}
