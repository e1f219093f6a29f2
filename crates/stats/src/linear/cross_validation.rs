//! Penalties chosen by cross-validation, as scikit-learn's `LogisticRegressionCV` and `GridSearchCV(Ridge())` do.

use rayon::prelude::*;

use super::dense::FittedClasses;
use super::least_squares::Linear;
use super::logistic::{Logistic, Solver};
use super::ridge::{ridge_path, ridge_path_sparse};
use crate::folds::stratified_folds;
use crate::matrix::{Matrix, Real};
use crate::metrics::accuracy;
use crate::sparse::Csr;

/// Features of examples, a row for each, to which linear models are fitted.
pub trait Design: Sized + Sync {
    /// Number of examples.
    fn n_rows(&self) -> usize;
    /// Features of some examples, in the order of `rows`.
    fn select(&self, rows: &[usize]) -> Self;
    /// Logistic regressions of the classes `y`, one for each C of `cs`.
    fn logistic(
        &self,
        settings: &Logistic,
        y: &[usize],
        n_classes: usize,
        cs: &[f64],
    ) -> Vec<FittedClasses>;
    /// Ridge regressions of the values `y`, one for each α of `alphas`.
    fn ridge(&self, y: &[f64], alphas: &[f64]) -> Vec<Linear>;
    /// The probability of each class for each row: `[rows, classes]`.
    fn probabilities(&self, model: &FittedClasses) -> Vec<f64>;
    /// The likeliest class of each row.
    fn classes(&self, model: &FittedClasses) -> Vec<usize>;
    /// The value of each row.
    fn values(&self, model: &Linear) -> Vec<f64>;
}

impl Design for Csr {
    fn n_rows(&self) -> usize {
        Csr::n_rows(self)
    }

    fn select(&self, rows: &[usize]) -> Self {
        Csr::select(self, rows)
    }

    fn logistic(
        &self,
        settings: &Logistic,
        y: &[usize],
        n_classes: usize,
        cs: &[f64],
    ) -> Vec<FittedClasses> {
        let settings = Logistic {
            solver: Solver::Lbfgs,
            ..*settings
        };
        let fit = |&c: &f64| Logistic { c, ..settings }.fit_classes(self, y, n_classes);
        cs.iter().map(fit).collect()
    }

    fn ridge(&self, y: &[f64], alphas: &[f64]) -> Vec<Linear> {
        ridge_path_sparse(self, y, alphas)
    }

    fn probabilities(&self, model: &FittedClasses) -> Vec<f64> {
        model.probabilities_sparse(self)
    }

    fn classes(&self, model: &FittedClasses) -> Vec<usize> {
        model.predict_sparse(self)
    }

    fn values(&self, model: &Linear) -> Vec<f64> {
        self.products(&model.coef, model.intercept)
    }
}

impl<T: Real> Design for Matrix<T> {
    fn n_rows(&self) -> usize {
        self.view().n_rows()
    }

    fn select(&self, rows: &[usize]) -> Self {
        Matrix::select(self, rows)
    }

    fn logistic(
        &self,
        settings: &Logistic,
        y: &[usize],
        n_classes: usize,
        cs: &[f64],
    ) -> Vec<FittedClasses> {
        settings.path_dense(&self.view(), y, n_classes, cs)
    }

    fn ridge(&self, y: &[f64], alphas: &[f64]) -> Vec<Linear> {
        ridge_path(&self.view(), y, alphas)
    }

    fn probabilities(&self, model: &FittedClasses) -> Vec<f64> {
        model.probabilities(&self.view())
    }

    fn classes(&self, model: &FittedClasses) -> Vec<usize> {
        model.predict(&self.view())
    }

    fn values(&self, model: &Linear) -> Vec<f64> {
        model.predict(&self.view())
    }
}

/// A model whose penalty was chosen by cross-validation.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen<M> {
    /// Fitted to all examples with the chosen penalty.
    pub model: M,
    /// The C or α chosen: the first with the best mean score.
    pub penalty: f64,
    /// The mean score over the folds of each penalty that there was to choose from; none where there was one only.
    pub scores: Vec<f64>,
}

/// A logistic regression whose C is the one of `cs` with the best mean accuracy over `n_folds` stratified folds:
/// scikit-learn's `LogisticRegressionCV`, except that every fit starts from zero. With a single C there is nothing to
/// choose, and no folds.
///
/// A fold without which only one class is left says nothing and is skipped.
///
/// # Panics
/// As [`Logistic::fit_dense`]; if there is no C, or with several of them fewer examples than folds, or fewer than two
/// folds.
pub fn logistic_cv<D: Design>(
    x: &D,
    (y, n_classes): (&[usize], usize),
    settings: &Logistic,
    cs: &[f64],
    n_folds: usize,
) -> Chosen<FittedClasses> {
    let of_fold = |[train, test]: &[Vec<usize>; 2]| {
        let y_train = picked(y, train);
        if y_train.iter().all(|class| *class == y_train[0]) {
            return None;
        }
        let models = x.select(train).logistic(settings, &y_train, n_classes, cs);
        let (x, y) = (x.select(test), picked(y, test));
        let scores = models.iter().map(|model| accuracy(&y, &x.classes(model)));
        Some(scores.collect())
    };
    let folds = || {
        check_folds(y.len(), n_folds);
        stratified_folds(y, n_folds, None)
    };
    let (best, scores) = choose(cs, folds, of_fold);
    let penalty = cs[best];
    let model = x.logistic(settings, y, n_classes, &[penalty]).remove(0);
    Chosen {
        model,
        penalty,
        scores,
    }
}

