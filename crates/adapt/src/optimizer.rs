//! Optimisers as settings; their arithmetic is [`totune_model::fused`].

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use burn::module::ParamGroup;
use serde::{Deserialize, Serialize};
use totune_model::fused::AdamWConfig;

use crate::phase::matcher;

/// Update rule of an optimiser.
///
/// Both decouple weight decay from the gradient and multiply it by the learning rate:
/// `p ← p − lr · (update + weight-decay · p)`. With `m` and `v` the moving averages of the gradient and of its square,
/// they differ only in the update.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Optimizer {
    /// PyTorch's AdamW: `(m / (1 − β₁ᵗ)) / (√(v / (1 − β₂ᵗ)) + ε)`.
    AdamW(Adam),
    /// The released BERT code's: `m / (√v + ε)`, without bias correction.
    BertAdam(Adam),
}

/// Settings of an Adam optimiser.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Adam {
    /// Decay of the two moving averages, β₁ and β₂.
    pub betas: [f64; 2],
    /// ε, added outside the root.
    pub epsilon: f64,
    /// Weight decay per unit of learning rate.
    pub weight_decay: f64,
    /// Regular expressions; a parameter whose path one of them matches is not decayed.
    pub no_decay: Vec<String>,
}

/// Paths of biases, of LSTMs too, and of layer-norm parameters, which neither BERT's code nor transformers decays.
pub const BIAS_AND_NORM: [&str; 2] = [r"\.bias(_[ih]h)?$", r"norm\."];

impl Optimizer {
    /// PyTorch's defaults, with decay 0.01 for everything but biases and layer norms.
    pub fn adamw() -> Self {
        Self::AdamW(Adam {
            betas: [0.9, 0.999],
            epsilon: 1e-8,
            weight_decay: 0.01,
            no_decay: BIAS_AND_NORM.map(String::from).to_vec(),
        })
    }

    /// Returns the settings that both kinds share.
    pub fn adam(&self) -> &Adam {
        match self {
            Self::AdamW(adam) | Self::BertAdam(adam) => adam,
        }
    }

    /// Returns the constants of the update.
    pub fn config(&self) -> AdamWConfig {
        let adam = self.adam();
        AdamWConfig {
            beta_1: adam.betas[0],
            beta_2: adam.betas[1],
            epsilon: adam.epsilon,
            bias_correction: matches!(self, Self::AdamW(_)),
        }
    }

    /// The weight decay of each parameter in `paths`: 0 where a pattern of `no-decay` matches.
    ///
    /// # Errors
    /// When a pattern is no regular expression.
    pub fn weight_decays(
        &self,
        paths: impl IntoIterator<Item = String>,
    ) -> Result<BTreeMap<String, f64>> {
        let adam = self.adam();
        let patterns = adam.no_decay.iter().map(|pattern| matcher(pattern));
        let patterns = patterns.collect::<Result<Vec<_>>>()?;
        let decay = |path: &str| {
            if patterns.iter().any(|matches| matches(path)) {
                0.0
            } else {
                adam.weight_decay
            }
        };
        Ok(paths
            .into_iter()
            .map(|path| {
                let decay = decay(&path);
                (path, decay)
            })
            .collect())
    }

    /// Refuses values outside their range, naming the key.
    pub fn validate(&self) -> Result<()> {
        let adam = self.adam();
        for beta in adam.betas {
            ensure!(
                (0.0..1.0).contains(&beta),
                "optimizer.betas: found {beta}, expected from 0 to less than 1"
            );
        }
        ensure!(
            adam.epsilon.is_finite() && adam.epsilon > 0.0,
            "optimizer.epsilon: found {}, expected more than 0",
            adam.epsilon
        );
        ensure!(
            adam.weight_decay.is_finite() && adam.weight_decay >= 0.0,
            "optimizer.weight-decay: found {}, expected 0 or more",
            adam.weight_decay
        );
        for pattern in &adam.no_decay {
            ensure!(
                ParamGroup::from_regex(pattern).is_ok(),
                "optimizer.no-decay: found `{pattern}`, expected a regular expression"
            );
        }
        Ok(())
    }
}
