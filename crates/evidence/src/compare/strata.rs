//! Differences on tasks as one comparison over the tasks, or over folds.

use totune_stats::{Estimate, Pairing, mean, permutation_test};

use crate::compare::Comparison;
use crate::text::count;

/// Exchanges looked at; up to 14 pairs that is all of them.
const ROUNDS: u64 = 1 << 14;
/// Tasks that it takes to speak of tasks in general: with fewer, a task more or less changes everything.
pub(crate) const LEAST_TASKS: usize = 5;

const NO_VARIATION: &str = "neither side varies, so the difference cannot be tested";

/// A task's weight in the comparison with the numbers of both sides, seed by seed.
pub(crate) type Weighted<'n> = (f64, &'n [f64], &'n [f64]);

/// Compares two sides on named tasks by the sum of the tasks' weighted differences, or says why that cannot be done.
///
/// The tasks are what the claim is about and not drawn from others, so what varies is the seed on either side of each:
/// Welch's test, with the degrees of freedom of all variances together. Equal seeds are common to both sides, yet
/// pairing by them would halve the degrees of freedom for a correlation that is near 0 between different strategies.
pub fn unpaired(tasks: &[Weighted]) -> Result<Comparison, String> {
    two(tasks.iter().map(|(_, a, _)| a.len()))?;
    let samples: Vec<(f64, &[f64])> = tasks
        .iter()
        .flat_map(|&(weight, a, b)| [(weight, a), (-weight, b)])
        .collect();
    let estimate = Estimate::of_samples(&samples).ok_or(NO_VARIATION)?;
    let name = match tasks.len() {
        1 => "Welch's t-test".to_owned(),
        k => format!("Welch's t-test within {k} tasks"),
    };
    let n = mean_size(tasks.iter().map(|(_, a, _)| a.len()));
    let parts = tasks.iter().map(|(_, a, b)| mean(a) - mean(b)).collect();
    let mut comparison = Comparison::of(estimate, &name, n, parts);
    let varies = |values: &[f64]| values.iter().any(|value| *value != values[0]);
    comparison.permutation = match tasks {
        [(_, a, b)] if varies(a) && varies(b) => {
            let test = permutation_test(a, b, Pairing::Unpaired, ROUNDS, 0);
            test.map(|test| (test.p, words("permutation test", "labellings", test)))
        }
        _ => {
            let k = tasks.len() as f64;
            let scaled = tasks.iter().map(|(weight, a, b)| {
                let each = a.iter().zip(*b);
                each.map(|(a, b)| (a - b) * weight * k)
                    .collect::<Vec<f64>>()
            });
            signs(&scaled.collect::<Vec<_>>())
        }
    };
    Ok(comparison)
}

/// Compares two runs that differ in one thing only and share all else, seed by seed: by the differences of pairs.
pub fn paired(tasks: &[Vec<f64>]) -> Result<Comparison, String> {
    let mut comparison = linear(tasks)?;
    comparison.permutation = signs(tasks);
    Ok(comparison)
}

/// The same for numbers whose signs cannot be exchanged, such as residuals of a ratio around its estimate.
pub(crate) fn linear(tasks: &[Vec<f64>]) -> Result<Comparison, String> {
    two(tasks.iter().map(Vec::len))?;
    let weight = 1.0 / tasks.len() as f64;
    let samples: Vec<(f64, &[f64])> = tasks.iter().map(|values| (weight, &values[..])).collect();
    let estimate = Estimate::of_samples(&samples).ok_or(NO_VARIATION)?;
    let name = match tasks.len() {
        1 => "paired t-test".to_owned(),
        k => format!("paired t-test within {k} tasks"),
    };
    let parts = tasks.iter().map(|values| mean(values)).collect();
    let n = mean_size(tasks.iter().map(Vec::len));
    Ok(Comparison::of(estimate, &name, n, parts))
}

/// Compares two sides on tasks that stand for tasks in general, by one difference for each.
pub(crate) fn in_general(differences: Vec<f64>) -> Result<Comparison, String> {
    let k = differences.len();
    if k < LEAST_TASKS {
        return Err(format!(
            "{k} tasks are too few for a statement about tasks in general, which needs at least {LEAST_TASKS}"
        ));
    }
    let estimate = Estimate::of_mean(&differences).ok_or(NO_VARIATION)?;
    let permutation = signs(std::slice::from_ref(&differences));
    Ok(Comparison {
        permutation,
        ..Comparison::of(
            estimate,
            "t-test over means of tasks",
            k as f64,
            differences,
        )
    })
}

