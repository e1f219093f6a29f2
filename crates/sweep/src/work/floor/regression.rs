//! Logistic and ridge regressions on arbitrary features.

use anyhow::{Result, ensure};
use totune_adapt::Regression;
use totune_stats::{Chosen, Design, FittedClasses, Linear, Solver, logistic_cv, ridge_cv};

use super::{Choice, Predicted};
use crate::work::gold::GoldTargets;

/// A fitted regression: a logistic one for labels, one for each label where examples have several, a ridge regression for
/// scores.
pub(super) enum Model {
    Classes(Chosen<FittedClasses>),
    /// One against the rest, as scikit-learn's `OneVsRestClassifier(LogisticRegressionCV())`.
    Labels(Vec<OneLabel>),
    Scores(Chosen<Linear>),
}

/// The regression of one of several labels.
pub(super) enum OneLabel {
    Fitted(Chosen<FittedClasses>),
    /// The label applies to all training examples or to none.
    Constant(f64),
}

impl OneLabel {
    fn fit<D: Design>(x: &D, applies: &[usize], settings: &Regression, solver: Solver) -> Self {
        if applies.iter().all(|one| *one == applies[0]) {
            return Self::Constant(applies.first().map_or(0.0, |&one| one as f64));
        }
        let logistic = settings.logistic(solver);
        let (cs, folds) = (&settings.c, settings.folds);
        Self::Fitted(logistic_cv(x, (applies, 2), &logistic, cs, folds))
    }

    /// The probability that the label applies to each row of `x`.
    fn probabilities<D: Design>(&self, x: &D) -> Vec<f64> {
        match self {
            Self::Fitted(chosen) => {
                let of_both = x.probabilities(&chosen.model);
                of_both.chunks(2).map(|both| both[1]).collect()
            }
            Self::Constant(value) => vec![*value; x.n_rows()],
        }
    }

    fn fitted(&self) -> Option<&FittedClasses> {
        match self {
            Self::Fitted(chosen) => Some(&chosen.model),
            Self::Constant(_) => None,
        }
    }
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
            GoldTargets::Labels(sets) => {
                let one = |label: usize| {
                    let applies = sets.iter().map(|set| usize::from(set.contains(&label)));
                    OneLabel::fit(x, &applies.collect::<Vec<_>>(), settings, solver)
                };
                Self::Labels((0..n_labels).map(one).collect())
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
            Self::Labels(labels) => {
                let columns: Vec<Vec<f64>> =
                    labels.iter().map(|one| one.probabilities(x)).collect();
                let rows = 0..x.n_rows();
                let rows = rows.flat_map(|row| columns.iter().map(move |column| column[row]));
                Predicted::of_labels(rows.collect(), labels.len())
            }
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
            Self::Labels(labels) => {
                let fitted = labels.iter().filter_map(OneLabel::fitted);
                let outputs = fitted.flat_map(FittedClasses::outputs);
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
            Self::Labels(labels) => {
                let fitted = || labels.iter().filter_map(OneLabel::fitted);
                let steps = fitted().map(|one| one.iterations as u64).sum();
                let converged = fitted().all(|one| one.converged);
                (steps, if converged { "converged" } else { "max-iter" })
            }
            Self::Scores(_) => (0, "computed"),
        }
    }

    /// The chosen penalty; none where each label has one of its own.
    pub fn chosen(&self) -> Option<Choice> {
        let (name, value) = match self {
            Self::Labels(_) => return None,
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
