//! `totune.json`: what a saved model is, and what it was made of.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use totune_adapt::{InputEncoding, Objective, Training};
use totune_data::{Card, Dataset, Example, Layout, Pairs, Task, WordContext};
use totune_model::{Architecture, HeadSpec};

/// The file in a folder that makes it a saved model.
pub(crate) const FILE: &str = "totune.json";
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

/// What a model predicts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TaskFacts {
    /// One label for a text or a pair of texts.
    Classification {
        /// Labels in the order of the model's outputs.
        labels: Vec<String>,
        /// Index of the label that precision and recall are about, if there is one.
        positive: Option<usize>,
        /// What the training file had in place of each label, where that was something else.
        #[serde(default)]
        values: Vec<String>,
    },
    /// A number for a text or a pair of texts.
    Regression {},
    /// A tag for each word.
    Tagging {
        /// Tags in the scheme BIO.
        labels: Vec<String>,
    },
}

/// What columns are called.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ColumnNames {
    /// The text, or several columns that are joined; of a tagging task, the words.
    pub text: Vec<String>,
    /// The second text of a pair.
    #[serde(default)]
    pub second: Vec<String>,
    /// The label, the score or the tags.
    pub label: String,
    /// What stands between joined columns.
    pub join: String,
}

/// How texts are read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct InputFacts {
    /// Most tokens of an input, special ones included.
    pub max_length: usize,
    /// Whether the model was trained on pairs of texts.
    pub is_pair: bool,
    /// How the two texts of a pair are read.
    pub pairs: Pairs,
    /// What is read next to a sentence whose words are tagged.
    pub context: WordContext,
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

impl InputFacts {
    /// The form in which an encoder reads `examples`; `of_words` says whether words are tagged.
    pub fn encoding(&self, examples: &[Example], of_words: bool) -> InputEncoding {
        // Sentences that belong to no document are read by themselves.
        let in_documents = examples.iter().any(|example| example.group.is_some());
        let context = match in_documents {
            true => self.context,
            false => WordContext::Sentence,
        };
        InputEncoding {
            max_length: self.max_length,
            pairs: self.pairs,
            tagged: of_words.then_some(context),
        }
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

    /// Labels or tags in the order of the model's outputs; none of a regression.
    pub fn labels(&self) -> &[String] {
        match self {
            Self::Classification { labels, .. } | Self::Tagging { labels } => labels,
            Self::Regression {} => &[],
        }
    }

    /// What transformers calls it in a `config.json`; nothing for tags.
    pub(crate) fn problem_type(&self) -> Option<&'static str> {
        match self {
            Self::Classification { .. } => Some("single_label_classification"),
            Self::Regression {} => Some("regression"),
            Self::Tagging { .. } => None,
        }
    }

    /// What the Hub calls it.
    pub(crate) fn pipeline(&self) -> &'static str {
        match self {
            Self::Classification { .. } | Self::Regression {} => "text-classification",
            Self::Tagging { .. } => "token-classification",
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
