//! Kinds of work that analyse an encoder or texts instead of training for a score.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use totune_adapt::Training;
use totune_data::Pairs;
use totune_model::Pooling;

use super::LogisticSettings;

/// Diagnostic classifiers over every layer of an encoder, and the mutual information of the layers and the labels
/// (Peters, Ruder and Smith 2019, figures 1 and 2).
///
/// In each layer, the embeddings being layer 0, one vector represents an example. A logistic regression (a linear one
/// for scores) is fitted to the vectors of the training part and evaluated on those of the test part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ProbeWork {
    /// Name of the encoder card.
    pub encoder: String,
    /// States of the encoder to probe.
    pub states: ProbedStates,
    /// Pooling of a layer into the vector of an example.
    pub input: ProbeInput,
    /// Wordpieces, special ones included.
    pub max_length: usize,
    /// Joint or separate encoding of the two texts of a pair.
    #[serde(default)]
    pub pairs: Pairs,
    /// Examples in a batch of the encoder.
    pub evaluation_batch_size: usize,
    /// Settings of the classifiers of labels.
    pub logistic: LogisticSettings,
    /// Estimates of the mutual information of vectors and labels.
    pub mi: Information,
    /// Training of the encoder before it is probed; given only for `fine-tuned` states.
    #[serde(default)]
    pub training: Option<Box<Training>>,
}

/// States of an encoder that can be probed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbedStates {
    /// States of the checkpoint.
    Pretrained,
    /// States after the run's training on the dataset's task.
    FineTuned,
}

/// Pooling of a layer into the vector of an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeInput {
    /// The mean over all wordpieces.
    Mean,
    /// The largest value over all wordpieces.
    Max,
    /// The first wordpiece.
    First,
}

impl ProbeInput {
    /// The same choice as a head's pooling.
    pub(crate) fn pooling(self) -> Pooling {
        match self {
            Self::Mean => Pooling::Mean,
            Self::Max => Pooling::Max,
            Self::First => Pooling::First,
        }
    }
}

/// Estimates of the mutual information of vectors and labels, on the test part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Information {
    /// No estimate.
    Off,
    /// Both passes of EDGE and a lower bound by cross-validated classifiers, each also for shuffled labels and for
    /// vectors whose columns are shuffled one by one.
    Edge,
}

impl ProbeWork {
    pub(super) fn validate(&self) -> Result<()> {
        self.logistic.validate()?;
        ensure!(
            self.evaluation_batch_size >= 1,
            "evaluation-batch-size: found 0, expected at least 1"
        );
        ensure!(
            self.max_length >= 4,
            "max-length: found {}, expected at least 4, the special tokens included",
            self.max_length
        );
        match (self.states, &self.training) {
            (ProbedStates::Pretrained, None) => Ok(()),
            (ProbedStates::Pretrained, Some(_)) => {
                anyhow::bail!("training: given; expected none for states = \"pretrained\"")
            }
            (ProbedStates::FineTuned, None) => {
                anyhow::bail!("training: not given; expected one for states = \"fine-tuned\"")
            }
            (ProbedStates::FineTuned, Some(training)) => {
                ensure!(
                    training.pairs == self.pairs,
                    "training.pairs: differs from `pairs`; expected texts to be read in one way"
                );
                ensure!(
                    training.state.is_reset(),
                    "training.state: found \"carry\", expected \"reset\": a probe looks at each text by itself"
                );
                training.validate()
            }
        }
    }
}

/// The Jensen-Shannon divergence between the terms of some texts together and those of a dataset's training split
/// (Peters, Ruder and Smith 2019, table 6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DivergenceWork {
    /// Names of the texts' cards, `datasets/texts/<name>.toml`.
    pub texts: Vec<String>,
    /// Number of terms that count, the most frequent on both sides together.
    pub terms: usize,
}

impl DivergenceWork {
    pub(super) fn validate(&self) -> Result<()> {
        ensure!(
            !self.texts.is_empty(),
            "texts: the list is empty; expected at least one"
        );
        ensure!(self.terms >= 1, "terms: found 0, expected at least 1");
        Ok(())
    }
}
