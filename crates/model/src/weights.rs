//! Sources of weights: a checkpoint, or a seed.

use anyhow::Result;
use burn::tensor::TensorData;
use totune_checkpoint::Published;

/// A source of named tensors.
pub trait Weights {
    /// The tensor `name` as f32, which must have the given shape.
    fn take(&mut self, name: &str, shape: &[usize]) -> Result<TensorData>;
}

/// The tensors of `weights` whose names start with a prefix, taken without it.
pub(crate) struct Below<'a> {
    prefix: String,
    weights: &'a mut dyn Weights,
}

impl<'a> Below<'a> {
    /// Selects the tensors below `prefix`, which ends in a point.
    pub(crate) fn new(prefix: impl Into<String>, weights: &'a mut dyn Weights) -> Self {
        Self {
            prefix: prefix.into(),
            weights,
        }
    }
}

impl Weights for Below<'_> {
    fn take(&mut self, name: &str, shape: &[usize]) -> Result<TensorData> {
        self.weights.take(&format!("{}{name}", self.prefix), shape)
    }
}

/// The weights of a checkpoint, of any format, each taken once.
impl Weights for Published {
    fn take(&mut self, name: &str, shape: &[usize]) -> Result<TensorData> {
        let tensor = Published::take(self, name, shape)?;
        Ok(TensorData::new(tensor.values, tensor.shape))
    }
}
