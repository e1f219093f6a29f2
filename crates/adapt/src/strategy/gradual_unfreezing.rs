//! Gradual unfreezing: one more layer is trained in each epoch, from the top (Howard and Ruder 2018, section 3.3).

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use totune_model::Architecture;

use super::{Adaptation, Full, Planner, Trainable, TrainedLayers};
use crate::phase::{Defaults, OptimizerState, Plan};
use crate::stop::StopRule;

/// Trains the head first; then unfreezes one more layer at a time, the top one first and the embeddings last.
///
/// Each opening is a phase with a schedule of its own, and the last one, in which everything is trained, takes all
/// epochs that are left. With a slanted triangle this is what AllenNLP does: one triangle per epoch while something is
/// frozen, one over the rest. The optimizer state is carried from phase to phase. A stopping rule holds in the last one
/// only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct GradualUnfreezing {
    /// Peak learning rate of the pooler and the top layer.
    pub lr: f64,
    /// Peak learning rate of the head, in every phase; `lr` by default.
    #[serde(default)]
    pub head_lr: Option<f64>,
    /// Factor of the learning rate from each layer to the next lower one; 1 for the same rate in all.
    pub layer_decay: f64,
    /// Number of epochs before the next layer is unfrozen.
    #[serde(default = "one")]
    pub epochs_per_layer: usize,
    /// Word, position and type embeddings and their layer norm, or the modules in their place.
    pub embeddings: Trainable,
    /// The tanh layer over `[CLS]`; it is trained with the head.
    pub pooler: Trainable,
}

/// Default of Howard and Ruder.
fn one() -> usize {
    1
}

impl GradualUnfreezing {
    /// Creates settings that unfreeze everything, one layer per epoch.
    pub fn new(lr: f64, layer_decay: f64) -> Self {
        Self {
            lr,
            head_lr: None,
            layer_decay,
            epochs_per_layer: 1,
            embeddings: Trainable::Yes,
            pooler: Trainable::Yes,
        }
    }
}

impl Planner for GradualUnfreezing {
    fn label(&self) -> String {
        let decaying = super::decaying(self.layer_decay);
        format!("gradual-unfreezing{decaying}")
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

    /// Returns one phase with only the head and one per unfrozen layer; an error if the epochs do not suffice to
    /// unfreeze everything.
    fn plan(&self, defaults: &Defaults, n_layers: usize) -> Result<Plan> {
        let openings = n_layers + usize::from(self.embeddings == Trainable::Yes);
        let before = openings * self.epochs_per_layer;
        ensure!(
            defaults.epochs > before,
            "epochs: found {}, expected at least {}: {before} before the last of {openings} openings, and one in which \
             everything moves",
            defaults.epochs,
            before + 1
        );
        let phase = |opened: usize| {
            let trained = TrainedLayers {
                lr: self.lr,
                head_lr: self.head_lr,
                layer_decay: self.layer_decay,
                pooler: self.pooler,
                layers: n_layers - opened.min(n_layers)..n_layers,
                embeddings: if opened > n_layers {
                    Trainable::Yes
                } else {
                    Trainable::No
                },
            };
            let mut phase = trained.phase(defaults);
            phase.optimizer_state = OptimizerState::Carried;
            if opened < openings {
                phase.epochs = self.epochs_per_layer;
                phase.stop = StopRule::Epochs {};
            } else {
                phase.epochs = defaults.epochs - before;
            }
            phase
        };
        Ok(Plan::new((0..=openings).map(phase).collect()))
    }

    fn validate(&self) -> Result<()> {
        ensure!(
            self.epochs_per_layer >= 1,
            "adaptation.epochs-per-layer: found 0, expected at least 1"
        );
        super::check_decay("adaptation.layer-decay", self.layer_decay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assignments, training};

    fn plan(settings: &GradualUnfreezing, epochs: usize, n_layers: usize) -> Result<Plan> {
        let mut training = training(Adaptation::GradualUnfreezing(settings.clone()));
        training.epochs = epochs;
        training.plan(n_layers)
    }

    /// Epochs, lowest unfrozen block, and patterns with their rates.
    type Row<'a> = (usize, usize, Vec<(&'a str, f64)>);

