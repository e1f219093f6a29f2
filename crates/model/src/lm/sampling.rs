//! Negative samples for a softmax over a large vocabulary, from the log-uniform distribution.
//!
//! TensorFlow's log-uniform candidate sampler, which the released biLM was trained with: ids are ordered from frequent
//! to rare, `P(k) = ln((k + 2) / (k + 1)) / ln(V + 1)` approximates Zipf's law, and ids are drawn until enough
//! different ones have been found. The expected count of an id among them, `1 - (1 - P(k))^tries` with the number of
//! draws that it took, corrects its logit (Jean et al. 2015).

use rand::Rng;

/// The log-uniform distribution over the ids `0..vocab`, 0 being the most frequent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogUniform {
    vocab: usize,
}

/// Different ids drawn from a [`LogUniform`].
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    ids: Vec<u32>,
    tries: u64,
    distribution: LogUniform,
}

impl LogUniform {
    /// The distribution over a vocabulary of this size.
    ///
    /// # Panics
    /// When it is zero or does not fit into 32 bits.
    pub fn new(vocab: usize) -> Self {
        assert!(
            vocab > 0 && u32::try_from(vocab).is_ok(),
            "a vocabulary of {vocab}, expected 1 to 2^32 - 1 words"
        );
        Self { vocab }
    }

    /// The probability that one draw gives `id`.
    pub fn probability(&self, id: u32) -> f64 {
        (1.0 / (f64::from(id) + 1.0)).ln_1p() / self.log_range()
    }

    fn log_range(&self) -> f64 {
        ((self.vocab + 1) as f64).ln()
    }

    fn draw(&self, rng: &mut impl Rng) -> u32 {
        let unit = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        // From 1 on; rounding may reach V + 1.
        let value = (unit * self.log_range()).exp() as usize;
        value.clamp(1, self.vocab) as u32 - 1
    }

    /// `n` different ids in the order in which they are first drawn.
    ///
    /// The number of draws grows steeply as `n` nears the size of the vocabulary: of half of it some 2.5 `V` are
    /// needed, of all of it some `V ln² V`.
    ///
    /// # Panics
    /// When `n` is more than the vocabulary.
    pub fn sample(&self, n: usize, rng: &mut impl Rng) -> Samples {
        assert!(
            n <= self.vocab,
            "{n} samples, expected at most the {} words of the vocabulary",
            self.vocab
        );
        let mut seen = vec![false; self.vocab];
        let mut ids = Vec::with_capacity(n);
        let mut tries = 0;
        while ids.len() < n {
            let id = self.draw(rng);
            tries += 1;
            if !std::mem::replace(&mut seen[id as usize], true) {
                ids.push(id);
            }
        }
        Samples {
            ids,
            tries,
            distribution: *self,
        }
    }
}

impl Samples {
    /// Given ids as if drawn in `tries` draws, for comparing a loss with that of another implementation.
    pub fn given(ids: Vec<u32>, tries: u64, distribution: LogUniform) -> Self {
        Self {
            ids,
            tries,
            distribution,
        }
    }

    /// The ids, all different.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Draws that it took.
    pub fn tries(&self) -> u64 {
        self.tries
    }

    /// The probability that `id` is among the samples: `1 - (1 - P(id))^tries`.
    pub fn expected_count(&self, id: u32) -> f64 {
        let none = (-self.distribution.probability(id)).ln_1p() * self.tries as f64;
        -none.exp_m1()
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn probabilities_add_up_to_one() {
        for vocab in [1, 2, 50, 5000] {
            let distribution = LogUniform::new(vocab);
            let sum: f64 = (0..vocab as u32).map(|k| distribution.probability(k)).sum();
            assert!((sum - 1.0).abs() < 1e-12, "{vocab}: {sum}");
        }
    }

    #[test]
    fn draws_follow_the_distribution() {
        let distribution = LogUniform::new(100);
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let n = 200_000;
        let mut counts = [0u32; 100];
        for _ in 0..n {
            counts[distribution.draw(&mut rng) as usize] += 1;
        }
        // Chi-squared with 99 degrees of freedom: 149 is its 99.9th percentile.
        let chi: f64 = (0..100)
            .map(|k| {
                let expected = distribution.probability(k) * f64::from(n);
                (f64::from(counts[k as usize]) - expected).powi(2) / expected
            })
            .sum();
        assert!(chi < 149.0, "{chi}");
    }

    #[test]
    fn samples_are_different_and_repeat_with_the_seed() {
        let draw = |seed| LogUniform::new(60).sample(40, &mut ChaCha8Rng::seed_from_u64(seed));
        let samples = draw(3);
        let mut ids = samples.ids().to_vec();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 40);
        assert!(samples.tries() >= 40);
        assert_eq!(draw(3), samples);
        assert_ne!(draw(4), samples);
        let all = LogUniform::new(5).sample(5, &mut ChaCha8Rng::seed_from_u64(1));
        assert!((0..5).all(|id| all.ids().contains(&id)));
    }

    #[test]
    fn an_expected_count_is_how_often_an_id_is_among_as_many_draws() {
        let distribution = LogUniform::new(30);
        let samples = Samples::given(vec![0], 20, distribution);
        let mut rng = ChaCha8Rng::seed_from_u64(9);
        let rounds = 20_000;
        let mut found = [0u32; 30];
        for _ in 0..rounds {
            let drawn: std::collections::BTreeSet<u32> =
                (0..20).map(|_| distribution.draw(&mut rng)).collect();
            drawn.iter().for_each(|&id| found[id as usize] += 1);
        }
        for id in [0u32, 3, 29] {
            let (share, expected) = (
                f64::from(found[id as usize]) / f64::from(rounds),
                samples.expected_count(id),
            );
            // Four standard deviations of a binomial share.
            let bound = 4.0 * (expected * (1.0 - expected) / f64::from(rounds)).sqrt() + 1e-9;
            assert!(
                (share - expected).abs() <= bound,
                "{id}: {share} {expected}"
            );
        }
    }
}
