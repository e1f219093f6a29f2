//! Fine-tuning that freezes layers from the bottom as their gradients settle (AutoFreeze, Liu et al. 2021).

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use totune_model::Architecture;

use super::{Adaptation, Full, Planner, Trainable, TrainedLayers};
use crate::phase::{Defaults, Freezing, Plan};

/// Begins as full fine-tuning; after each epoch from the second on, the lowest layers whose gradient norms have changed
/// least are frozen.
///
/// The change of a layer is `|before - now| / before` (section 4.1), of the root mean square over the epoch's steps of
/// the norm of its gradient; Liu et al. take the norm of the gradients' sum, which needs a copy of them. The embeddings
/// are the lowest layer, and the top layer is never frozen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AutoFreeze {
    /// Peak learning rate.
    pub lr: f64,
    /// Peak learning rate of the head; `lr` by default.
    #[serde(default)]
    pub head_lr: Option<f64>,
    /// Share of the layers still trained that may be frozen after an epoch: those with the least change, as far as all
    /// layers below are frozen too.
    pub share: f64,
    /// The tanh layer over `[CLS]`.
    pub pooler: Trainable,
    /// Word, position and type embeddings and their layer norm.
    pub embeddings: Trainable,
}

impl AutoFreeze {
    /// Creates settings that may freeze the half of the layers with the least change, the median of Liu et al. 2021.
    pub fn new(lr: f64) -> Self {
        Self {
            lr,
            head_lr: None,
            share: 0.5,
            pooler: Trainable::Yes,
            embeddings: Trainable::Yes,
        }
    }
}

impl Planner for AutoFreeze {
    fn label(&self) -> String {
        format!("auto-freeze {}", self.share)
    }

    fn lr(&self) -> f64 {
        self.lr
    }

    fn head_lr(&self) -> Option<f64> {
        self.head_lr
    }

    fn in_one_phase(&self) -> Adaptation {
        Adaptation::Full(Full::new(self.lr))
    }

    fn missing_in(&self, architecture: &Architecture) -> Option<&'static str> {
        super::lacks_layers(architecture)
    }

    fn plan(&self, defaults: &Defaults, n_layers: usize) -> Result<Plan> {
        let trained = TrainedLayers {
            lr: self.lr,
            head_lr: self.head_lr,
            layer_decay: 1.0,
            pooler: self.pooler,
            layers: 0..n_layers,
            embeddings: self.embeddings,
        };
        let mut phase = trained.phase(defaults);
        phase.freezing = Some(Freezing { share: self.share });
        Ok(Plan::new(vec![phase]))
    }

    fn validate(&self) -> Result<()> {
        ensure!(
            self.share > 0.0 && self.share <= 1.0,
            "adaptation.share: found {}, expected more than 0 and at most 1",
            self.share
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::training;

    #[test]
    fn it_begins_as_full_fine_tuning() {
        let plan = training(Adaptation::AutoFreeze(AutoFreeze::new(1e-3))).plan(2);
        let mut plan = plan.expect("valid settings");
        let freezing = plan.phases[0].freezing.take();
        assert_eq!(freezing, Some(Freezing { share: 0.5 }));
        let full = training(Adaptation::Full(Full::new(1e-3))).plan(2);
        assert_eq!(plan, full.expect("valid settings"));
    }

    #[test]
    fn a_share_out_of_range_names_its_key() {
        for share in [0.0, 1.5, f64::NAN] {
            let settings = AutoFreeze {
                share,
                ..AutoFreeze::new(1e-3)
            };
            let error = settings.validate().expect_err("refused").to_string();
            assert_eq!(
                error,
                format!("adaptation.share: found {share}, expected more than 0 and at most 1")
            );
        }
    }
}
