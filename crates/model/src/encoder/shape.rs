//! What an architecture owns.

use std::fmt;

use anyhow::Result;
use burn::tensor::Device;
use totune_checkpoint::Naming;

use crate::init::INIT_SD;
use crate::{RandomWeights, Weights};

/// The shape of a network of one architecture, and what follows from it.
pub trait Shape: fmt::Debug {
    /// The network.
    type Encoder;

    /// The architecture's name: `kind` in cards, `model_type` in a `config.json`.
    const LABEL: &'static str;

    /// The names its checkpoints are published under.
    const NAMING: Naming;

    /// What makes ids of texts for it.
    const TOKENIZER: TokenizerKind;

    /// Every tensor that [`Shape::load`] takes: its published name, and its shape.
    fn tensors(&self) -> Vec<(String, Vec<usize>)>;

    /// Takes all weights from `weights` and puts them on `device`.
    ///
    /// # Errors
    /// When a tensor is missing or has another shape, or the shape is impossible.
    fn load(&self, weights: &mut dyn Weights, device: &Device) -> Result<Self::Encoder>;

    /// The weights that pre-training would begin with: BERT's, unless the architecture has its own.
    fn initial(&self, seed: u64) -> Box<dyn Weights> {
        Box::new(RandomWeights::new(seed, INIT_SD))
    }
}

/// What makes ids of texts; special tokens and the template of pairs go with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenizerKind {
    /// BERT's WordPiece, `[CLS] a [SEP] b [SEP]`.
    Wordpiece,
    /// RoBERTa's byte-level BPE, `<s> a </s></s> b </s>`.
    ByteLevelBpe,
    /// None: words are read by their characters.
    Characters,
}
