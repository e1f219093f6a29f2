//! An encoder with a classifier on top.

use anyhow::Result;
use burn::module::Module;
use burn::tensor::{Device, Tensor};

use crate::{Encoder, Head, HeadSpec, Output, Pass, TokenBatch};

/// An encoder and its head; parameters lie below `encoder` and `head`.
#[derive(Module, Debug)]
pub struct Classifier<E: Module> {
    /// The pretrained part.
    pub encoder: E,
    /// The new part.
    pub head: Head,
}

/// What the frozen part of a model gave for a batch.
#[derive(Debug, Clone)]
pub enum Kept {
    /// What one block of the encoder gave.
    States {
        /// The block, counted as in [`Pass`].
        block: usize,
        /// `[batch, seq, hidden]`.
        states: Tensor<3>,
    },
    /// What the head reads of each example, `[batch, width]`: the head alone is left to compute.
    Pooled(Tensor<2>),
    /// What the head reads of each token, `[batch, seq, width]`: the head alone is left to compute.
    Tokens(Tensor<3>),
}

impl<E: Encoder> Classifier<E> {
    /// Puts a new head with `n_outputs` outputs, drawn from `seed`, on a pretrained encoder.
    pub fn new(
        encoder: E,
        head: &HeadSpec,
        n_outputs: usize,
        seed: u64,
        device: &Device,
    ) -> Result<Self> {
        let head = Head::new(head, &encoder, n_outputs, seed, device)?;
        Ok(Self { encoder, head })
    }

    /// What it gives for a batch.
    pub fn forward(&self, batch: &TokenBatch, pass: &Pass) -> Output {
        let states = self.encoder.encode(batch, pass);
        self.head.forward(&states, batch, pass)
    }

    /// As [`Classifier::forward`], but from what was kept of the frozen blocks instead of the tokens.
    ///
    /// Dropout above them is what it would have been, so that with none in the frozen blocks both give the same.
    pub fn forward_from(&self, kept: Kept, batch: &TokenBatch, pass: &Pass) -> Output {
        match kept {
            Kept::States { block, states } => {
                let states = self.encoder.forward_from(states, block, batch, pass);
                self.head.forward(&states, batch, pass)
            }
            Kept::Pooled(pooled) => {
                pass.skip_to(self.encoder.n_dropout_seeds(self.encoder.n_layers()));
                self.head.score_vectors(pooled, pass)
            }
            Kept::Tokens(states) => {
                pass.skip_to(self.encoder.n_dropout_seeds(self.encoder.n_layers()));
                self.head.score_tokens(states, batch, pass)
            }
        }
    }
}
