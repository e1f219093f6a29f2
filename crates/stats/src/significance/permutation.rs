//! The permutation test: if there were no difference, the labels `a` and `b` could be exchanged.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::summary::mean;

/// Labels that may be exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// `a[i]` and `b[i]` belong to the same example or seed and are exchanged with each other only.
    Paired,
    /// The values are independent and may be reassigned in any way.
    Unpaired,
}

/// Permutation test of `mean(a) - mean(b)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Permutation {
    /// `mean(a) - mean(b)`.
    pub difference: f64,
    /// Two-sided p-value.
    pub p: f64,
    /// Number of exchanges that were tried.
    pub rounds: u64,
    /// True if these were all possible exchanges.
    pub exact: bool,
}

/// Compares two means by exchanging labels, in every way if there are at most `rounds`, otherwise in `rounds`
/// random ways.
///
/// There are 2ⁿ ways for pairs and (nₐ + n_b over nₐ) for independent samples. The p-value is twice the smaller
/// of the shares of exchanges whose difference is at least, or at most, the observed one, and at most 1, as
/// in `scipy.stats.permutation_test`; random exchanges count the observed one too, (1 + hits) / (1 + rounds)
/// (Phipson and Smyth 2010). Differences within rounding of the observed one count as equal to it. `None`
/// where a sample is empty.
///
/// # Panics
/// If `rounds` is 0, or paired samples differ in length.
pub fn permutation_test(
    a: &[f64],
    b: &[f64],
    pairing: Pairing,
    rounds: u64,
    seed: u64,
) -> Option<Permutation> {
    assert!(rounds > 0, "a permutation test needs at least one round");
    if pairing == Pairing::Paired {
        assert_eq!(a.len(), b.len(), "paired samples differ in length");
    }
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let difference = mean(a) - mean(b);
    let mut tally = Tally::new(difference, a, b);
    let random = ChaCha8Rng::seed_from_u64(seed);
    match pairing {
        Pairing::Paired => exchange_within_pairs(a, b, rounds, random, &mut tally),
        Pairing::Unpaired => deal_out_anew(a, b, rounds, random, &mut tally),
    }
    let exact = tally.exact;
    let share = |hits: u64| {
        let own = u64::from(!exact);
        (hits + own) as f64 / (tally.rounds + own) as f64
    };
    let p = (2.0 * share(tally.at_least).min(share(tally.at_most))).min(1.0);
    Some(Permutation {
        difference,
        p,
        rounds: tally.rounds,
        exact,
    })
}

/// Counts of exchanged differences on either side of the observed one.
struct Tally {
    observed: f64,
    slack: f64,
    at_least: u64,
    at_most: u64,
    rounds: u64,
    exact: bool,
}

impl Tally {
    fn new(observed: f64, a: &[f64], b: &[f64]) -> Self {
        let largest = a.iter().chain(b).fold(0.0f64, |m, v| m.max(v.abs()));
        let slack = 1e-14 * (a.len() + b.len()) as f64 * largest;
        Self {
            observed,
            slack,
            at_least: 0,
            at_most: 0,
            rounds: 0,
            exact: false,
        }
    }

    fn count(&mut self, difference: f64) {
        self.at_least += u64::from(difference >= self.observed - self.slack);
        self.at_most += u64::from(difference <= self.observed + self.slack);
        self.rounds += 1;
    }
}

/// Counts exchanges within pairs, each of which flips the sign of a difference.
fn exchange_within_pairs(
    a: &[f64],
    b: &[f64],
    rounds: u64,
    mut random: impl Rng,
    tally: &mut Tally,
) {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let n = differences.len();
    let all = 1u64
        .checked_shl(n as u32)
        .filter(|&ways| n < 64 && ways <= rounds);
    tally.exact = all.is_some();
    for way in 0..all.unwrap_or(rounds) {
        let mut signs = way;
        let mut sum = 0.0;
        for (i, d) in differences.iter().enumerate() {
            if all.is_none() && i % 64 == 0 {
                signs = random.next_u64();
            }
            sum += if signs & 1 == 0 { *d } else { -d };
            signs >>= 1;
        }
        tally.count(sum / n as f64);
    }
}

