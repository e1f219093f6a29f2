//! The activation cache: outputs of frozen layers are computed once per example.
//!
//! The layers below the lowest trained one give the same output for the same example, as long as none of them has
//! dropout. [`EntryLayer`] says where a run enters the model, [`Activations`] hold the outputs of the frozen layers,
//! without padding, in memory or in a mapped file, [`FrozenPass`] computes them, and [`CachedActivations`] tie a run's
//! examples to them.
//!
//! With k of L layers trainable an epoch then costs k forward and k backward passes of a layer instead of L and k;
//! with none, only the head.

mod activations;
mod bytes;
mod dtype;
mod entry;
mod file;
mod format;
mod pass;
mod unfinished;

use std::sync::Arc;

use burn::tensor::{Device, Tensor};
use totune_model::FrozenOutput;

pub use activations::Activations;
pub use dtype::StoredDtype;
pub use entry::EntryLayer;
pub use file::CacheFile;
pub use pass::FrozenPass;

/// Cached activations of the examples of a run.
#[derive(Debug, Clone)]
pub struct CachedActivations {
    /// The activations, of this run's examples and maybe of others.
    pub activations: Arc<Activations>,
    /// Position of each example of the run in the activations.
    pub places: Vec<usize>,
}

impl CachedActivations {
    /// The activations of the examples at `indices`, padded to `seq` tokens where it is a sequence.
    pub(crate) fn batch(&self, indices: &[usize], seq: usize, device: &Device) -> FrozenOutput {
        let places: Vec<usize> = indices.iter().map(|&i| self.places[i]).collect();
        match self.activations.start() {
            EntryLayer::Block(block) => FrozenOutput::HiddenStates {
                block,
                states: self.activations.gather(&places, seq, device),
            },
            EntryLayer::Tokens(_) => {
                FrozenOutput::Tokens(self.activations.gather(&places, seq, device))
            }
            EntryLayer::Pooled(_) => {
                let pooled: Tensor<3> = self.activations.gather(&places, 1, device); // [batch, 1, width]
                FrozenOutput::Pooled(pooled.squeeze_dim(1))
            }
        }
    }

    /// Seconds it took to compute the activations of these examples.
    pub(crate) fn seconds(&self) -> f64 {
        let all = self.activations.len().max(1) as f64;
        self.activations.seconds() * self.places.len() as f64 / all
    }
}
