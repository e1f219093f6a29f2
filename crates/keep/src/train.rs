//! Training one model on a dataset of one's own, without an experiment.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use burn::tensor::Device;
use totune_adapt::{
    Activations, CachedActivations, Examples, Objective, Outcome, StoredDtype, TaskData, Training,
    Watch, fit,
};
use totune_data::{Card, Dataset, Encoded, Example, Layout, Split, Task};
use totune_model::{AnyEncoder, Encoder, EncoderCard};

use crate::{ColumnNames, DatasetFacts, InputFacts, Reader, Saved, TaskFacts, Trained, save};

/// One model to train.
#[derive(Debug, Clone)]
pub struct Job<'a> {
    /// The dataset.
    pub card: &'a Card,
    /// The folder that its files are below.
    pub data: &'a Path,
    /// How it is divided.
    pub split: Split,
    /// The encoder.
    pub encoder: &'a EncoderCard,
    /// Folders that it is looked for in.
    pub encoders: &'a [PathBuf],
    /// The settings.
    pub training: Training,
    /// Seed of everything random.
    pub seed: u64,
    /// Most bytes of memory for cached activations of frozen layers.
    pub cache_budget: u64,
}

/// A job that was done.
#[derive(Debug)]
pub struct Done {
    /// The model, its scores and its costs.
    pub outcome: Outcome<AnyEncoder>,
    /// Examples in train, dev and test.
    pub sizes: [usize; 3],
    task: TaskData,
    dataset: DatasetFacts,
    facts: TaskFacts,
    columns: ColumnNames,
    dir: PathBuf,
    checkpoint: String,
}

/// Trains the model of `job` on `device` with `threads` threads for reading.
///
/// # Errors
/// When files are missing or not what their cards say, or a setting does not fit the encoder or the task.
pub fn fit_job(job: &Job, device: &Device, threads: usize, watch: &mut dyn Watch) -> Result<Done> {
    let train = job.card.load_split(job.data, "train")?;
    let (layout, _) = job
        .card
        .locate(job.data, "train")
        .context("its file was just read")?;
    let loaded = job.encoder.load_any(job.encoders, device)?;
    let architecture = (&job.encoder.architecture, job.encoder.vocabulary.lowercase);
    let input = InputFacts {
        max_length: job.training.max_length,
        is_pair: job.card.is_of_pairs(),
        pairs: job.training.pairs,
        context: job.training.context,
    };
    let reader = Reader::open(&loaded.dir, architecture, &input, train.tagging.is_some())?;
    let examples = |dataset: &Dataset, indices: &[usize]| {
        let chosen: Vec<Example> = indices
            .iter()
            .map(|&i| dataset.examples[i].clone())
            .collect();
        let rows = reader.rows(&chosen, threads)?;
        anyhow::Ok(Examples {
            rows,
            cached: Vec::new(),
        })
    };
    let parts = job.split.divide(&train, 0)?;
    let (mut n_dev, mut n_test) = (parts.dev.len(), parts.test.len());
    let dev = match job.split.dev_split() {
        Some(name) => {
            let dev = job.card.load_split(job.data, name)?;
            let indices = job.split.decided(&dev);
            n_dev = indices.len();
            Some(examples(&dev, &indices)?)
        }
        None if parts.dev.is_empty() => None,
        None => Some(examples(&train, &parts.dev)?),
    };
    let test = match job.split.test_split() {
        "train" => examples(&train, &parts.test)?,
        name => {
            let test = job.card.load_split(job.data, name)?;
            let indices = job.split.tested(&test);
            n_test = indices.len();
            examples(&test, &indices)?
        }
    };
    let mut task = TaskData {
        objective: Objective::of(&train),
        metrics: train.metrics.clone(),
        train: examples(&train, &parts.train)?,
        dev,
        test,
        predict: Vec::new(),
    };
    cache(&mut task, job, &loaded.encoder)?;
    let sizes = [parts.train.len(), n_dev, n_test];
    let outcome = fit(loaded.encoder, &task, &job.training, job.seed, watch)?;
    Ok(Done {
        dataset: DatasetFacts {
            name: job.card.name.clone(),
            title: job.card.title.clone(),
            hash: train.hash.clone(),
            licence: job.card.licence.clone(),
            train: sizes[0],
            dev: sizes[1],
            test: sizes[2],
        },
        facts: TaskFacts::of(job.card, layout, &train),
        columns: ColumnNames::of(layout),
        outcome,
        sizes,
        task,
        dir: loaded.dir,
        checkpoint: loaded.checkpoint_hash,
    })
}

impl Done {
    /// Saves the model as [`save`] does.
    ///
    /// # Errors
    /// As [`save`].
    pub fn save(&self, job: &Job, to: &Path, device: &Device) -> Result<Saved> {
        let trained = Trained {
            outcome: &self.outcome,
            encoder: job.encoder,
            dir: &self.dir,
            checkpoint: &self.checkpoint,
            training: &job.training,
            seed: job.seed,
            spec: None,
            task: self.facts.clone(),
            metrics: self.task.metrics.clone(),
            columns: self.columns.clone(),
            dataset: self.dataset.clone(),
            sample: &self.task.test,
        };
        save(&trained, to, device)
    }
}

impl TaskFacts {
    /// What a model of this dataset predicts, whose training file is in `layout`.
    pub fn of(card: &Card, layout: &Layout, dataset: &Dataset) -> Self {
        let labels = dataset.labels.clone();
        match card.task {
            Task::Regression => Self::Regression {},
            Task::Tagging => Self::Tagging { labels },
            Task::Classification => Self::Classification {
                labels,
                positive: dataset.positive,
                values: layout.values.clone(),
            },
        }
    }
}

impl ColumnNames {
    /// Those of the training file of a dataset in this layout.
    pub fn of(layout: &Layout) -> Self {
        let columns = layout.columns_of("train");
        Self {
            text: columns.text.names().to_vec(),
            second: columns
                .second
                .as_ref()
                .map_or(Vec::new(), |second| second.names().to_vec()),
            label: columns.label.clone(),
            join: columns.join.clone(),
        }
    }
}

/// Computes what the frozen layers give for each example, where a strategy leaves layers frozen and it fits the budget:
/// the epochs of a phase then begin above them, and take the steps they would take from the tokens.
fn cache(task: &mut TaskData, job: &Job, encoder: &AnyEncoder) -> Result<()> {
    let encoder = encoder
        .clone()
        .with_precision(job.training.dtype.precision());
    let mut left = job.cache_budget;
    for start in job.training.entry_layers(&encoder)? {
        let mut parts = vec![&mut task.train, &mut task.test];
        parts.extend(task.dev.as_mut());
        let rows = |part: &Examples| -> Vec<Encoded> {
            part.rows.iter().map(|row| row.encoded.clone()).collect()
        };
        let size = |part: &&mut Examples| {
            Activations::estimate(&encoder, &rows(part), start, StoredDtype::F32) as u64
        };
        let needed: u64 = parts.iter().map(size).sum();
        if needed > left {
            continue;
        }
        left -= needed;
        let batch = job.training.evaluation_batch_size;
        for part in parts {
            let rows = rows(part);
            let found = Activations::compute(&encoder, &rows, start, StoredDtype::F32, batch)?;
            part.cached.push(CachedActivations {
                activations: Arc::new(found),
                places: (0..rows.len()).collect(),
            });
        }
    }
    Ok(())
}
