//! Numbers and words that every side makes alike, or reads from the same file.

use anyhow::Result;
use burn::tensor::TensorData;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use totune_data::stream;
use totune_model::Weights;

/// Numbers between `-scale` and `scale` that every side makes alike (`synthetic` in `bench/side.py`): hashes of their
/// places. Numbers in a simpler order would add up in products of matrices, until softmax has denormal results, which
/// Intel's processors multiply many times slower.
pub fn synthetic(n: usize, offset: usize, scale: f64) -> Vec<f32> {
    let value = |i: usize| {
        let part = f64::from(mixed((i + offset) as u32)) / (f64::from(u32::MAX) + 1.0);
        ((part * 2.0 - 1.0) * scale) as f32
    };
    (0..n).map(value).collect()
}

/// A hash whose bits all depend on all of `x`.
fn mixed(x: u32) -> u32 {
    let x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
    let x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

/// Weights that every side makes alike: the values of each tensor continue the sequence of the one before.
pub struct SyntheticWeights {
    taken: usize,
    scale: f64,
}

impl SyntheticWeights {
    /// Between minus and plus `scale`.
    pub fn new(scale: f64) -> Self {
        Self { taken: 0, scale }
    }
}

impl Weights for SyntheticWeights {
    fn take(&mut self, _: &str, shape: &[usize]) -> Result<TensorData> {
        let n = shape.iter().product();
        let values = synthetic(n, self.taken, self.scale);
        self.taken += n;
        Ok(TensorData::new(values, shape.to_vec()))
    }
}

/// Weights that every side makes alike, in whatever order it takes them: the place of a tensor in the sequence is a
/// hash of its name in transformers' checkpoint (`named` in `bench/side.py`).
pub struct NamedWeights;

impl NamedWeights {
    /// The size of the largest weights, about that of the released BERT.
    const SCALE: f64 = 0.05;
}

impl Weights for NamedWeights {
    fn take(&mut self, name: &str, shape: &[usize]) -> Result<TensorData> {
        let hash = |hash: usize, byte: u8| (hash * 31 + usize::from(byte)) % 1_000_003;
        let mut values = synthetic(
            shape.iter().product(),
            name.bytes().fold(0, hash),
            Self::SCALE,
        );
        if name.ends_with("LayerNorm.weight") {
            values.iter_mut().for_each(|value| *value += 1.0);
        }
        Ok(TensorData::new(values, shape.to_vec()))
    }
}

/// Words made of syllables. As in a language, few of them are frequent: the frequency of a word falls off as in Zipf's
/// law; there are 20,736 of them.
pub struct Words(ChaCha8Rng);

const SYLLABLES: [&str; 12] = [
    "ka", "lo", "ter", "ing", "ma", "shi", "ne", "ro", "ed", "un", "pre", "so",
];

impl Words {
    /// The words of the benchmark `name`.
    pub fn new(name: &str) -> Self {
        Self(stream(1, name, 0))
    }

    /// The next `n` words with spaces between them.
    pub fn next(&mut self, n: usize) -> String {
        let mut text = String::new();
        for at in 0..n {
            let draw = f64::from(self.0.next_u32()) / f64::from(u32::MAX);
            let mut rank = (20_736f64.powf(draw)) as usize;
            text += if at == 0 { "" } else { " " };
            for _ in 0..1 + rank % 4 {
                text += SYLLABLES[rank % SYLLABLES.len()];
                rank /= SYLLABLES.len();
            }
        }
        text
    }
}
