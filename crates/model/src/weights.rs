//! Where weights come from: a checkpoint, or a seed.

use anyhow::Result;
use burn::tensor::TensorData;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use totune_checkpoint::Published;

/// A source of named tensors.
pub trait Weights {
    /// The tensor `name` as f32, which must have the given shape.
    fn take(&mut self, name: &str, shape: &[usize]) -> Result<TensorData>;
}

/// New weights: matrices are normal with a given standard deviation, truncated at two of them as in the
/// released BERT; vectors are zero, but the scales of normalisation layers are one.
#[derive(Debug)]
pub struct RandomWeights {
    rng: ChaCha8Rng,
    sd: f64,
}

impl RandomWeights {
    /// Weights drawn from `seed`, in the order they are taken.
    pub fn new(seed: u64, sd: f64) -> Self {
        Self {
            rng: ChaCha8Rng::seed_from_u64(seed),
            sd,
        }
    }

    /// A standard normal number by Box and Muller, drawn again until it is within two standard deviations.
    fn normal(&mut self) -> f64 {
        let mut uniform = || (self.rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        loop {
            let (u, v) = (1.0 - uniform(), uniform());
            let z = (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos();
            if z.abs() <= 2.0 {
                return z;
            }
        }
    }
}

impl Weights for RandomWeights {
    fn take(&mut self, name: &str, shape: &[usize]) -> Result<TensorData> {
        let n = shape.iter().product();
        let values: Vec<f32> = match shape.len() {
            1 if name.ends_with("LayerNorm.weight") => vec![1.0; n],
            1 => vec![0.0; n],
            _ => (0..n).map(|_| (self.normal() * self.sd) as f32).collect(),
        };
        Ok(TensorData::new(values, shape.to_vec()))
    }
}

/// Those of a checkpoint, of any format, each taken once.
impl Weights for Published {
    fn take(&mut self, name: &str, shape: &[usize]) -> Result<TensorData> {
        let tensor = Published::take(self, name, shape)?;
        Ok(TensorData::new(tensor.values, tensor.shape))
    }
}
