//! Full fine-tuning.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use totune_model::Architecture;

use super::{Adaptation, Planner, Trainable, TrainedLayers};
use crate::phase::{Defaults, Plan};
use crate::setup::ModuleEdit;

/// Trains the head and all layers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Full {
    /// Peak learning rate.
    pub lr: f64,
    /// Peak learning rate of the head; `lr` by default.
    #[serde(default)]
    pub head_lr: Option<f64>,
    /// The tanh layer over `[CLS]`.
    pub pooler: Trainable,
    /// Word, position and type vectors and their layer norm.
    pub embeddings: Trainable,
    /// Factor of the learning rate from each layer to the next lower one, down to the embeddings; the pooler and the
    /// top layer have `lr`.
    #[serde(default = "super::no_layer_decay")]
    pub layer_decay: f64,
    /// Number of top layers whose weights are drawn anew before training, together with the pooler (Zhang et al. 2021,
    /// section 5).
    #[serde(default)]
    pub reinitialised_layers: usize,
}

impl Full {
    /// Creates the settings of the papers: every parameter is trained.
    pub fn new(lr: f64) -> Self {
        Self {
            lr,
            head_lr: None,
            pooler: Trainable::Yes,
            embeddings: Trainable::Yes,
            layer_decay: 1.0,
            reinitialised_layers: 0,
        }
    }
}

impl Planner for Full {
    fn label(&self) -> String {
        let label = format!("full{}", super::decaying(self.layer_decay));
        match self.reinitialised_layers {
            0 => label,
            n => format!("{label}, top {n} reinitialised"),
        }
    }

    fn lr(&self) -> f64 {
        self.lr
    }

    fn head_lr(&self) -> Option<f64> {
        self.head_lr
    }

    fn in_one_phase(&self) -> Adaptation {
        Adaptation::Full(self.clone())
    }

    fn missing_in(&self, architecture: &Architecture) -> Option<&'static str> {
        let chooses = self.reinitialised_layers > 0;
        chooses.then(|| super::lacks_layers(architecture)).flatten()
    }

    fn plan(&self, defaults: &Defaults, n_layers: usize) -> Result<Plan> {
        let reinitialised = self.reinitialised_layers;
        ensure!(
            reinitialised <= n_layers,
            "adaptation.reinitialised-layers: found {reinitialised}, expected at most {n_layers}, the number of layers of the encoder"
        );
        ensure!(
            reinitialised == 0 || self.pooler == Trainable::Yes || !defaults.reads_pooler,
            "adaptation.pooler: found \"frozen\" with reinitialised-layers = {reinitialised} and a head that reads the pooler, expected \
             \"trainable\": its weights are new"
        );
        let edit = ModuleEdit::Reinitialise {
            layers: n_layers - reinitialised..n_layers,
        };
        let trained = TrainedLayers {
            lr: self.lr,
            head_lr: self.head_lr,
            layer_decay: self.layer_decay,
            pooler: self.pooler,
            layers: 0..n_layers,
            embeddings: self.embeddings,
        };
        Ok(Plan {
            setup: (reinitialised > 0).then_some(edit).into_iter().collect(),
            ..Plan::new(vec![trained.phase(defaults)])
        })
    }

    fn validate(&self) -> Result<()> {
        super::check_decay("adaptation.layer-decay", self.layer_decay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{architecture, check_plan, training};

    #[test]
    fn everything_moves() {
        check_plan(
            Adaptation::Full(Full::new(2e-5)),
            2,
            0,
            &[
                r"^head\.",
                r"^encoder\.pooler\.",
                r"^encoder\.layers\.1\.",
                r"^encoder\.layers\.0\.",
                r"^encoder\.embeddings\.",
            ],
        );
    }

    #[test]
    fn a_new_pooler_that_the_head_reads_has_to_be_trained() {
        let mut settings = Full::new(1e-3);
        (settings.reinitialised_layers, settings.pooler) = (1, Trainable::No);
        let mut training = training(Adaptation::Full(settings));
        crate::test_support::linear(&mut training).pooling = totune_model::Pooling::Pooler;
        let error = training.plan(3).expect_err("a new pooler").to_string();
        assert!(
            error.starts_with("adaptation.pooler: found \"frozen\""),
            "{error}"
        );
        crate::test_support::linear(&mut training).pooling = totune_model::Pooling::Mean;
        training.plan(3).expect("nothing reads it");
    }

    #[test]
    fn lower_layers_move_more_slowly_when_asked() {
        let mut settings = Full::new(0.5);
        settings.layer_decay = 0.5;
        let training = training(Adaptation::Full(settings));
        let plan = training.plan(3).expect("valid settings");
        let rates: Vec<f64> = plan.phases[0].groups.iter().map(|g| g.lr).collect();
        // Head, pooler, layers 2, 1, 0, embeddings.
        assert_eq!(rates, [0.5, 0.5, 0.5, 0.25, 0.125, 0.0625]);
    }

    #[test]
    fn layers_are_reinitialised_from_the_top_and_no_more_than_there_are() {
        let mut settings = Full::new(2e-5);
        settings.reinitialised_layers = 2;
        assert_eq!(settings.label(), "full, top 2 reinitialised");
        let plan = |n_layers| training(Adaptation::Full(settings.clone())).plan(n_layers);
        let edit = ModuleEdit::Reinitialise { layers: 1..3 };
        assert_eq!(plan(3).expect("valid settings").setup, [edit]);
        assert_eq!(
            plan(1).expect_err("one layer").to_string(),
            "adaptation.reinitialised-layers: found 2, expected at most 1, the number of layers of the encoder"
        );
    }

    #[test]
    fn layers_that_share_their_weights_are_not_reinitialised() {
        let mut settings = Full::new(2e-5);
        let mut check = |n: usize, encoder: &str| {
            settings.reinitialised_layers = n;
            let settings = Adaptation::Full(settings.clone());
            let checked = settings.check_architecture(&architecture(encoder));
            checked.map_err(|error| error.to_string())
        };
        assert_eq!(
            check(1, "albert-tiny").expect_err("refused"),
            "found `full, top 1 reinitialised`, expected another strategy: `albert` has no layers with parameters of \
             their own"
        );
        assert_eq!(check(0, "albert-tiny"), Ok(()));
        assert_eq!(check(1, "fixture-bert"), Ok(()));
    }

    #[test]
    fn fixed_embeddings_leave_the_layers_moving() {
        let mut settings = Full::new(2e-5);
        settings.embeddings = Trainable::No;
        settings.pooler = Trainable::No;
        check_plan(
            Adaptation::Full(settings),
            2,
            1,
            &[
                r"^head\.",
                r"^encoder\.layers\.1\.",
                r"^encoder\.layers\.0\.",
            ],
        );
    }
}
