//! Feature extraction: a head on a frozen encoder.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::{Adaptation, Planner, Trainable, TrainedLayers};
use crate::phase::{Defaults, Plan};

/// Trains only the head.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Frozen {
    /// Peak learning rate.
    pub lr: f64,
    /// Peak learning rate of the head; `lr` by default.
    #[serde(default)]
    pub head_lr: Option<f64>,
    /// The tanh layer over `[CLS]`. It came with the checkpoint, so the papers' feature extraction freezes it too.
    pub pooler: Trainable,
}

impl Frozen {
    /// Creates the settings of the papers: everything pretrained is frozen, including the pooler.
    pub fn new(lr: f64) -> Self {
        Self {
            lr,
            head_lr: None,
            pooler: Trainable::No,
        }
    }
}

impl Planner for Frozen {
    fn label(&self) -> String {
        "frozen".into()
    }

    fn lr(&self) -> f64 {
        self.lr
    }

    fn head_lr(&self) -> Option<f64> {
        self.head_lr
    }

    fn in_one_phase(&self) -> Adaptation {
        Adaptation::Frozen(self.clone())
    }

    fn plan(&self, defaults: &Defaults, n_layers: usize) -> Result<Plan> {
        let trained = TrainedLayers {
            lr: self.lr,
            head_lr: self.head_lr,
            layer_decay: 1.0,
            pooler: self.pooler,
            layers: n_layers..n_layers,
            embeddings: Trainable::No,
        };
        Ok(Plan::new(vec![trained.phase(defaults)]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::check_plan;

    #[test]
    fn only_the_head_moves() {
        check_plan(Adaptation::Frozen(Frozen::new(1e-3)), 3, 4, &[r"^head\."]);
    }

    #[test]
    fn the_pooler_moves_when_asked() {
        let mut settings = Frozen::new(1e-3);
        settings.pooler = Trainable::Yes;
        check_plan(
            Adaptation::Frozen(settings),
            3,
            4,
            &[r"^head\.", r"^encoder\.pooler\."],
        );
    }
}