/// A ridge regression whose α is the one of `alphas` with the best mean R² over `n_folds` folds of consecutive
/// examples: scikit-learn's `GridSearchCV(Ridge(), {"alpha": alphas}, cv=n_folds)`. With a single α there is nothing to
/// choose, and no folds.
///
/// # Panics
/// As [`ridge_path`]; if there is no α, or with several of them fewer examples than folds, or fewer than two folds.
pub fn ridge_cv<D: Design>(x: &D, y: &[f64], alphas: &[f64], n_folds: usize) -> Chosen<Linear> {
    let of_fold = |[train, test]: &[Vec<usize>; 2]| {
        let models = x.select(train).ridge(&picked(y, train), alphas);
        let (x, y) = (x.select(test), picked(y, test));
        let scores = models
            .iter()
            .map(|model| determination(&y, &x.values(model)));
        Some(scores.collect())
    };
    let folds = || folds(y.len(), n_folds);
    let (best, scores) = choose(alphas, folds, of_fold);
    let penalty = alphas[best];
    let model = x.ridge(y, &[penalty]).remove(0);
    Chosen {
        model,
        penalty,
        scores,
    }
}

/// Returns the index of the first penalty with the best mean score over the folds, and these means.
fn choose(
    penalties: &[f64],
    folds: impl Fn() -> Vec<usize>,
    of_fold: impl Fn(&[Vec<usize>; 2]) -> Option<Vec<f64>> + Send + Sync,
) -> (usize, Vec<f64>) {
    assert!(!penalties.is_empty(), "a penalty to choose");
    if penalties.len() == 1 {
        return (0, Vec::new());
    }
    let fold_of = folds();
    let n_folds = fold_of.iter().max().map_or(0, |last| last + 1);
    let parts: Vec<[Vec<usize>; 2]> = (0..n_folds)
        .map(|fold| {
            let rows = 0..fold_of.len();
            let (test, train) = rows.partition(|&row| fold_of[row] == fold);
            [train, test]
        })
        .collect();
    let scores: Vec<Vec<f64>> = parts.par_iter().filter_map(of_fold).collect();
    let mean = |penalty: usize| {
        let scores = scores.iter().map(|fold| fold[penalty]);
        scores.clone().sum::<f64>() / scores.len().max(1) as f64
    };
    let means: Vec<f64> = (0..penalties.len()).map(mean).collect();
    let mut best = 0;
    for (place, score) in means.iter().enumerate() {
        if *score > means[best] {
            best = place;
        }
    }
    (best, means)
}

/// The fold of each of `n` examples: consecutive ones are together, and the first folds have one more where they cannot
/// be equal (scikit-learn's `KFold`).
fn folds(n: usize, n_folds: usize) -> Vec<usize> {
    check_folds(n, n_folds);
    let (each, more) = (n / n_folds, n % n_folds);
    let size = |fold: usize| each + usize::from(fold < more);
    (0..n_folds)
        .flat_map(|fold| std::iter::repeat_n(fold, size(fold)))
        .collect()
}

fn check_folds(n: usize, n_folds: usize) {
    assert!(
        (2..=n).contains(&n_folds),
        "{n_folds} folds of {n} examples; expected from 2 to as many as there are"
    );
}

fn picked<T: Copy>(of: &[T], rows: &[usize]) -> Vec<T> {
    rows.iter().map(|&row| of[row]).collect()
}

/// R² as scikit-learn's `r2_score`: 1 - Σ (y - ŷ)² / Σ (y - ȳ)², and where all values are the same 1 if they are met,
/// else 0.
fn determination(y: &[f64], predicted: &[f64]) -> f64 {
    let mean = y.iter().sum::<f64>() / y.len() as f64;
    let left: f64 = y.iter().zip(predicted).map(|(y, p)| (y - p).powi(2)).sum();
    let total: f64 = y.iter().map(|y| (y - mean).powi(2)).sum();
    match (left == 0.0, total == 0.0) {
        (true, _) => 1.0,
        (false, true) => 0.0,
        (false, false) => 1.0 - left / total,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_are_as_equal_as_they_can_be() {
        assert_eq!(folds(7, 3), [0, 0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn one_penalty_needs_no_folds() {
        let x = Matrix::new(vec![1.0, 2.0, 3.0], 1);
        let chosen = ridge_cv(&x, &[1.0, 2.0, 3.0], &[0.5], 5);
        assert_eq!((chosen.penalty, chosen.scores.len()), (0.5, 0));
        assert_eq!(chosen.model, x.ridge(&[1.0, 2.0, 3.0], &[0.5])[0]);
    }

    #[test]
    fn a_fold_that_leaves_one_class_is_passed_over() {
        let x = Matrix::new(vec![0.0, 1.0, 2.0, 9.0], 1);
        let settings = Logistic::default();
        let chosen = logistic_cv(&x, (&[0, 0, 0, 1], 2), &settings, &[0.1, 1.0], 2);
        assert_eq!(chosen.scores.len(), 2);
    }

    #[test]
    #[should_panic(expected = "5 folds of 3 examples")]
    fn more_folds_than_examples_are_refused() {
        let x = Matrix::new(vec![1.0, 2.0, 3.0], 1);
        ridge_cv(&x, &[1.0, 2.0, 3.0], &[0.5, 1.0], 5);
    }
}
