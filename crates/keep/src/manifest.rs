//! `totune.json`: description of a saved model and its origin.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use totune_adapt::{Objective, Training};
use totune_model::{Architecture, HeadSpec};

use crate::facts::{InputFacts, LayoutFacts, TaskFacts};

/// File that marks a folder as a saved model.
pub(crate) const FILE: &str = "totune.json";
/// File by which PEFT recognises an adapter.
pub(crate) const ADAPTER: &str = "adapter_config.json";
/// The version of the file's format.
const FORMAT: u32 = 2;

/// Content of `totune.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Manifest {
    /// The version of this format.
    pub format: u32,
    /// The program that wrote it.
    pub written_by: String,
    /// Programs that can load the folder.
    pub saved_as: SavedAs,
    /// Task of the model.
    pub task: TaskFacts,
    /// Metrics to report, the main one first.
    pub metrics: Vec<String>,
    /// Layout of the training file.
    pub layout: LayoutFacts,
    /// Input format.
    pub input: InputFacts,
    /// The pretrained part.
    pub encoder: EncoderFacts,
    /// The head as it was saved.
    pub head: HeadSpec,
    /// SHA-256 of each file with weights.
    pub weights: BTreeMap<String, String>,
    /// Training settings and cost.
    pub training: TrainingFacts,
    /// Training data.
    pub dataset: DatasetFacts,
    /// Its scores.
    pub scores: Vec<ScoreFacts>,
}

/// Programs that can load a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SavedAs {
    /// transformers and totune: the class of transformers computes the same as the trained model.
    Transformers {
        /// Name of the class, such as `BertForSequenceClassification`.
        class: String,
    },
    /// Only totune; transformers loads just the encoder, where it knows the architecture.
    Totune {
        /// Reason why no class of transformers computes the same.
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
    /// Identifier of the weights that training started from.
    pub checkpoint: String,
    /// Licence of these weights.
    pub licence: String,
    /// Address of their description.
    pub homepage: String,
    /// Whether text is lower-cased.
    pub lowercase: bool,
    /// Put before each text; empty where there is nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prefix: String,
    /// The network as it was saved.
    pub architecture: Architecture,
}

/// Training of a model.
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

/// Training data of a model.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct DatasetFacts {
    /// Name of its card.
    pub name: String,
    /// Display name.
    pub title: String,
    /// Hash of the parsed examples.
    pub hash: String,
    /// Licence or terms of use.
    pub licence: String,
    /// Number of examples that the model was trained on.
    pub train: usize,
    /// Number of examples that choices were made on.
    pub dev: usize,
    /// Number of examples behind the scores.
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
    /// Number of examples behind the score.
    pub n: usize,
}

impl Manifest {
    /// The format and program version that this program writes.
    pub(crate) fn head() -> (u32, String) {
        (FORMAT, format!("totune {}", env!("CARGO_PKG_VERSION")))
    }

    /// Reads the manifest of the folder `dir`.
    ///
    /// # Errors
    /// When there is none, or its format is of a later version.
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

    /// Objective of the model, for evaluation.
    pub fn objective(&self) -> Objective {
        match &self.task {
            TaskFacts::Classification {
                labels, positive, ..
            } => Objective::Class {
                labels: labels.clone(),
                positive: *positive,
            },
            TaskFacts::MultiLabel { labels, .. } => Objective::Labels {
                labels: labels.clone(),
            },
            TaskFacts::Ordinal { labels, .. } => Objective::Ordinal {
                labels: labels.clone(),
            },
            TaskFacts::Regression {} => Objective::Score {},
            TaskFacts::Tagging { labels, .. } => Objective::Tags {
                labels: labels.clone(),
            },
        }
    }
}
