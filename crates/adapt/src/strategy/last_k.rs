//! Fine-tuning of the top layers.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use totune_model::Architecture;

use super::{Adaptation, Planner, Trainable, TrainedLayers};
use crate::phase::{Defaults, Plan};

/// Trains the head and the `k` layers nearest to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LastK {
    /// Number of trained layers, from 1 to the depth of the encoder.
    pub k: usize,
    /// Peak learning rate.
    pub lr: f64,
    /// Peak learning rate of the head; `lr` by default.
    #[serde(default)]
    pub head_lr: Option<f64>,
    /// The tanh layer over `[CLS]`.
    pub pooler: Trainable,
    /// Word, position and type embeddings and their layer norm. When they are trained, the frozen layers between them
    /// and the top still carry gradients, so freezing them only saves their updates.
    pub embeddings: Trainable,
    /// Factor of the learning rate from each layer to the next lower one, down to the embeddings; the pooler and the
    /// top layer have `lr`.
    #[serde(default = "super::no_layer_decay")]
    pub layer_decay: f64,
}

impl LastK {
    /// Creates the settings of the papers: the pooler is trained, the embeddings are frozen like every layer below the
    /// top `k`.
    pub fn new(k: usize, lr: f64) -> Self {
        Self {
            k,
            lr,
            head_lr: None,
            pooler: Trainable::Yes,
            embeddings: Trainable::No,
            layer_decay: 1.0,
        }
    }
}

impl Planner for LastK {
    fn label(&self) -> String {
        format!("last-{}{}", self.k, super::decaying(self.layer_decay))
    }

    fn lr(&self) -> f64 {
        self.lr
    }

    fn head_lr(&self) -> Option<f64> {
        self.head_lr
    }

    fn in_one_phase(&self) -> Adaptation {
        Adaptation::LastK(self.clone())
    }

    fn validate(&self) -> Result<()> {
        ensure!(
            self.k > 0,
            "adaptation.k: found 0, expected at least 1 (the strategy without trainable layers is `frozen`)"
        );
        super::check_decay("adaptation.layer-decay", self.layer_decay)
    }

    fn missing_in(&self, architecture: &Architecture) -> Option<&'static str> {
        super::lacks_layers(architecture)
    }

    fn plan(&self, defaults: &Defaults, n_layers: usize) -> Result<Plan> {
        super::check_k(self.k, n_layers)?;
        let trained = TrainedLayers {
            lr: self.lr,
            head_lr: self.head_lr,
            layer_decay: self.layer_decay,
            pooler: self.pooler,
            layers: n_layers - self.k..n_layers,
            embeddings: self.embeddings,
        };
        Ok(Plan::new(vec![trained.phase(defaults)]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assignments, check_plan, training};

    #[test]
    fn the_top_layers_and_the_pooler_move() {
        check_plan(
            Adaptation::LastK(LastK::new(2, 5e-5)),
            12,
            11,
            &[
                r"^head\.",
                r"^encoder\.pooler\.",
                r"^encoder\.layers\.11\.",
                r"^encoder\.layers\.10\.",
            ],
        );
    }

    #[test]
    fn moving_embeddings_need_gradients_all_the_way_down() {
        let mut settings = LastK::new(1, 5e-5);
        settings.embeddings = Trainable::Yes;
        settings.pooler = Trainable::No;
        check_plan(
            Adaptation::LastK(settings),
            3,
            0,
            &[
                r"^head\.",
                r"^encoder\.layers\.2\.",
                r"^encoder\.embeddings\.",
            ],
        );
    }

    #[test]
    fn embeddings_below_fixed_layers_move_at_the_rate_of_their_depth() {
        let mut settings = LastK::new(1, 0.5);
        (settings.embeddings, settings.layer_decay) = (Trainable::Yes, 0.5);
        let plan = training(Adaptation::LastK(settings)).plan(3);
        let groups = &plan.expect("valid settings").phases[0].groups;
        let rates: Vec<f64> = groups.iter().map(|group| group.lr).collect();
        assert_eq!(rates, [0.5, 0.5, 0.5, 0.0625]);
    }

    #[test]
    fn as_many_layers_as_there_are_is_allowed_and_one_more_is_not() {
        let plan = |k| {
            let adaptation = Adaptation::LastK(LastK::new(k, 5e-5));
            training(adaptation).plan(3)
        };
        assert_eq!(
            assignments(&plan(3).expect("3 of 3 layers"), 3)[0].frozen_below,
            1
        );
        for k in [4, 9] {
            assert_eq!(
                plan(k).expect_err("out of range").to_string(),
                format!(
                    "adaptation.k: found {k}, expected from 1 to 3, the number of layers of the encoder"
                )
            );
        }
    }
}
