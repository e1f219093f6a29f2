//! A share of runs against a limit.

use statrs::distribution::{Binomial, DiscreteCDF};

/// Probabilities of at least and of at most `k` of `n`, if each is one with probability `share`, from 0 to 1: the one-sided
/// p-values of the exact binomial test.
///
/// # Panics
/// If `share` is not a probability.
pub fn binomial_tails(k: u64, n: u64, share: f64) -> [f64; 2] {
    let of = Binomial::new(share, n).expect("a probability");
    let at_least = if k == 0 { 1.0 } else { of.sf(k - 1) };
    [at_least, of.cdf(k)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_those_of_scipy() {
        // scipy 1.16.3: binomtest(k, n, share, alternative="greater" and "less").pvalue
        for (k, n, share, expected) in [
            (4, 6, 0.5, [0.34375, 0.890_625]),
            (0, 24, 0.1, [1.0, 0.079_766_443_076_872_54]),
            (
                15,
                20,
                0.5,
                [0.020_694_732_666_015_625, 0.994_091_033_935_546_9],
            ),
            (6, 6, 1.0, [1.0, 1.0]),
        ] {
            let found = binomial_tails(k, n, share);
            for (found, expected) in found.into_iter().zip(expected) {
                assert!((found - expected).abs() < 1e-12, "{k} of {n}: {found}");
            }
        }
    }
}
