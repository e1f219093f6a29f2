//! NumPy's legacy generator, number for number: MT19937 seeded by Knuth's recurrence.

use rand_mt::Mt;

/// `numpy.random.RandomState(seed)`.
pub struct RandomState {
    bits: Mt,
    /// The second of two normal numbers drawn together.
    spare: Option<f64>,
}

impl RandomState {
    /// The generator of a seed.
    pub fn new(seed: u32) -> Self {
        Self {
            bits: Mt::new(seed),
            spare: None,
        }
    }

    /// Draws a uniform number from 0 to below 1, with 53 bits.
    fn uniform(&mut self) -> f64 {
        let high = self.bits.next_u32() >> 5;
        let low = self.bits.next_u32() >> 6;
        (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0
    }

    /// Draws a standard normal number, by Marsaglia's polar method.
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let x = 2.0 * self.uniform() - 1.0;
            let y = 2.0 * self.uniform() - 1.0;
            let square = x * x + y * y;
            if square < 1.0 && square != 0.0 {
                let factor = (-2.0 * square.ln() / square).sqrt();
                self.spare = Some(factor * x);
                return factor * y;
            }
        }
    }

    /// Shuffles a one-dimensional array, by swaps from its end.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// Draws a whole number below `n`: masked bits, drawn again while they are too large.
    pub fn below(&mut self, n: usize) -> usize {
        let largest = u32::try_from(n - 1).expect("fewer than 2³² numbers to choose from");
        if largest == 0 {
            return 0;
        }
        let mask = u32::MAX >> largest.leading_zeros();
        loop {
            let drawn = self.bits.next_u32() & mask;
            if drawn <= largest {
                return drawn as usize;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_numpys() {
        // numpy 2.4.6: r = numpy.random.RandomState(3334); r.normal(size=3); r.choice(1043, 3); r.normal()
        let mut random = RandomState::new(3334);
        let normal: Vec<f64> = (0..3).map(|_| random.normal()).collect();
        assert_eq!(
            normal,
            [-0.4048579911099643, 0.6525360454250589, 1.2356305907191782]
        );
        let chosen: Vec<usize> = (0..3).map(|_| random.below(1043)).collect();
        assert_eq!(chosen, [179, 643, 130]);
        assert_eq!(random.normal(), -0.008223207279045932);
    }

    #[test]
    fn a_shuffle_is_numpys() {
        // python -c "import numpy as np; a = np.arange(10); np.random.RandomState(42).shuffle(a); print(a)"
        let mut items: Vec<usize> = (0..10).collect();
        RandomState::new(42).shuffle(&mut items);
        assert_eq!(items, [8, 1, 5, 0, 7, 2, 9, 4, 3, 6]);
        // the same with RandomState(4294967295) and five numbers
        let mut items: Vec<usize> = (0..5).collect();
        RandomState::new(u32::MAX).shuffle(&mut items);
        assert_eq!(items, [4, 1, 0, 2, 3]);
    }
}