/// Compares two sides on the folds of one cross-validation.
pub(crate) fn folds(a: &[f64], b: &[f64]) -> Result<Comparison, String> {
    two([a.len()].into_iter())?;
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    // Each fold is tested on 1/n of the examples and trained on the rest.
    let share = 1.0 / (differences.len() - 1) as f64;
    let estimate = Estimate::of_folds(&differences, share).ok_or(NO_VARIATION)?;
    let name = "corrected resampled t-test (Nadeau and Bengio)";
    let n = differences.len() as f64;
    Ok(Comparison::of(estimate, name, n, vec![estimate.value]))
}

/// The sign-flip test of the mean over tasks of each task's mean.
fn signs(tasks: &[Vec<f64>]) -> Option<(f64, String)> {
    let n: usize = tasks.iter().map(Vec::len).sum();
    // Scaled so that their plain mean is the mean of the tasks' means.
    let scaled: Vec<f64> = tasks
        .iter()
        .flat_map(|values| {
            let weight = n as f64 / (values.len() * tasks.len()) as f64;
            values.iter().map(move |value| value * weight)
        })
        .collect();
    let zeros = vec![0.0; scaled.len()];
    let test = permutation_test(&scaled, &zeros, Pairing::Paired, ROUNDS, 0)?;
    Some((test.p, words("sign-flip permutation test", "signs", test)))
}

fn words(name: &str, what: &str, test: totune_stats::Permutation) -> String {
    let which = if test.exact { "all" } else { "random" };
    format!("{name} over {which} {} {what}", count(test.rounds))
}

/// Every task needs two values a side for a variance.
fn two(sizes: impl Iterator<Item = usize>) -> Result<(), String> {
    match sizes.min() {
        None => Err("no seed has both sides".to_owned()),
        Some(0) => Err("one side has no run".to_owned()),
        Some(1) => Err("only 1 seed has both sides, so the difference cannot be tested".to_owned()),
        Some(_) => Ok(()),
    }
}

fn mean_size(sizes: impl Iterator<Item = usize>) -> f64 {
    mean(&sizes.map(|size| size as f64).collect::<Vec<f64>>())
}

/// `a / b` of two lists of paired numbers, and for each pair that ratio moved by what the pair adds to it.
///
/// The ratio is that of the means, and a ratio of means is not the mean of ratios: one odd pair with a small
/// denominator would rule the latter. Its spread is that of its linear part, r + (aᵢ - r bᵢ) / b̄ (the delta
/// method; Cochran 1977, section 6.2), so the mean of the list is the ratio itself.
pub(crate) fn ratio(a: &[f64], b: &[f64]) -> Vec<f64> {
    let below = mean(b);
    let ratio = mean(a) / below;
    a.iter()
        .zip(b)
        .map(|(a, b)| ratio + (a - ratio * b) / below)
        .collect()
}

/// Cohen's d of differences within tasks: the mean of the tasks' differences over the standard deviation between
/// runs, pooled over both sides of all tasks. `None` where nothing varies.
pub(crate) fn effect(sides: &[(Vec<f64>, Vec<f64>)]) -> Option<f64> {
    let (mut squares, mut freedom) = (0.0, 0.0);
    for values in sides.iter().flat_map(|(a, b)| [a, b]) {
        let centre = mean(values);
        squares += values
            .iter()
            .map(|value| (value - centre).powi(2))
            .sum::<f64>();
        freedom += values.len() as f64 - 1.0;
    }
    let spread = (squares / freedom).sqrt();
    let differences: Vec<f64> = sides.iter().map(|(a, b)| mean(a) - mean(b)).collect();
    (spread > 1e-12).then(|| mean(&differences) / spread)
}

#[cfg(test)]
mod tests {
    use super::*;
    use totune_stats::{t_interval, t_two_sided_p};

