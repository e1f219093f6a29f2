//! Floors: what a task gives without training an encoder.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use totune_data::Pairs;
use totune_model::Switch;
use totune_stats::{Logistic, Solver};

use super::ProbeInput;

/// A floor under the scores of a task, with the encoder that it reads with, if with one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FloorWork {
    /// What predicts.
    pub floor: Floor,
    /// Name of the encoder card; none where no encoder is used, as below.
    #[serde(default)]
    pub encoder: Option<String>,
    /// Wordpieces, special ones included.
    #[serde(default)]
    pub max_length: Option<usize>,
    /// Examples in a batch of the encoder.
    #[serde(default)]
    pub evaluation_batch_size: Option<usize>,
}

/// What predicts without a trained encoder.
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
    /// A logistic or ridge regression on word counts; of words that are tagged, the most frequent tag of each word.
    WordCounts {
        /// How the regression is fitted.
        regression: Regression,
    },
    /// A logistic or ridge regression on vectors of a pretrained encoder.
    Vectors {
        /// Which vector of a layer represents a text.
        pooling: ProbeInput,
        /// Which layer, the embeddings being layer 0; the top one where it is left out.
        #[serde(default)]
        layer: Option<usize>,
        /// Whether the texts of a pair are encoded as one input, whose vector is taken, or separately, with the features
        /// `[u; v; |u - v|; u * v]` of their vectors u and v.
        pairs: Pairs,
        /// Whether each feature is brought to mean 0 and variance 1 on the training part.
        standardise: Switch,
        /// How the regression is fitted.
        regression: Regression,
    },
    /// The cosine of the vectors of the two texts of a pair, encoded separately. It is the prediction of a similarity; of
    /// two labels, a threshold decides.
    Cosine {
        /// Which vector of a layer represents a text.
        pooling: ProbeInput,
        /// Which layer, the embeddings being layer 0; the top one where it is left out.
        #[serde(default)]
        layer: Option<usize>,
    },
}

/// A logistic regression of labels or a ridge regression of scores, whose penalty is chosen by cross-validation on the
/// training part: of the logistic regression the C with the best accuracy over stratified folds (scikit-learn's
/// `LogisticRegressionCV`), of the ridge regression the α with the best R² (`GridSearchCV` over `Ridge`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Regression {
    /// Inverse strengths of the penalty of a logistic regression; a single one is taken as it is.
    pub c: Vec<f64>,
    /// Strengths of the penalty of a ridge regression, likewise.
    pub alpha: Vec<f64>,
    /// Folds of the cross-validation.
    pub folds: usize,
    /// Steps of the logistic regression's optimiser, at most.
    pub max_iter: usize,
    /// Largest entry of the gradient at which it stops.
    pub tol: f64,
}

impl Regression {
    /// The logistic regression with these settings, for one C after the other.
    pub fn logistic(&self, solver: Solver) -> Logistic {
        Logistic {
            max_iter: self.max_iter,
            tol: self.tol,
            solver,
            ..Logistic::default()
        }
    }

    fn validate(&self) -> Result<()> {
        for (key, penalties) in [("c", &self.c), ("alpha", &self.alpha)] {
            ensure!(
                !penalties.is_empty(),
                "floor.regression.{key}: the list is empty; expected at least one"
            );
            let wrong = penalties.iter().find(|p| !(p.is_finite() && **p > 0.0));
            if let Some(wrong) = wrong {
                anyhow::bail!("floor.regression.{key}: found {wrong}, expected more than 0");
            }
        }
        ensure!(
            self.folds >= 2,
            "floor.regression.folds: found {}, expected at least 2",
            self.folds
        );
        ensure!(
            self.max_iter >= 1,
            "floor.regression.max-iter: found 0, expected at least 1"
        );
        ensure!(
            self.tol.is_finite() && self.tol > 0.0,
            "floor.regression.tol: found {}, expected more than 0",
            self.tol
        );
        Ok(())
    }
}

impl Floor {
    /// Whether it reads with an encoder.
    pub fn needs_encoder(&self) -> bool {
        match self {
            Self::Majority {} | Self::WordCounts { .. } => false,
            Self::Vectors { .. } | Self::Cosine { .. } => true,
        }
    }

    /// What tells it from other floors, for people.
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
            Self::Cosine { pooling, layer } => {
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
                regression.validate()?;
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
