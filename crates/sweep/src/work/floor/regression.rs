//! Logistic and ridge regressions on whatever features.

use anyhow::{Result, ensure};
use totune_stats::{Chosen, Design, FittedClasses, Linear, Solver, logistic_cv, ridge_cv};

use super::{Choice, Predicted};
use crate::spec::Regression;
use crate::work::answers::Answers;

/// A fitted regression: of labels a logistic one, of scores a ridge regression.
pub(super) enum Model {
    Classes(Chosen<FittedClasses>),
    Scores(Chosen<Linear>),
}

impl Model {
    /// Fits to the features `x` of the training part, whose labels are `n_labels`.
    ///
    /// # Errors
    /// When only one label occurs, there are fewer examples than folds, or the answers are tags.
    pub fn fit<D: Design>(
        x: &D,
        (answers, n_labels): (&Answers, usize),
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
            Answers::Classes(classes) => {
                let logistic = settings.logistic(solver);
                let y = (&classes[..], n_labels);
                Self::Classes(logistic_cv(x, y, &logistic, &settings.c, settings.folds))
            }
            Answers::Scores(scores) => {
                Self::Scores(ridge_cv(x, scores, &settings.alpha, settings.folds))
            }
            Answers::Tags(_) => anyhow::bail!(
                "found tags, expected a label or a score for each example: a regression has one vector of each"
            ),
        })
    }

    /// What it says of the rows of `x`.
    pub fn predict<D: Design>(&self, x: &D) -> Predicted {
        match self {
            Self::Classes(chosen) => Predicted::Classes {
                classes: x.classes(&chosen.model),
                probabilities: x.probabilities(&chosen.model),
            },
            Self::Scores(chosen) => Predicted::Scores(x.values(&chosen.model)),
        }
    }

    /// Numbers fitted.
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

    /// Steps of the last fit, and why it ended.
    pub fn end(&self) -> (u64, &'static str) {
        match self {
            Self::Classes(chosen) if chosen.model.converged => {
                (chosen.model.iterations as u64, "converged")
            }
            Self::Classes(chosen) => (chosen.model.iterations as u64, "max-iter"),
            Self::Scores(_) => (0, "computed"),
        }
    }

    /// The penalty.
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
