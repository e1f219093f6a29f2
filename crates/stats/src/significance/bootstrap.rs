//! Paired bootstrap: resampling of examples, with replacement, to estimate the variation of a difference.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::student::assert_level;
use crate::summary::{Interval, quantile_of_sorted};

/// A difference and its variation over resampled examples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bootstrap {
    /// The difference on the sample itself.
    pub difference: f64,
    /// Percentile interval of the resampled differences.
    pub interval: Interval,
    /// Two-sided p-value for no difference.
    pub p: f64,
    /// Number of resamples.
    pub rounds: usize,
}

/// Bootstraps any difference that can be computed from the numbers of the examples drawn, such as that of two
/// F1 scores on the same predictions (Efron and Tibshirani 1993, chapters 13 and 16; Koehn 2004 for its use
/// here).
///
/// `statistic` gets `n` indices below `n`, some repeated. The interval reaches from the (1 - level)/2 to the
/// (1 + level)/2 quantile of the redrawn differences. The p-value is twice the smaller of the shares at or
/// below 0 and at or above 0, each counted as (1 + hits) / (1 + rounds) so that it is never 0. `None` for
/// n = 0.
///
/// # Panics
/// If `rounds` is 0 or `level` is not between 0 and 1.
pub fn paired_bootstrap_of(
    n: usize,
    statistic: impl Fn(&[usize]) -> f64,
    rounds: usize,
    level: f64,
    seed: u64,
) -> Option<Bootstrap> {
    assert_level(level);
    assert!(rounds > 0, "a bootstrap needs at least one round");
    if n == 0 {
        return None;
    }
    let mut sample: Vec<usize> = (0..n).collect();
    let difference = statistic(&sample);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut drawn = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        for slot in &mut sample {
            *slot = random.random_range(0..n);
        }
        drawn.push(statistic(&sample));
    }
    drawn.sort_by(f64::total_cmp);
    let share = |hits: usize| (1 + hits) as f64 / (1 + rounds) as f64;
    let below = share(drawn.iter().filter(|&&d| d <= 0.0).count());
    let above = share(drawn.iter().filter(|&&d| d >= 0.0).count());
    Some(Bootstrap {
        difference,
        interval: Interval {
            low: quantile_of_sorted(&drawn, 0.5 - level / 2.0),
            high: quantile_of_sorted(&drawn, 0.5 + level / 2.0),
        },
        p: (2.0 * below.min(above)).min(1.0),
        rounds,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::for_class;

    const A: [f64; 8] = [0.81, 0.84, 0.79, 0.86, 0.83, 0.80, 0.85, 0.82];
    const B: [f64; 8] = [0.80, 0.82, 0.80, 0.83, 0.81, 0.79, 0.83, 0.80];

    /// The bootstrap of a difference of means.
    fn of_means(a: &[f64], b: &[f64], rounds: usize, seed: u64) -> Option<Bootstrap> {
        let pairs: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        let statistic =
            |sample: &[usize]| sample.iter().map(|&i| pairs[i]).sum::<f64>() / sample.len() as f64;
        paired_bootstrap_of(a.len(), statistic, rounds, 0.95, seed)
    }

    #[test]
    fn the_same_seed_gives_the_same_answer_and_another_one_does_not() {
        let run = |seed| of_means(&A, &B, 500, seed);
        assert_eq!(run(3), run(3));
        assert_ne!(run(3), run(4));
    }

    #[test]
    fn equal_samples_differ_by_nothing() {
        let result = of_means(&A, &A, 200, 0).expect("eight pairs");
        assert_eq!((result.difference, result.p), (0.0, 1.0));
        assert_eq!(
            result.interval,
            Interval {
                low: 0.0,
                high: 0.0
            }
        );
    }

    #[test]
    fn a_constant_gap_is_as_significant_as_the_rounds_allow() {
        let shifted: Vec<f64> = A.iter().map(|a| a - 0.5).collect();
        let result = of_means(&A, &shifted, 999, 0).expect("eight pairs");
        assert!((result.p - 2.0 / 1000.0).abs() < 1e-15);
        assert!((result.interval.low - 0.5).abs() < 1e-12);
    }

    #[test]
    fn one_pair_can_only_be_drawn_again() {
        let result = of_means(&[0.9], &[0.7], 10, 1).expect("one pair");
        assert_eq!(result.interval.low, result.interval.high);
    }

    #[test]
    fn no_pairs_have_no_bootstrap() {
        assert_eq!(of_means(&[], &[], 10, 1), None);
    }

    #[test]
    fn a_difference_of_f1_scores_redraws_examples() {
        let gold = [1, 1, 0, 0, 1, 0, 1, 0];
        let (first, second) = ([1, 1, 0, 0, 1, 0, 1, 0], [1, 0, 0, 1, 1, 0, 0, 0]);
        let f1 = |sample: &[usize], predicted: &[usize]| {
            let pick = |from: &[usize]| sample.iter().map(|&i| from[i]).collect::<Vec<_>>();
            for_class(&pick(&gold), &pick(predicted), 1).f1
        };
        let result =
            paired_bootstrap_of(8, |s| f1(s, &first) - f1(s, &second), 400, 0.9, 5).expect("n = 8");
        assert!((result.difference - (1.0 - 4.0 / 7.0)).abs() < 1e-15);
        assert!(
            result.interval.low < result.difference && result.difference < result.interval.high
        );
    }
}
