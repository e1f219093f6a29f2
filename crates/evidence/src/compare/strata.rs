//! Differences on tasks as one comparison over the tasks, or over folds.

use totune_stats::{Estimate, Pairing, mean, permutation_test};

use crate::compare::Comparison;
use crate::text::count;

/// Sign flips that are tried; with up to 14 pairs, all of them.
const ROUNDS: u64 = 1 << 14;
/// Tasks that it takes to speak of tasks in general: with fewer, a task more or less changes everything.
pub(crate) const LEAST_TASKS: usize = 5;

const NO_VARIATION: &str = "neither side varies, so the difference cannot be tested";

/// A task's weight in the comparison with the numbers of both sides, seed by seed.
pub(crate) type Weighted<'n> = (f64, &'n [f64], &'n [f64]);

/// Compares two sides on named tasks by the sum of the tasks' weighted differences, or says why that cannot be done.
///
/// The claim is about these tasks, not about a population of tasks, so only the seeds vary on either side of each:
/// Welch's test, with the degrees of freedom of all variances together. Equal seeds are common to both sides, yet
/// pairing by them would halve the degrees of freedom for a correlation that is near 0 between different strategies.
pub fn unpaired(tasks: &[Weighted]) -> Result<Comparison, String> {
    two(tasks.iter().map(|(_, a, _)| a.len()))?;
    let samples: Vec<(f64, &[f64])> = tasks
        .iter()
        .flat_map(|&(weight, a, b)| [(weight, a), (-weight, b)])
        .collect();
    let estimate = Estimate::of_samples(&samples).ok_or(NO_VARIATION)?;
    let n = mean_size(tasks.iter().map(|(_, a, _)| a.len()));
    let parts = tasks.iter().map(|(_, a, b)| mean(a) - mean(b)).collect();
    let mut comparison = Comparison::of(estimate, &welch(tasks.len()), n, parts);
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

/// Compares two variants that share their random numbers at every seed, such as initial weights and the order of examples, by
/// the differences of pairs.
pub fn paired(a: &[f64], b: &[f64]) -> Result<Comparison, String> {
    two([a.len()].into_iter())?;
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let estimate = Estimate::of_mean(&differences).ok_or(NO_VARIATION)?;
    let (n, parts) = (differences.len() as f64, vec![estimate.value]);
    Ok(Comparison {
        permutation: signs(&[differences]),
        ..Comparison::of(estimate, "paired t-test", n, parts)
    })
}

/// Two sides of a ratio on a task: the means whose ratio is taken, which are those of the task or of all tasks, and the numbers
/// of both sides.
pub(crate) struct Ratio<'n> {
    pub(crate) means: (f64, f64),
    pub(crate) a: &'n [f64],
    pub(crate) b: &'n [f64],
}

impl<'n> Ratio<'n> {
    /// Of the task's own means.
    pub(crate) fn of(a: &'n [f64], b: &'n [f64]) -> Self {
        let means = (mean(a), mean(b));
        Self { means, a, b }
    }
}

/// The relative difference of the first side from the second, in the mean over tasks: `ā / b̄ - 1`.
///
/// A ratio of means is not the mean of ratios: one odd run with a small denominator would rule the latter. Its spread is that of
/// its linear part, (ā - r b̄) / b̄ with r fixed (the delta method; Cochran 1977, section 6.2), to which Welch's test applies.
pub(crate) fn relative(tasks: &[Ratio]) -> Result<Comparison, String> {
    two(tasks.iter().map(|task| task.a.len()))?;
    let k = tasks.len() as f64;
    let linear = tasks.iter().flat_map(|task| {
        let (above, below) = task.means;
        let weight = 1.0 / (k * below);
        [(weight, task.a), (-weight * above / below, task.b)]
    });
    let mut estimate = Estimate::of_samples(&linear.collect::<Vec<_>>()).ok_or(NO_VARIATION)?;
    let part = |task: &Ratio| {
        let (above, below) = task.means;
        let ratio = above / below;
        ratio - 1.0 + (mean(task.a) - ratio * mean(task.b)) / below
    };
    let parts: Vec<f64> = tasks.iter().map(part).collect();
    estimate.value = mean(&parts);
    let n = mean_size(tasks.iter().map(|task| task.a.len()));
    Ok(Comparison::of(estimate, &welch(tasks.len()), n, parts))
}

/// The test in words.
fn welch(tasks: usize) -> String {
    match tasks {
        1 => "Welch's t-test".to_owned(),
        k => format!("Welch's t-test within {k} tasks"),
    }
}

/// Compares two sides on tasks as a sample of tasks in general, by one difference for each.
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

    #[test]
    fn variants_with_common_random_numbers_get_the_paired_test() {
        // 0.01, 0.02, 0.03: mean 0.02, sd 0.01, t = 0.02 / (0.01 / sqrt 3) = 3.46; no signs but these reach that sum.
        let found = paired(&[0.81, 0.92, 0.73], &[0.80, 0.90, 0.70]).unwrap();
        assert_eq!(found.test, "paired t-test, t = 3.46, df = 2");
        assert_eq!(
            found.permutation_text().unwrap(),
            "sign-flip permutation test over all 8 signs, p = 0.250"
        );
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
        for (numbers, reason) in [
            (&[][..], "one side has no run"),
            (&[0.1], "only 1 seed has both sides"),
            (&[0.1, 0.1], "neither side varies"),
        ] {
            let found = unpaired(&[(1.0, numbers, numbers)]).unwrap_err();
            assert!(found.starts_with(reason), "{found}");
            let found = relative(&[Ratio::of(numbers, numbers)]).err();
            assert!(found.is_some_and(|found| found.starts_with(reason)));
        }
        let none = unpaired(&[]).unwrap_err();
        assert_eq!(none, "no seed has both sides");
    }

    #[test]
    fn a_ratio_is_that_of_the_means_with_the_spread_of_its_linear_part() {
        // Means 3 and 4. Variances 7 and 4, so that SE² = (7/3 + 0.75² 4/3) / 4².
        let (a, b) = ([1.0, 2.0, 6.0], [2.0, 4.0, 6.0]);
        let found = relative(&[Ratio::of(&a, &b)]).unwrap();
        assert!((found.difference + 0.25).abs() < 1e-12);
        let error = ((7.0 / 3.0 + 0.5625 * 4.0 / 3.0) / 16.0f64).sqrt();
        assert!((found.estimate.unwrap().error - error).abs() < 1e-12);
        assert!(found.test.starts_with("Welch's t-test, t = "));
        // Of two tasks the mean: -0.25 and 1.
        let twice = relative(&[Ratio::of(&a, &b), Ratio::of(&b, &[1.0, 2.0, 3.0])]).unwrap();
        assert!((twice.difference - 0.375).abs() < 1e-12);
        assert_eq!(twice.parts.len(), 2);
        // By the means of all tasks, 3 and 2, a task's part is its own share of 3 / 2 - 1.
        let common = |a, b| Ratio {
            means: (3.0, 2.0),
            a,
            b,
        };
        let all = relative(&[common(&a, &[2.0, 1.0, 0.0]), common(&a, &[2.0, 3.0, 4.0])]).unwrap();
        assert!((all.difference - 0.5).abs() < 1e-12);
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
