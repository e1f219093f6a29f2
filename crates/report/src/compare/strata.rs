//! Differences that were measured within tasks, as one comparison over the tasks.

use totune_stats::{Pairing, mean, permutation_test, stratified_t};

use crate::compare::Comparison;
use crate::select::sample::LEVEL;
use crate::text::{count, fixed, p_equals};

/// Exchanges of signs looked at; up to 14 pairs that is all of them.
const ROUNDS: u64 = 1 << 14;

/// Compares paired differences, one list per task, or says why that cannot be done.
///
/// The tasks are what the claim is about and not drawn from others, so what varies is the seed within each task:
/// Student's test of the mean of the tasks' means ([`stratified_t`]). For comparison there is the sign-flip permutation test, which
/// takes nothing for granted but that without a difference either side might have had either number.
pub(crate) fn over_tasks(tasks: &[Vec<f64>]) -> Result<Comparison, String> {
    let mut comparison = linear_over_tasks(tasks)?;
    // Scaled so that their plain mean is the mean of the tasks' means.
    let n: usize = tasks.iter().map(Vec::len).sum();
    let scaled: Vec<f64> = tasks
        .iter()
        .flat_map(|values| {
            let weight = n as f64 / (values.len() * tasks.len()) as f64;
            values.iter().map(move |value| value * weight)
        })
        .collect();
    let zeros = vec![0.0; scaled.len()];
    comparison.beside = permutation_test(&scaled, &zeros, Pairing::Paired, ROUNDS, 0).map(|test| {
        let which = if test.exact { "all" } else { "random" };
        format!(
            "for comparison: sign-flip permutation test over {which} {} signs, {}",
            count(test.rounds),
            p_equals(test.p)
        )
    });
    Ok(comparison)
}

/// The same for numbers whose signs cannot be exchanged, such as residuals of a ratio around its estimate.
pub(crate) fn linear_over_tasks(tasks: &[Vec<f64>]) -> Result<Comparison, String> {
    if tasks.is_empty() || tasks.iter().any(Vec::is_empty) {
        return Err("no seed has both sides".to_owned());
    }
    if tasks.iter().all(|values| values.len() == 1) {
        let place = if tasks.len() == 1 {
            ""
        } else {
            " on each task"
        };
        return Err(format!(
            "a single pair of seeds{place} leaves nothing to measure the difference with"
        ));
    }
    let test = stratified_t(tasks, LEVEL).ok_or_else(|| {
        "the pairs do not vary, so there is nothing to measure the difference with".to_owned()
    })?;
    let name = match tasks.len() {
        1 => "paired t-test".to_owned(),
        n => format!("paired t-test within {n} tasks"),
    };
    let borrowed = match test.single {
        0 => String::new(),
        1 => " (one task has a single pair and borrows the spread of the others)".to_owned(),
        n => format!(" ({n} tasks have a single pair and borrow the spread of the others)"),
    };
    Ok(Comparison {
        difference: test.mean,
        interval: test.interval,
        p: test.p,
        effect: None,
        test: format!(
            "{name}, t = {}, df = {}{borrowed}",
            fixed(test.t, 2),
            fixed(test.df, 1)
        ),
        beside: None,
        detectable: None,
    })
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
    fn one_task_gets_the_paired_test() {
        // 0.01, 0.02, 0.03: mean 0.02, sd 0.01, t = 0.02 / (0.01 / sqrt 3) = 3.46; no signs but these reach that sum.
        let found = over_tasks(&[vec![0.01, 0.02, 0.03]]).unwrap();
        assert_eq!(found.test, "paired t-test, t = 3.46, df = 2.0");
        assert!((found.p - t_two_sided_p(12f64.sqrt(), 2.0)).abs() < 1e-12);
        let interval = t_interval(&[0.01, 0.02, 0.03], 0.95).unwrap();
        assert!((found.interval.low - interval.low).abs() < 1e-12);
        assert_eq!(
            found.beside.unwrap(),
            "for comparison: sign-flip permutation test over all 8 signs, p = 0.250"
        );
    }

    #[test]
    fn a_task_counts_once_whatever_its_seeds() {
        let found = over_tasks(&[vec![0.01, 0.03], vec![0.1, 0.1, 0.1, 0.14]]).unwrap();
        assert!((found.difference - 0.065).abs() < 1e-12);
        assert!(found.test.starts_with("paired t-test within 2 tasks"));
    }

    #[test]
    fn what_cannot_be_compared_says_why() {
        for (tasks, reason) in [
            (vec![], "no seed has both sides"),
            (vec![vec![0.1, 0.2], vec![]], "no seed has both sides"),
            (vec![vec![0.1]], "a single pair of seeds leaves nothing"),
            (
                vec![vec![0.1], vec![0.2]],
                "a single pair of seeds on each task leaves nothing",
            ),
            (vec![vec![0.1, 0.1]], "the pairs do not vary"),
        ] {
            let found = over_tasks(&tasks).unwrap_err();
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
