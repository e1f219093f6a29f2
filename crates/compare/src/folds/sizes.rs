//! The sizes of the trainings on the first fold.

use crate::trial::Size;

use super::selection::n_going_on;

/// Bisections of the time that a training may take; the time is found to a millionth of the whole.
const BISECTIONS: usize = 20;

/// The sizes of `n` trainings on the first of `n_folds` folds: each as large as fits into the same time, which is the
/// longest with which all of them end within `left` seconds, and on the other folds those that go on, were they the
/// longest ones. So the time that short trainings leave is for the others. `None` for those that do not fit.
///
/// `fitting` gives the size that training `at` has within some seconds, and the seconds that it will take.
pub(super) fn sizes(
    (n, n_folds): (usize, usize),
    left: f64,
    fitting: impl Fn(usize, f64) -> Option<(Size, f64)>,
) -> Vec<Option<Size>> {
    let seconds = |within: f64| {
        let each = (0..n).filter_map(|at| Some(fitting(at, within)?.1));
        let mut each: Vec<f64> = each.collect();
        each.sort_by(|a, b| b.total_cmp(a));
        let longest: f64 = each.iter().take(n_going_on(n)).sum();
        each.iter().sum::<f64>() + longest * (n_folds - 1) as f64
    };
    let (mut fits, mut too_long) = (0.0, left);
    for _ in 0..BISECTIONS {
        let middle = (fits + too_long) / 2.0;
        if seconds(middle) <= left {
            fits = middle;
        } else {
            too_long = middle;
        }
    }
    let sizes = (0..n).map(|at| fitting(at, fits).map(|(size, _)| size));
    sizes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Epochs of trainings that take these seconds an epoch and have 3 to 12 of them.
    fn epochs(of_epoch: &[f64], n_folds: usize, left: f64) -> Option<Vec<usize>> {
        let fitting = |at: usize, seconds: f64| {
            let epochs = ((seconds / of_epoch[at]) as usize).min(12);
            let size = Size {
                examples: 100,
                epochs,
            };
            (epochs >= 3).then_some((size, epochs as f64 * of_epoch[at]))
        };
        let found = sizes((of_epoch.len(), n_folds), left, fitting).into_iter();
        found.map(|size| Some(size?.epochs)).collect()
    }

    #[test]
    fn equal_trainings_share_the_time_equally() {
        // Six on the first fold and four on four more: 22 trainings of four epochs.
        assert_eq!(epochs(&[1.0; 6], 5, 89.0), Some(vec![4; 6]));
        assert_eq!(
            epochs(&[1.0; 6], 5, 65.0),
            None,
            "22 trainings of three epochs"
        );
    }

    #[test]
    fn the_time_that_short_trainings_leave_is_for_the_others() {
        // The short ones have all of their epochs; the long ones go on, with two of the short ones.
        let found = epochs(&[0.01, 0.01, 0.01, 0.01, 1.0, 1.0], 5, 89.0);
        assert_eq!(found, Some(vec![12, 12, 12, 12, 8, 8]));
    }
}