/// Deals the pooled values into a sample as large as `a` and one as large as `b`.
fn deal_out_anew(a: &[f64], b: &[f64], rounds: u64, mut random: impl Rng, tally: &mut Tally) {
    let mut pool: Vec<f64> = a.iter().chain(b).copied().collect();
    let (n_a, n) = (a.len(), pool.len());
    let split = |pool: &[f64]| mean(&pool[..n_a]) - mean(&pool[n_a..]);
    if binomial(n, n_a).is_some_and(|ways| ways <= rounds) {
        tally.exact = true;
        let mut chosen: Vec<usize> = (0..n_a).collect();
        loop {
            let mut dealt = Vec::with_capacity(n);
            dealt.extend(chosen.iter().map(|&i| pool[i]));
            dealt.extend(
                (0..n)
                    .filter(|i| chosen.binary_search(i).is_err())
                    .map(|i| pool[i]),
            );
            tally.count(split(&dealt));
            if !next_combination(&mut chosen, n) {
                return;
            }
        }
    }
    for _ in 0..rounds {
        // Fisher and Yates, as far as the first sample reaches.
        for i in 0..n_a {
            let j = random.random_range(i..n);
            pool.swap(i, j);
        }
        tally.count(split(&pool));
    }
}

/// Advances to the next ascending choice out of `n`; returns false after the last.
fn next_combination(chosen: &mut [usize], n: usize) -> bool {
    let k = chosen.len();
    let Some(i) = (0..k).rev().find(|&i| chosen[i] < n - k + i) else {
        return false;
    };
    chosen[i] += 1;
    for j in i + 1..k {
        chosen[j] = chosen[j - 1] + 1;
    }
    true
}

/// n over k; `None` where it does not fit.
fn binomial(n: usize, k: usize) -> Option<u64> {
    (0..k.min(n - k) as u64).try_fold(1u64, |ways, i| {
        Some(ways.checked_mul(n as u64 - i)? / (i + 1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_against_three_clearly_apart_is_two_in_twenty() {
        let result = permutation_test(
            &[4.0, 5.0, 6.0],
            &[1.0, 2.0, 3.0],
            Pairing::Unpaired,
            100,
            0,
        );
        assert_eq!(
            result,
            Some(Permutation {
                difference: 3.0,
                p: 0.1,
                rounds: 20,
                exact: true
            })
        );
    }

    #[test]
    fn four_pairs_all_better_is_two_in_sixteen() {
        let result = permutation_test(
            &[2.0, 3.0, 4.0, 5.0],
            &[1.0, 1.0, 1.0, 1.0],
            Pairing::Paired,
            16,
            0,
        );
        assert_eq!(
            result,
            Some(Permutation {
                difference: 2.5,
                p: 0.125,
                rounds: 16,
                exact: true
            })
        );
    }

    #[test]
    fn random_exchanges_come_near_the_exact_answer_and_follow_the_seed() {
        let a: Vec<f64> = (0..8).map(|i| f64::from(i) * 0.7).collect();
        let b: Vec<f64> = (0..8).map(|i| f64::from(i * i % 5) * 0.5).collect();
        for pairing in [Pairing::Paired, Pairing::Unpaired] {
            let run =
                |rounds, seed| permutation_test(&a, &b, pairing, rounds, seed).expect("not empty");
            let (exact, random) = (run(20_000, 0), run(255, 1));
            assert!(exact.exact && !random.exact, "{pairing:?}");
            assert_eq!(random, run(255, 1));
            // Four standard errors of a share near 0.1 in 255, doubled.
            assert!(
                (exact.p - random.p).abs() < 0.16,
                "{pairing:?}: {} {}",
                exact.p,
                random.p
            );
        }
    }

    #[test]
    fn equal_samples_are_never_significant() {
        for pairing in [Pairing::Paired, Pairing::Unpaired] {
            let result = permutation_test(&[0.1; 5], &[0.1; 5], pairing, 10, 0).expect("not empty");
            assert_eq!(result.p, 1.0);
        }
    }

    #[test]
    fn an_empty_sample_has_no_test() {
        assert_eq!(
            permutation_test(&[], &[1.0], Pairing::Unpaired, 10, 0),
            None
        );
        assert_eq!(permutation_test(&[], &[], Pairing::Paired, 10, 0), None);
    }

    #[test]
    fn more_pairs_than_bits_are_exchanged_at_random() {
        let a: Vec<f64> = (0..200).map(f64::from).collect();
        let b: Vec<f64> = a.iter().map(|v| v + 1.0).collect();
        let result = permutation_test(&a, &b, Pairing::Paired, 99, 7).expect("not empty");
        assert_eq!((result.p, result.exact), (0.02, false));
    }

    #[test]
    fn choices_are_counted() {
        assert_eq!(binomial(20, 10), Some(184_756));
        assert_eq!(binomial(5, 5), Some(1));
        assert_eq!(binomial(1000, 500), None);
    }
}
