//! Settings of a regression on frozen features.

use anyhow::{Result, bail, ensure};
use serde::{Deserialize, Serialize};
use totune_stats::{Logistic, Solver};

/// A logistic regression of labels or a ridge regression of scores, whose penalty is chosen by cross-validation on the
/// training part: for logistic regression the C with the best accuracy over stratified folds (scikit-learn's
/// `LogisticRegressionCV`), for ridge regression the α with the best R² (`GridSearchCV` over `Ridge`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Regression {
    /// Inverse strengths of the penalty of a logistic regression; a single one is used without cross-validation.
    pub c: Vec<f64>,
    /// Strengths of the penalty of a ridge regression, likewise.
    pub alpha: Vec<f64>,
    /// Folds of the cross-validation.
    pub folds: usize,
    /// Maximum number of optimiser steps of the logistic regression.
    pub max_iter: usize,
    /// Tolerance: the largest entry of the gradient at which the optimiser stops.
    pub tol: f64,
}

impl Regression {
    /// Logistic regression with these settings, to be fitted for one C after the other.
    pub fn logistic(&self, solver: Solver) -> Logistic {
        Logistic {
            max_iter: self.max_iter,
            tol: self.tol,
            solver,
            ..Logistic::default()
        }
    }

    /// Refuses values out of range, naming the key below `key`.
    ///
    /// # Errors
    /// When one is.
    pub fn validate(&self, key: &str) -> Result<()> {
        for (name, penalties) in [("c", &self.c), ("alpha", &self.alpha)] {
            ensure!(
                !penalties.is_empty(),
                "{key}.{name}: the list is empty; expected at least one"
            );
            let wrong = penalties.iter().find(|p| !(p.is_finite() && **p > 0.0));
            if let Some(wrong) = wrong {
                bail!("{key}.{name}: found {wrong}, expected more than 0");
            }
        }
        ensure!(
            self.folds >= 2,
            "{key}.folds: found {}, expected at least 2",
            self.folds
        );
        ensure!(
            self.max_iter >= 1,
            "{key}.max-iter: found 0, expected at least 1"
        );
        ensure!(
            self.tol.is_finite() && self.tol > 0.0,
            "{key}.tol: found {}, expected more than 0",
            self.tol
        );
        Ok(())
    }
}
