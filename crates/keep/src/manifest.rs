//! `totune.json`: what a saved model is, and what it was made of.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use totune_adapt::{Objective, Training};
use totune_model::{Architecture, HeadSpec};

use crate::facts::{ColumnNames, InputFacts, TaskFacts};

/// The file in a folder that makes it a saved model.
pub(crate) const FILE: &str = "totune.json";
/// The file by which PEFT knows an adapter.
pub(crate) const ADAPTER: &str = "adapter_config.json";
/// The version of the file's format.
const FORMAT: u32 = 1;

/// What `totune.json` says.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Manifest {
    /// The version of this format.
    pub format: u32,
    /// The program that wrote it.
    pub written_by: String,
    /// Who can load the folder.
    pub saved_as: SavedAs,
    /// What the model predicts.
    pub task: TaskFacts,
    /// Metrics to report, the main one first.
    pub metrics: Vec<String>,
    /// What the columns of the training file were called.
    pub columns: ColumnNames,
    /// How texts are read.
    pub input: InputFacts,
    /// The pretrained part.
    pub encoder: EncoderFacts,
    /// The head as it was saved.
    pub head: HeadSpec,
    /// SHA-256 of each file with weights.
    pub weights: BTreeMap<String, String>,
    /// How it was trained.
    pub training: TrainingFacts,
    /// What it was trained on.
    pub dataset: DatasetFacts,
    /// Its scores.
    pub scores: Vec<ScoreFacts>,
}

/// Who can load the folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SavedAs {
    /// transformers and totune: the class of transformers computes what was trained.
    Transformers {
        /// Name of the class, such as `BertForSequenceClassification`.
        class: String,
    },
    /// totune; transformers loads the encoder alone, where it knows the architecture.
    Totune {
        /// Why no class of transformers computes the same.
        reason: String,
    },
}

/// The pretrained part of a model.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct EncoderFacts {
    /// Name of its card.
    pub name: String,
    /// Display name.
    pub title: String,
    /// What identifies the weights that training started from.
    pub checkpoint: String,
    /// Licence of these weights.
    pub licence: String,
    /// Where they are described.
    pub homepage: String,
    /// Whether text is lower-cased.
    pub lowercase: bool,
    /// The network as it was saved.
    pub architecture: Architecture,
}

/// How a model was trained.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TrainingFacts {
    /// Seed of everything random.
    pub seed: u64,
    /// The settings.
    pub settings: Training,
    /// Epochs that were run.
    pub epochs: usize,
    /// Seconds in training.
    pub seconds: f64,
    /// The spec of the run, where it was one of an experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<serde_json::Value>,
}

/// What a model was trained on.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct DatasetFacts {
    /// Name of its card.
    pub name: String,
    /// Display name.
    pub title: String,
    /// Hash of the examples as they were read.
    pub hash: String,
    /// Licence or terms of use.
    pub licence: String,
    /// Examples that the model learned from.
    pub train: usize,
    /// Examples that decisions were made by.
    pub dev: usize,
    /// Examples that the scores are of.
    pub test: usize,
}

/// One score of the saved model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ScoreFacts {
    /// `dev` or `test`.
    pub split: String,
    /// Name of the metric.
    pub metric: String,
    /// The score.
    pub value: f64,
    /// Examples it is of.
    pub n: usize,
}

impl Manifest {
    /// The format and the program that this one writes.
    pub(crate) fn head() -> (u32, String) {
        (FORMAT, format!("totune {}", env!("CARGO_PKG_VERSION")))
    }

    /// Reads that of the folder `dir`.
    ///
    /// # Errors
    /// When there is none, or it is one of a later version.
    pub fn read(dir: &Path) -> Result<Self> {
        let path = dir.join(FILE);
        ensure!(
            path.is_file() || !dir.join(ADAPTER).is_file(),
            "{}: is an adapter in PEFT's format, expected the folder of the whole model, which `totune train --save` wrote above it",
            dir.display()
        );
        ensure!(
            path.is_file(),
            "{}: found no `{FILE}`, expected a folder that `totune train --save` wrote",
            dir.display()
        );
        let shown = || path.display().to_string();
        let text = fs::read_to_string(&path).with_context(shown)?;
        let value: serde_json::Value = serde_json::from_str(&text).with_context(shown)?;
        let format = value.get("format").and_then(serde_json::Value::as_u64);
        ensure!(
            format == Some(FORMAT.into()),
            "{}: format: found {}, expected {FORMAT}: another version of totune wrote it",
            path.display(),
            format.map_or("none".to_string(), |format| format.to_string())
        );
        serde_json::from_value(value).with_context(shown)
    }

    /// What is predicted, as evaluation needs it.
    pub fn objective(&self) -> Objective {
        match &self.task {
            TaskFacts::Classification {
                labels, positive, ..
            } => Objective::Class {
                labels: labels.clone(),
                positive: *positive,
            },
            TaskFacts::Regression {} => Objective::Score {},
            TaskFacts::Tagging { labels } => Objective::Tags {
                labels: labels.clone(),
            },
        }
    }
}
