//! Linear probing, then fine-tuning, with the head at its optimum (LP-FT, Kumar et al. 2022).

use anyhow::Result;
use serde::{Deserialize, Serialize};
use totune_model::Switch;

use super::{Adaptation, Full, Planner, Trainable, TrainedLayers};
use crate::phase::{Defaults, LinearProbe, Plan};
use crate::regression::Regression;

/// Fits the head to the features of the frozen encoder by a regression, then trains everything from there.
///
/// The head is a linear layer on one vector of the top layer, or on two vectors of separate texts and their distance
/// and product. `stack-and-finetune` trains a head of any kind by gradient steps instead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LpFt {
    /// Regression of which the head is the optimum (section 3.1: the best of several penalties).
    pub probe: Regression,
    /// Standardisation of the features of the probe to mean 0 and variance 1; the scale goes into the head's weights.
    #[serde(default = "super::off")]
    pub standardise: Switch,
    /// Peak learning rate of fine-tuning.
    pub lr: f64,
    /// Peak learning rate of the head in fine-tuning; `lr` by default.
    #[serde(default)]
    pub head_lr: Option<f64>,
    /// The tanh layer over `[CLS]`.
    pub pooler: Trainable,
    /// Word, position and type embeddings and their layer norm.
    pub embeddings: Trainable,
    /// Factor of the learning rate from each layer to the next lower one.
    #[serde(default = "super::no_layer_decay")]
    pub layer_decay: f64,
}

impl LpFt {
    /// Creates settings that train everything from the optimum of one of five penalties, decades apart.
    pub fn new(lr: f64) -> Self {
        Self {
            probe: Regression {
                c: vec![0.01, 0.1, 1.0, 10.0, 100.0],
                alpha: vec![0.1, 1.0, 10.0, 100.0, 1000.0],
                folds: 5,
                max_iter: 1000,
                tol: 1e-4,
            },
            standardise: Switch::Off,
            lr,
            head_lr: None,
            pooler: Trainable::Yes,
            embeddings: Trainable::Yes,
            layer_decay: 1.0,
        }
    }
}

impl Planner for LpFt {
    fn label(&self) -> String {
        format!("lp-ft{}", super::decaying(self.layer_decay))
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

    fn plan(&self, defaults: &Defaults, n_layers: usize) -> Result<Plan> {
        let trained = TrainedLayers {
            lr: self.lr,
            head_lr: self.head_lr,
            layer_decay: self.layer_decay,
            pooler: self.pooler,
            layers: 0..n_layers,
            embeddings: self.embeddings,
        };
        Ok(Plan {
            probe: Some(LinearProbe {
                regression: self.probe.clone(),
                standardise: self.standardise.is_on(),
            }),
            ..Plan::new(vec![trained.phase(defaults)])
        })
    }

    fn validate(&self) -> Result<()> {
        self.probe.validate("adaptation.probe")?;
        super::check_decay("adaptation.layer-decay", self.layer_decay)
    }
}

#[cfg(test)]
mod tests {
    use totune_model::{HeadSpec, TaggerSpec};

    use super::*;
    use crate::test_support::training;

    #[test]
    fn everything_is_trained_from_the_optimum_of_the_probe() {
        let plan = training(Adaptation::LpFt(LpFt::new(1e-3))).plan(2);
        let plan = plan.expect("valid settings");
        let probe = plan.probe.as_ref().map(|probe| &probe.regression);
        assert_eq!(probe, Some(&LpFt::new(1e-3).probe));
        let full = training(Adaptation::Full(Full::new(1e-3))).plan(2);
        assert_eq!(plan.phases, full.expect("valid settings").phases);
    }

    #[test]
    fn a_head_without_an_optimum_is_refused_and_values_out_of_range_name_their_key() {
        let mut settings = training(Adaptation::LpFt(LpFt::new(1e-3)));
        settings.head = HeadSpec::Tagger(TaggerSpec::default());
        let error = settings.plan(2).expect_err("refused").to_string();
        assert_eq!(
            error,
            "head: found `tagger`, expected `linear` or `siamese` on the top layer, whose optimum `lp-ft` computes"
        );
        let mut probe = LpFt::new(1e-3);
        probe.probe.c = Vec::new();
        let error = probe.validate().expect_err("refused").to_string();
        assert_eq!(
            error,
            "adaptation.probe.c: the list is empty; expected at least one"
        );
    }
}
