//! Facts about a model: its task and its input format.

use serde::{Deserialize, Serialize};
use totune_adapt::InputEncoding;
use totune_data::format::{Delimited, Format};
use totune_data::{Card, Dataset, Example, Joined, Layout, Pairs, Task, WordContext};

/// Task of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TaskFacts {
    /// One label for a text or a pair of texts.
    Classification {
        /// Labels in the order of the model's outputs.
        labels: Vec<String>,
        /// Index of the label that precision and recall are about, if there is one.
        positive: Option<usize>,
        /// Values in the training file for each label, where they differ from the labels.
        #[serde(default)]
        values: Vec<String>,
    },
    /// Any number of labels for a text or a pair of texts.
    MultiLabel {
        /// Labels in the order of the model's outputs.
        labels: Vec<String>,
        /// Values in the training file for each label, where they differ from the labels.
        #[serde(default)]
        values: Vec<String>,
    },
    /// One of several labels in an order for a text or a pair of texts.
    Ordinal {
        /// Labels from the lowest to the highest.
        labels: Vec<String>,
        /// Values in the training file for each label, where they differ from the labels.
        #[serde(default)]
        values: Vec<String>,
    },
    /// A number for a text or a pair of texts.
    Regression {},
    /// A tag for each word.
    Tagging {
        /// Tags in the scheme BIO.
        labels: Vec<String>,
        /// Tags that integers in the training file stand for; none where it has the tags themselves.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        values: Vec<String>,
    },
}

/// Layout of the training file, by which other files of the same layout are read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct LayoutFacts {
    /// The text, or several columns that are joined; for tagging, the words.
    pub text: Vec<String>,
    /// The second text of a pair.
    #[serde(default)]
    pub second: Vec<String>,
    /// The label, the score, the tags or the labels; or a column of 0 and 1 for each label.
    pub label: Joined,
    /// Separator of the labels in a field, where each row has several; without it, a field is a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_separator: Option<String>,
    /// The value that means "no label", where the training file has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unlabelled: Option<String>,
    /// Separator of joined columns.
    pub join: String,
    /// The format of the training file, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// True if white space at the end of texts is removed.
    #[serde(default)]
    pub trim_end: bool,
}

/// Input format of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct InputFacts {
    /// Maximum number of tokens of an input, special ones included.
    pub max_length: usize,
    /// Whether the model was trained on pairs of texts.
    pub is_pair: bool,
    /// Joint or separate encoding of the two texts of a pair.
    pub pairs: Pairs,
    /// Context that is encoded with a sentence whose words are tagged.
    pub context: WordContext,
}

impl InputFacts {
    /// The encoding of `examples`; `of_words` says whether words are tagged.
    pub fn encoding(&self, examples: &[Example], of_words: bool) -> InputEncoding {
        // Sentences that belong to no document are encoded without context.
        let in_documents = examples.iter().any(|example| example.group.is_some());
        let context = if in_documents {
            self.context
        } else {
            WordContext::Sentence
        };
        InputEncoding {
            max_length: self.max_length,
            pairs: self.pairs,
            tagged: of_words.then_some(context),
        }
    }
}

impl TaskFacts {
    /// Task of a model of this dataset, whose training file is in `layout`.
    pub fn of(card: &Card, layout: &Layout, dataset: &Dataset) -> Self {
        let labels = dataset.labels.clone();
        match card.task {
            Task::MultiLabel => Self::MultiLabel {
                labels,
                values: layout.values.clone(),
            },
            Task::Ordinal => Self::Ordinal {
                labels,
                values: layout.values.clone(),
            },
            Task::Regression => Self::Regression {},
            Task::Tagging => Self::Tagging {
                labels,
                values: layout.values.clone(),
            },
            Task::Classification => Self::Classification {
                labels,
                positive: dataset.positive,
                values: layout.values.clone(),
            },
        }
    }

    /// Kind of the task.
    pub fn task(&self) -> Task {
        match self {
            Self::Classification { .. } => Task::Classification,
            Self::MultiLabel { .. } => Task::MultiLabel,
            Self::Ordinal { .. } => Task::Ordinal,
            Self::Regression {} => Task::Regression,
            Self::Tagging { .. } => Task::Tagging,
        }
    }

    /// Labels or tags in the order of the model's outputs; empty for regression.
    pub fn labels(&self) -> &[String] {
        match self {
            Self::Classification { labels, .. }
            | Self::MultiLabel { labels, .. }
            | Self::Ordinal { labels, .. }
            | Self::Tagging { labels, .. } => labels,
            Self::Regression {} => &[],
        }
    }

    /// Name of the problem type in the `config.json` of transformers; `None` for tagging and for what it has no name for.
    pub(crate) fn problem_type(&self) -> Option<&'static str> {
        match self {
            Self::Classification { .. } => Some("single_label_classification"),
            Self::MultiLabel { .. } => Some("multi_label_classification"),
            Self::Regression {} => Some("regression"),
            Self::Ordinal { .. } | Self::Tagging { .. } => None,
        }
    }

    /// Name of the pipeline on the Hub.
    pub(crate) fn pipeline(&self) -> &'static str {
        match self {
            Self::Classification { .. }
            | Self::MultiLabel { .. }
            | Self::Ordinal { .. }
            | Self::Regression {} => "text-classification",
            Self::Tagging { .. } => "token-classification",
        }
    }
}

impl LayoutFacts {
    /// The facts of a dataset's training file in this layout.
    pub fn of(layout: &Layout) -> Self {
        let columns = layout.columns_of("train");
        Self {
            text: columns.text.names().to_vec(),
            second: columns
                .second
                .as_ref()
                .map_or(Vec::new(), |second| second.names().to_vec()),
            label: columns.label.clone(),
            label_separator: columns.label_separator.clone(),
            unlabelled: layout.unlabelled.clone(),
            join: columns.join.clone(),
            format: Some(layout.format_of("train").clone()),
            trim_end: layout.trim_end,
        }
    }

    /// Separator and settings of delimited text, where the training file is of that.
    pub(crate) fn delimited(&self) -> Option<(char, &Delimited)> {
        let (own, settings) = match &self.format {
            Some(Format::Csv(settings)) => (',', settings),
            Some(Format::Tsv(settings)) => ('\t', settings),
            _ => return None,
        };
        Some((settings.separator.unwrap_or(own), settings))
    }
}
