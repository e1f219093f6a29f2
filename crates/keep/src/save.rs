//! Saving of a trained model as a folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use burn::module::Module;
use burn::tensor::Device;
use totune_adapt::{Examples, Outcome, Reader, Switch, Training, logits, parameter_values};
use totune_disk::{PendingFolder, check_writable};
use totune_model::{
    AnyEncoder, Classifier, Encoder, EncoderCard, fused::Precision, merge_low_rank,
};

use crate::adapter::{self, check_adapter};
use crate::config::{config, write_json, write_tokenizer};
use crate::form::Form;
use crate::manifest::FILE;
use crate::{
    DatasetFacts, EncoderFacts, InputFacts, LayoutFacts, Manifest, SavedAs, SavedModel, ScoreFacts,
    TaskFacts, TrainingFacts, card, weights,
};

/// A trained model, with everything its folder documents.
#[derive(Debug)]
pub struct TrainedModel<'a> {
    /// The model of the selected epoch, its scores and its costs.
    pub outcome: &'a Outcome<AnyEncoder>,
    /// The card of the encoder that training started from.
    pub encoder: &'a EncoderCard,
    /// The folder with the encoder's tokenizer.
    pub dir: &'a Path,
    /// Identifier of the weights that training started from.
    pub checkpoint: &'a str,
    /// The settings.
    pub training: &'a Training,
    /// Seed of everything random.
    pub seed: u64,
    /// The spec of the run, where it was one of an experiment.
    pub spec: Option<serde_json::Value>,
    /// Task of the model.
    pub task: TaskFacts,
    /// Metrics to report, the main one first.
    pub metrics: Vec<String>,
    /// Layout of the training file.
    pub layout: LayoutFacts,
    /// Training data.
    pub dataset: DatasetFacts,
    /// Also writes low-rank updates in PEFT's format, into the folder `adapter` within that of the model.
    pub adapter: Switch,
    /// Examples by which the folder is compared with the model in memory; at most 32 are used.
    pub sample: &'a Examples,
}

/// A folder that was written.
#[derive(Debug, Clone)]
pub struct Saved {
    /// Path of the folder.
    pub dir: PathBuf,
    /// Programs that can load it.
    pub saved_as: SavedAs,
    /// Number of rows by which it was compared with the model in memory.
    pub compared: usize,
    /// Largest difference of two outputs, before softmax.
    pub difference: f32,
}

/// Number of rows by which a folder is compared with the model in memory.
const COMPARED: usize = 32;
/// Largest tolerated difference of outputs, relative to outputs above 1.
const TOLERANCE: f32 = 1e-3;

/// Writes a trained model as the folder `to`, reads it back onto `device`, and compares the outputs of both for some
/// rows.
///
/// Everything is written to another folder next to `to` first, which is renamed at the end. Low-rank updates are added
/// to the weights they update. The saved model computes in 32-bit floats.
///
/// # Errors
/// When `to` is there and not empty, something cannot be written, or the model that was read back gives other outputs.
pub fn save(trained: &TrainedModel, to: &Path, device: &Device) -> Result<Saved> {
    check_free(to)?;
    ensure!(
        trained.outcome.stop.is_an_end(),
        "training ended as `{}`: there is no model to save",
        trained.outcome.stop.label()
    );
    let model = plain(trained.outcome.model.clone());
    let values = parameter_values(&model, &|_| true);
    let form = Form::of(
        &trained.encoder.architecture,
        (&trained.training.head, &trained.task),
        trained.training.pairs,
        values,
    )?;
    let folder = PendingFolder::create(to)?;
    let manifest = write(trained, &form, folder.temporary())?;
    if trained.adapter.is_on() {
        let architecture = &trained.encoder.architecture;
        check_adapter(architecture, trained.training, trained.task.task())?;
        let model = trained.outcome.model.clone().valid();
        let updates = parameter_values(&model, &|path| path.contains(".lora."));
        let what = (trained.training, &trained.task);
        let dir = folder.temporary().join(adapter::FOLDER);
        adapter::write(what, trained.encoder, (&form, &updates), &dir)?;
    }
    let read = SavedModel::open(folder.temporary(), device, 1)?;
    let (compared, difference) = compare(&model, &read, trained.sample)?;
    folder.publish()?;
    Ok(Saved {
        dir: to.to_path_buf(),
        saved_as: manifest.saved_as,
        compared,
        difference,
    })
}