    #[test]
    fn pairs_of_one_task_get_the_paired_test() {
        // 0.01, 0.02, 0.03: mean 0.02, sd 0.01, t = 0.02 / (0.01 / sqrt 3) = 3.46; no signs but these reach that sum.
        let found = paired(&[vec![0.01, 0.02, 0.03]]).unwrap();
        assert_eq!(found.test, "paired t-test, t = 3.46, df = 2");
        assert!((found.p - t_two_sided_p(12f64.sqrt(), 2.0)).abs() < 1e-12);
        let interval = t_interval(&[0.01, 0.02, 0.03], 0.95).unwrap();
        assert!((found.interval.low - interval.low).abs() < 1e-12);
        assert_eq!(
            found.permutation_text().unwrap(),
            "sign-flip permutation test over all 8 signs, p = 0.250"
        );
    }

    #[test]
    fn a_task_counts_once_whatever_its_seeds() {
        let found = paired(&[vec![0.01, 0.03], vec![0.1, 0.1, 0.1, 0.14]]).unwrap();
        assert!((found.difference - 0.065).abs() < 1e-12);
        assert!(found.test.starts_with("paired t-test within 2 tasks"));
    }

    #[test]
    fn tasks_with_equal_weights_are_the_mean_of_their_differences() {
        let (a, b) = ([0.8, 0.82, 0.84], [0.7, 0.71, 0.75]);
        let (c, d) = ([0.5, 0.51, 0.55], [0.5, 0.52, 0.57]);
        let found = unpaired(&[(0.5, &a, &b), (0.5, &c, &d)]).unwrap();
        assert!((found.difference - (0.1 - 0.01) / 2.0).abs() < 1e-12);
        assert!(
            found
                .test
                .starts_with("Welch's t-test within 2 tasks, t = ")
        );
        let (p, name) = found.permutation.unwrap();
        assert_eq!(name, "sign-flip permutation test over all 64 signs");
        // The first task's signs decide: all of them turned, whatever the second's, are as far from 0 or nearly so.
        assert!((2.0 / 64.0..0.5).contains(&p), "{p}");
    }

    #[test]
    fn a_side_that_does_not_vary_is_taken_as_fixed() {
        // Mean 0.82, sd 0.02, t = 0.03 / (0.02 / sqrt 3) = 2.598.
        let found = unpaired(&[(1.0, &[0.80, 0.82, 0.84], &[0.79; 3])]).unwrap();
        assert_eq!(found.test, "Welch's t-test, t = 2.60, df = 2");
        assert!(found.permutation.unwrap().1.starts_with("sign-flip"));
    }

    #[test]
    fn tasks_in_general_are_known_by_their_own_spread() {
        // The witness of fixtures/make/estimates.py.
        let found = in_general(vec![1.2, 0.4, 2.0, -0.3, 0.9]).unwrap();
        assert_eq!(found.test, "t-test over means of tasks, t = 2.18, df = 4");
        let few = in_general(vec![1.2, 0.4, 2.0, -0.3]).unwrap_err();
        assert!(few.starts_with("4 tasks are too few for a statement about tasks in general"));
    }

    #[test]
    fn what_cannot_be_compared_says_why() {
        for (tasks, reason) in [
            (vec![], "no seed has both sides"),
            (vec![vec![0.1, 0.2], vec![]], "one side has no run"),
            (vec![vec![0.1]], "only 1 seed has both sides"),
            (vec![vec![0.1, 0.1]], "neither side varies"),
        ] {
            let found = paired(&tasks).unwrap_err();
            assert!(found.starts_with(reason), "{found}");
        }
    }

    #[test]
    fn a_ratio_of_means_keeps_its_mean_and_has_no_spread_where_pairs_agree() {
        let values = ratio(&[1.0, 2.0, 6.0], &[2.0, 4.0, 6.0]);
        assert!((mean(&values) - 0.75).abs() < 1e-12);
        for value in ratio(&[1.0, 2.0], &[2.0, 4.0]) {
            assert!((value - 0.5).abs() < 1e-12);
        }
    }

    #[test]
    fn an_effect_is_in_units_of_the_spread_between_runs() {
        let sides = [
            (vec![2.0, 4.0], vec![1.0, 3.0]),
            (vec![12.0, 14.0], vec![9.0, 11.0]),
        ];
        // Each side has variance 2; differences 1 and 3.
        assert!((effect(&sides).unwrap() - 2.0 / 2f64.sqrt()).abs() < 1e-12);
        assert_eq!(effect(&[(vec![1.0], vec![2.0])]), None);
    }
}
