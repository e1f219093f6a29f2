//! Floors: scores of a task without training an encoder.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use totune_adapt::Regression;
use totune_data::Pairs;
use totune_model::Switch;

use super::ProbeInput;

/// A floor under the scores of a task, and the encoder of its inputs, if any.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FloorWork {
    /// Method of prediction.
    pub floor: Floor,
    /// Name of the encoder card; `None` for floors without an encoder, as below.
    #[serde(default)]
    pub encoder: Option<String>,
    /// Wordpieces, special ones included.
    #[serde(default)]
    pub max_length: Option<usize>,
    /// Examples in a batch of the encoder.
    #[serde(default)]
    pub evaluation_batch_size: Option<usize>,
}

/// Methods of prediction without a trained encoder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case",
    deny_unknown_fields
)]
pub enum Floor {
    /// The most frequent label of the training part, the mean of its scores, or its most frequent tag.
    Majority {},
    /// A logistic or ridge regression on word counts; for tagged words, the most frequent tag of each word.
    WordCounts {
        /// Settings of the regression.
        regression: Regression,
    },
    /// A logistic or ridge regression on vectors of a pretrained encoder.
    Vectors {
        /// Pooling of a layer into the vector of a text.
        pooling: ProbeInput,
        /// Layer, the embeddings being layer 0; the top one where it is left out.
        #[serde(default)]
        layer: Option<usize>,
        /// Encoding of the texts of a pair: as one input with one vector, or separately, with the features `[u; v; |u -
        /// v|; u * v]` of their vectors u and v.
        pairs: Pairs,
        /// Standardisation of each feature to mean 0 and variance 1 on the training part.
        standardise: Switch,
        /// Settings of the regression.
        regression: Regression,
    },
    /// The cosine of the vectors of the two texts of a pair, encoded separately. It is the prediction of a similarity;
    /// for two labels, a threshold decides.
    Cosine {
        /// Pooling of a layer into the vector of a text.
        pooling: ProbeInput,
        /// Layer, the embeddings being layer 0; the top one where it is left out.
        #[serde(default)]
        layer: Option<usize>,
        /// For scores, a line through those of some examples, which brings cosines to their scale.
        #[serde(default = "off", skip_serializing_if = "is_off")]
        scaled: Switch,
    },
}

fn off() -> Switch {
    Switch::Off
}

fn is_off(switch: &Switch) -> bool {
    !switch.is_on()
}

impl Floor {
    /// Whether it uses an encoder.
    pub fn needs_encoder(&self) -> bool {
        match self {
            Self::Majority {} | Self::WordCounts { .. } => false,
            Self::Vectors { .. } | Self::Cosine { .. } => true,
        }
    }

    /// Display name that distinguishes it from other floors.
    pub fn label(&self) -> String {
        let of_layer = |layer: &Option<usize>| match layer {
            Some(layer) => format!(", layer {layer}"),
            None => String::new(),
        };
        match self {
            Self::Majority {} => "majority".to_string(),
            Self::WordCounts { .. } => "word counts".to_string(),
            Self::Vectors {
                pooling,
                layer,
                standardise,
                ..
            } => {
                let standardised = if standardise.is_on() {
                    ", standardised"
                } else {
                    ""
                };
                let pooling = super::kebab(pooling);
                format!("vectors, {pooling}{}{standardised}", of_layer(layer))
            }
            Self::Cosine { pooling, layer, .. } => {
                format!("cosine, {}{}", super::kebab(pooling), of_layer(layer))
            }
        }
    }
}

impl FloorWork {
    pub(super) fn validate(&self) -> Result<()> {
        match &self.floor {
            Floor::Majority {} | Floor::Cosine { .. } => {}
            Floor::WordCounts { regression } | Floor::Vectors { regression, .. } => {
                regression.validate("floor.regression")?;
            }
        }
        let keys = [
            ("encoder", self.encoder.is_some()),
            ("max-length", self.max_length.is_some()),
            (
                "evaluation-batch-size",
                self.evaluation_batch_size.is_some(),
            ),
        ];
        for (key, given) in keys {
            match (self.floor.needs_encoder(), given) {
                (true, false) => anyhow::bail!(
                    "{key}: not given; expected one for a floor of vectors of an encoder"
                ),
                (false, true) => {
                    anyhow::bail!("{key}: given; expected none for a floor without an encoder")
                }
                _ => {}
            }
        }
        if let Some(max_length) = self.max_length {
            ensure!(
                max_length >= 4,
                "max-length: found {max_length}, expected at least 4, the special tokens included"
            );
        }
        ensure!(
            self.evaluation_batch_size != Some(0),
            "evaluation-batch-size: found 0, expected at least 1"
        );
        Ok(())
    }
}
