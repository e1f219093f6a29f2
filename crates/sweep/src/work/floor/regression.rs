//! Logistic and ridge regressions on arbitrary features.

use anyhow::{Result, ensure};
use totune_adapt::Regression;
use totune_stats::{Chosen, Design, FittedClasses, Linear, Solver, logistic_cv, ridge_cv};

use super::{Choice, Predicted};
use crate::work::gold::GoldTargets;

/// A fitted regression: a logistic one for labels, a ridge regression for scores.
pub(super) enum Model {
    Classes(Chosen<FittedClasses>),
    Scores(Chosen<Linear>),
}

impl Model {
    /// Fits to the features `x` of the training part, with `n_labels` labels.
    ///
    /// # Errors
    /// When only one label occurs, there are fewer examples than folds, or the targets are tags.
    pub fn fit<D: Design>(
        x: &D,
        (answers, n_labels): (&GoldTargets, usize),
        settings: &Regression,
        solver: Solver,
    ) -> Result<Self> {
        answers.check_different()?;
        ensure!(
            settings.folds <= answers.len(),
            "floor.regression.folds: found {}, expected at most {}, the number of training examples",
            settings.folds,
            answers.len()
        );
        Ok(match answers {
            GoldTargets::Classes(classes) => {
                let logistic = settings.logistic(solver);
                let y = (&classes[..], n_labels);
                Self::Classes(logistic_cv(x, y, &logistic, &settings.c, settings.folds))
            }
            GoldTargets::Scores(scores) => {
                Self::Scores(ridge_cv(x, scores, &settings.alpha, settings.folds))
            }
            GoldTargets::Tags(_) => anyhow::bail!(
                "found tags, expected a label or a score for each example: a regression has one vector of each"
            ),
        })
    }

    /// Predictions for the rows of `x`.
    pub fn predict<D: Design>(&self, x: &D) -> Predicted {
        match self {
            Self::Classes(chosen) => Predicted::Classes {
                classes: x.classes(&chosen.model),
                probabilities: x.probabilities(&chosen.model),
            },
            Self::Scores(chosen) => Predicted::Scores(x.values(&chosen.model)),
        }
    }

    /// Number of fitted parameters.
    pub fn n_parameters(&self) -> u64 {
        let n = match self {
            Self::Classes(chosen) => {
                let outputs = chosen.model.outputs();
                outputs.map(|(coef, _)| coef.len() + 1).sum()
            }
            Self::Scores(chosen) => chosen.model.coef.len() + 1,
        };
        n as u64
    }

    /// Steps of the last fit, and its stop reason.
    pub fn end(&self) -> (u64, &'static str) {
        match self {
            Self::Classes(chosen) if chosen.model.converged => {
                (chosen.model.iterations as u64, "converged")
            }
            Self::Classes(chosen) => (chosen.model.iterations as u64, "max-iter"),
            Self::Scores(_) => (0, "computed"),
        }
    }

    /// The chosen penalty.
    pub fn chosen(&self) -> Option<Choice> {
        let (name, value) = match self {
            Self::Classes(chosen) => ("chosen-c", chosen.penalty),
            Self::Scores(chosen) => ("chosen-alpha", chosen.penalty),
        };
        Some(Choice {
            on: "train",
            name,
            value,
        })
    }
}