    /// Epochs, the frozen line, and the patterns with their rates, of each phase.
    fn table(plan: &Plan) -> Vec<Row<'_>> {
        let assigned = assignments(plan, 2);
        plan.phases
            .iter()
            .zip(assigned)
            .map(|(phase, assigned)| {
                let groups = phase.groups.iter();
                let groups = groups.map(|g| (g.pattern.as_str(), g.lr)).collect();
                (phase.epochs, assigned.frozen_below, groups)
            })
            .collect()
    }

    #[test]
    fn one_more_layer_joins_in_each_phase_at_a_lower_rate() {
        let plan = plan(&GradualUnfreezing::new(0.5, 0.5), 7, 2).expect("enough epochs");
        let (head, pooler) = ((r"^head\.", 0.5), (r"^encoder\.pooler\.", 0.5));
        let (top, low) = (
            (r"^encoder\.layers\.1\.", 0.5),
            (r"^encoder\.layers\.0\.", 0.25),
        );
        let embeddings = (r"^encoder\.embeddings\.", 0.125);
        assert_eq!(
            table(&plan),
            [
                (1, 3, vec![head, pooler]),
                (1, 2, vec![head, pooler, top]),
                (1, 1, vec![head, pooler, top, low]),
                (4, 0, vec![head, pooler, top, low, embeddings]),
            ]
        );
        assert!(
            plan.phases
                .iter()
                .all(|p| p.optimizer_state == OptimizerState::Carried)
        );
    }

    #[test]
    fn a_rate_of_the_head_holds_in_every_phase() {
        let settings = GradualUnfreezing {
            head_lr: Some(2.0),
            ..GradualUnfreezing::new(0.5, 0.5)
        };
        let plan = plan(&settings, 7, 2).expect("enough epochs");
        let rates: Vec<Vec<f64>> = table(&plan)
            .iter()
            .map(|(_, _, groups)| groups.iter().map(|(_, lr)| *lr).collect())
            .collect();
        assert_eq!(
            rates,
            [
                vec![2.0, 0.5],
                vec![2.0, 0.5, 0.5],
                vec![2.0, 0.5, 0.5, 0.25],
                vec![2.0, 0.5, 0.5, 0.25, 0.125],
            ]
        );
    }

    #[test]
    fn fixed_embeddings_end_the_unfreezing_one_phase_sooner() {
        let mut settings = GradualUnfreezing::new(0.5, 0.5);
        settings.embeddings = Trainable::No;
        settings.epochs_per_layer = 2;
        let plan = plan(&settings, 5, 2).expect("enough epochs");
        let epochs: Vec<_> = table(&plan).iter().map(|row| (row.0, row.1)).collect();
        assert_eq!(epochs, [(2, 3), (2, 2), (1, 1)]);
    }

    #[test]
    fn a_stopping_rule_waits_until_everything_moves() {
        let mut training = training(Adaptation::GradualUnfreezing(GradualUnfreezing::new(
            0.5, 0.5,
        )));
        training.epochs = 9;
        training.stop = StopRule::EarlyStopping {
            patience: 1,
            threshold: 0.0,
            metric: None,
        };
        let phases = training.plan(2).expect("enough epochs").phases;
        let (last, before) = phases.split_last().expect("phases");
        assert_eq!(last.stop, training.stop);
        assert!(before.iter().all(|phase| phase.stop == StopRule::Epochs {}));
    }

    #[test]
    fn too_few_epochs_to_open_everything_are_refused() {
        let message = |settings: &GradualUnfreezing, epochs| {
            let error = plan(settings, epochs, 2).expect_err("refused");
            error.to_string()
        };
        assert_eq!(
            message(&GradualUnfreezing::new(0.5, 0.5), 3),
            "epochs: found 3, expected at least 4: 3 before the last of 3 openings, and one in which everything moves"
        );
        assert_eq!(
            message(&GradualUnfreezing::new(0.5, 0.0), 4),
            "adaptation.layer-decay: found 0, expected more than 0 and at most 1"
        );
        let mut settings = GradualUnfreezing::new(0.5, 0.5);
        settings.epochs_per_layer = 0;
        assert_eq!(
            message(&settings, 4),
            "adaptation.epochs-per-layer: found 0, expected at least 1"
        );
    }
}