/// Checks that `to` can become the folder of a saved model: new or empty, in a place that takes files.
///
/// # Errors
/// When something is there, or the folder cannot be made.
pub fn check_free(to: &Path) -> Result<()> {
    match fs::read_dir(to) {
        Ok(mut entries) => ensure!(
            entries.next().is_none(),
            "{}: is already there and not empty, expected a new folder",
            to.display()
        ),
        Err(_) if to.exists() => bail!("{}: is no folder, expected a new one", to.display()),
        Err(_) => {}
    }
    check_writable(to)
}

/// The model without autodiff, low-rank updates and half-precision matmuls.
fn plain(model: Classifier<AnyEncoder>) -> Classifier<AnyEncoder> {
    let model = model.valid();
    Classifier {
        encoder: merge_low_rank(model.encoder).with_precision(Precision::F32),
        head: model.head,
    }
}

/// Writes all files of the folder.
fn write(trained: &TrainedModel, form: &Form, dir: &Path) -> Result<Manifest> {
    let (training, encoder) = (trained.training, trained.encoder);
    let of_words = matches!(trained.task, TaskFacts::Tagging { .. });
    let input = InputFacts {
        max_length: training.max_length,
        is_pair: !trained.layout.second.is_empty(),
        pairs: training.pairs,
        context: training.context,
    };
    let lowercase = encoder.vocabulary.lowercase;
    let pad_id = trained.outcome.model.encoder.pad_id();
    let reader = Reader::open(trained.dir, &form.architecture, lowercase, pad_id)?;
    if let Some(tokenizer) = reader.tokenizer() {
        write_tokenizer(tokenizer, &form.architecture, &input, of_words, dir)?;
    }
    if let Some(config) = config(form, &trained.task, trained.dir)? {
        write_json(&dir.join("config.json"), &config)?;
    }
    let (format, written_by) = Manifest::head();
    let manifest = Manifest {
        format,
        written_by,
        saved_as: form.saved_as.clone(),
        task: trained.task.clone(),
        metrics: trained.metrics.clone(),
        layout: trained.layout.clone(),
        input,
        encoder: EncoderFacts {
            name: encoder.name.clone(),
            title: encoder.title.clone(),
            checkpoint: trained.checkpoint.to_string(),
            licence: encoder.licence.clone(),
            homepage: encoder.homepage.clone(),
            lowercase,
            prefix: encoder.vocabulary.prefix.clone(),
            architecture: form.architecture.clone(),
        },
        head: form.head.clone(),
        weights: weights::write(form, dir)?,
        training: TrainingFacts {
            seed: trained.seed,
            settings: training.clone(),
            epochs: trained.outcome.epochs,
            seconds: trained.outcome.train_seconds,
            spec: trained.spec.clone(),
        },
        dataset: trained.dataset.clone(),
        scores: scores(trained.outcome),
    };
    let text = card::text(&manifest);
    let path = dir.join("README.md");
    fs::write(&path, text).with_context(|| format!("{}: cannot be written", path.display()))?;
    write_json(&dir.join(FILE), &serde_json::to_value(&manifest)?)?;
    Ok(manifest)
}

/// The scores of the selected epoch.
fn scores(outcome: &Outcome<AnyEncoder>) -> Vec<ScoreFacts> {
    let scores = outcome.scores.iter();
    let finals = scores.filter(|score| score.is_final && score.split != "train");
    finals
        .map(|score| ScoreFacts {
            split: score.split.to_string(),
            metric: score.metric.clone(),
            value: score.value,
            n: score.n,
        })
        .collect()
}

/// Compares outputs; returns the number of rows and the largest difference.
fn compare(
    model: &Classifier<AnyEncoder>,
    read: &SavedModel,
    sample: &Examples,
) -> Result<(usize, f32)> {
    let rows: Vec<usize> = (0..sample.len().min(COMPARED)).collect();
    let sample = sample.part(&rows);
    let (before, after) = (logits(model, &sample)?, logits(&read.model, &sample)?);
    let mut largest = 0f32;
    for (row, (before, after)) in sample.rows.iter().zip(before.iter().zip(&after)) {
        for (before, after) in before.iter().zip(after) {
            let difference = (before - after).abs();
            // Written so that a NaN is refused too.
            let is_near = difference <= TOLERANCE * before.abs().max(1.0);
            ensure!(
                is_near,
                "the model that was read back gives {after} for example `{}`, expected {before}; nothing was saved",
                row.id
            );
            largest = largest.max(difference);
        }
    }
    Ok((rows.len(), largest))
}
