//! Stack, then fine-tune: the head until it starts to overfit, then everything (Wang et al. 2019).
//!
//! With a linear head this is linear probing, then fine-tuning (Kumar et al. 2022).

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::{Adaptation, Full, Planner, Trainable, TrainedLayers};
use crate::phase::{Defaults, Plan};
use crate::stop::StopRule;

/// Two phases, each with the run's schedule from its start and a new optimizer state.
///
/// The run's `epochs` and `stop` are those of the second one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct StackAndFinetune {
    /// Peak learning rate of the first phase, that of the head.
    pub head_lr: f64,
    /// Number of epochs of the first phase, at most.
    pub head_epochs: usize,
    /// Stopping rule of the first phase.
    pub head_stop: StopRule,
    /// Peak learning rate of the second phase.
    pub lr: f64,
    /// Peak learning rate of the head in the second phase; `lr` by default.
    #[serde(default)]
    pub finetune_head_lr: Option<f64>,
    /// The tanh layer over `[CLS]`, in the second phase; in the first it is frozen.
    pub pooler: Trainable,
    /// Word, position and type embeddings and their layer norm, in the second phase.
    pub embeddings: Trainable,
    /// Factor of the learning rate from each layer to the next lower one, in the second phase.
    #[serde(default = "super::no_layer_decay")]
    pub layer_decay: f64,
}

impl StackAndFinetune {
    /// Creates settings that train everything in the second phase; the first one ends at a generalisation gap of a
    /// point or an improvement of less than a fifth.
    pub fn new(head_lr: f64, head_epochs: usize, lr: f64) -> Self {
        Self {
            head_lr,
            head_epochs,
            head_stop: StopRule::GeneralisationGap {
                max_gap: 0.01,
                min_improvement: 0.002,
                metric: None,
            },
            lr,
            finetune_head_lr: None,
            pooler: Trainable::Yes,
            embeddings: Trainable::Yes,
            layer_decay: 1.0,
        }
    }
}

impl Planner for StackAndFinetune {
    fn label(&self) -> String {
        let decaying = super::decaying(self.layer_decay);
        format!("stack-and-finetune{decaying}")
    }

    fn lr(&self) -> f64 {
        self.lr
    }

    /// Returns the rate of the second phase; that of the first is always set.
    fn head_lr(&self) -> Option<f64> {
        self.finetune_head_lr
    }

    fn head_lr_key(&self) -> &'static str {
        "finetune-head-lr"
    }

    fn epochs(&self, epochs: usize) -> usize {
        self.head_epochs + epochs
    }

    fn looks_at_dev(&self) -> Option<&'static str> {
        self.head_stop
            .looks_at_dev()
            .then_some("adaptation.head-stop")
    }

    fn in_one_phase(&self) -> Adaptation {
        Adaptation::Full(Full::new(self.lr))
    }

    fn plan(&self, defaults: &Defaults, n_layers: usize) -> Result<Plan> {
        let stack = TrainedLayers {
            lr: self.head_lr,
            head_lr: None,
            layer_decay: 1.0,
            pooler: Trainable::No,
            layers: n_layers..n_layers,
            embeddings: Trainable::No,
        };
        let mut stack = stack.phase(defaults);
        stack.epochs = self.head_epochs;
        stack.stop = self.head_stop.clone();
        let finetune = TrainedLayers {
            lr: self.lr,
            head_lr: self.finetune_head_lr,
            layer_decay: self.layer_decay,
            pooler: self.pooler,
            layers: 0..n_layers,
            embeddings: self.embeddings,
        };
        Ok(Plan::new(vec![stack, finetune.phase(defaults)]))
    }

    fn validate(&self) -> Result<()> {
        super::check_rate("adaptation.head-lr", self.head_lr)?;
        ensure!(
            self.head_epochs >= 1,
            "adaptation.head-epochs: found 0, expected at least 1 (the strategy without a phase for the head is `full`)"
        );
        self.head_stop.validate("adaptation.head-stop")?;
        super::check_decay("adaptation.layer-decay", self.layer_decay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phase::OptimizerState;
    use crate::test_support::{assignments, training};

    #[test]
    fn the_head_moves_first_and_then_everything_with_a_fresh_optimiser() {
        let settings = StackAndFinetune::new(1e-3, 3, 2e-5);
        let mut training = training(Adaptation::StackAndFinetune(settings.clone()));
        training.epochs = 5;
        let plan = training.plan(2).expect("valid settings");
        let [stack, finetune] = &plan.phases[..] else {
            panic!("expected two phases, found {}", plan.phases.len());
        };
        let assigned = assignments(&plan, 2);
        let patterns = |phase: &crate::phase::Phase| -> Vec<String> {
            phase.groups.iter().map(|g| g.pattern.clone()).collect()
        };
        assert_eq!(patterns(stack), [r"^head\."]);
        assert_eq!((stack.epochs, assigned[0].frozen_below), (3, 3));
        assert_eq!(stack.groups[0].lr, 1e-3);
        assert_eq!(stack.stop, settings.head_stop);
        assert_eq!(
            patterns(finetune),
            [
                r"^head\.",
                r"^encoder\.pooler\.",
                r"^encoder\.layers\.1\.",
                r"^encoder\.layers\.0\.",
                r"^encoder\.embeddings\.",
            ]
        );
        assert_eq!((finetune.epochs, assigned[1].frozen_below), (5, 0));
        assert!(finetune.groups.iter().all(|group| group.lr == 2e-5));
        assert_eq!(finetune.stop, training.stop);
        assert_eq!(finetune.optimizer_state, OptimizerState::Reset);
    }

    #[test]
    fn the_head_may_have_a_rate_of_its_own_in_each_phase() {
        let mut settings = StackAndFinetune::new(1e-3, 3, 2e-5);
        settings.finetune_head_lr = Some(1e-4);
        settings.layer_decay = 0.5;
        let plan = training(Adaptation::StackAndFinetune(settings)).plan(2);
        let plan = plan.expect("valid settings");
        let rates = |phase: usize| -> Vec<f64> {
            let groups = plan.phases[phase].groups.iter();
            groups.map(|group| group.lr).collect()
        };
        assert_eq!(rates(0), [1e-3]);
        // The head; pooler and top layer; the layer below; the embeddings.
        assert_eq!(rates(1), [1e-4, 2e-5, 2e-5, 1e-5, 5e-6]);
    }

    #[test]
    fn values_out_of_range_name_their_key() {
        let message = |change: fn(&mut StackAndFinetune)| {
            let mut settings = StackAndFinetune::new(1e-3, 3, 2e-5);
            change(&mut settings);
            let adaptation = Adaptation::StackAndFinetune(settings);
            adaptation.validate().expect_err("refused").to_string()
        };
        assert_eq!(
            message(|s| s.head_lr = 0.0),
            "adaptation.head-lr: found 0, expected more than 0"
        );
        assert_eq!(
            message(|s| s.finetune_head_lr = Some(-1.0)),
            "adaptation.finetune-head-lr: found -1, expected more than 0"
        );
        assert!(message(|s| s.head_epochs = 0).starts_with("adaptation.head-epochs: found 0"));
        assert_eq!(
            message(|s| s.head_stop = StopRule::GeneralisationGap {
                max_gap: -1.0,
                min_improvement: 0.0,
                metric: None
            }),
            "adaptation.head-stop.max-gap: found -1, expected 0 or more"
        );
        assert_eq!(
            message(|s| s.layer_decay = 1.5),
            "adaptation.layer-decay: found 1.5, expected more than 0 and at most 1"
        );
    }
}
