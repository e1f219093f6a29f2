//! An encoder with a classifier on top.

use anyhow::Result;
use burn::module::Module;
use burn::tensor::{Device, Tensor};

use crate::{ClassifierHead, Encoder, HeadSpec, Pass, TokenBatch};

/// An encoder and its head; parameters lie below `encoder` and `head`.
#[derive(Module, Debug)]
pub struct Classifier<E: Module> {
    /// The pretrained part.
    pub encoder: E,
    /// The new part.
    pub head: ClassifierHead,
}

impl<E: Encoder> Classifier<E> {
    /// Puts a new head with `n_labels` outputs, drawn from `seed`, on a pretrained encoder.
    pub fn new(
        encoder: E,
        head: &HeadSpec,
        n_labels: usize,
        seed: u64,
        device: &Device,
    ) -> Result<Self> {
        let head = ClassifierHead::new(head, &encoder, n_labels, seed, device)?;
        Ok(Self { encoder, head })
    }

    /// Scores each label: `[batch, labels]`.
    pub fn forward(&self, batch: &TokenBatch, pass: &Pass) -> Tensor<2> {
        let states = self.encoder.encode(batch, pass);
        self.head.forward(&states, batch, pass)
    }
}
