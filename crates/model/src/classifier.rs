//! An encoder with a classifier on top.

use anyhow::Result;
use burn::module::Module;
use burn::tensor::{Device, Tensor};

use crate::{Encoder, Head, HeadSpec, Output, Pass, TokenBatch};

/// An encoder and its head; parameter paths start with `encoder` or `head`.
#[derive(Module, Debug)]
pub struct Classifier<E: Module> {
    /// The pretrained part.
    pub encoder: E,
    /// The new part.
    pub head: Head,
}

/// Output of the frozen part of a model for a batch.
#[derive(Debug, Clone)]
pub enum FrozenOutput {
    /// Output of one block of the encoder.
    HiddenStates {
        /// The block, counted as in [`Pass`].
        block: usize,
        /// `[batch, seq, hidden]`.
        states: Tensor<3>,
    },
    /// Pooled input of the head, one vector per example, `[batch, width]`: only the head remains to be computed.
    Pooled(Tensor<2>),
    /// Token-level input of the head, `[batch, seq, width]`: only the head remains to be computed.
    Tokens(Tensor<3>),
}

impl<E: Encoder> Classifier<E> {
    /// Puts a new head with `n_outputs` outputs, initialised from `seed`, on a pretrained encoder.
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

    /// Returns the output for a batch.
    pub fn forward(&self, batch: &TokenBatch, pass: &Pass) -> Output {
        let states = self.encoder.encode(batch, pass);
        self.head.forward(&states, batch, pass)
    }

    /// Computes [`Classifier::forward`] from the cached output of the frozen blocks instead of the tokens.
    ///
    /// Dropout above these blocks uses the same masks, so both give the same output if the frozen blocks have no
    /// dropout.
    pub fn forward_from(&self, kept: FrozenOutput, batch: &TokenBatch, pass: &Pass) -> Output {
        match kept {
            FrozenOutput::HiddenStates { block, states } => {
                let states = self.encoder.forward_from(states, block, batch, pass);
                self.head.forward(&states, batch, pass)
            }
            FrozenOutput::Pooled(pooled) => {
                pass.skip_to(self.encoder.n_dropout_seeds(self.encoder.n_layers()));
                self.head.score_vectors(pooled, pass)
            }
            FrozenOutput::Tokens(states) => {
                pass.skip_to(self.encoder.n_dropout_seeds(self.encoder.n_layers()));
                self.head.score_tokens(states, batch, pass)
            }
        }
    }
}
