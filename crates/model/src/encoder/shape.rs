//! Shape of an architecture and everything derived from it.

use std::fmt;

use anyhow::Result;
use burn::tensor::Device;
use serde::{Deserialize, Serialize};
use totune_checkpoint::Naming;

use crate::init::INIT_SD;
use crate::{RandomWeights, Weights};

/// The shape of a network of one architecture, with its tokenizer, tensors and weights.
pub trait Shape: fmt::Debug {
    /// The network.
    type Encoder;

    /// The architecture's name: `kind` in cards, `model_type` in a `config.json`.
    const LABEL: &'static str;

    /// Naming convention of its published checkpoints.
    const NAMING: Naming;

    /// Tokenizer of the architecture.
    const TOKENIZER: TokenizerKind;

    /// Paths within a layer of its linear layers that can have a low-rank update, [`Encoder::linears`](crate::Encoder::linears);
    /// by default there are none.
    const LINEARS: &'static [&'static str] = &[];

    /// Paths within a layer of its modules with a bias; by default there are none.
    const BIASES: &'static [&'static str] = &[];

    /// Layers above the embeddings.
    fn n_layers(&self) -> usize;

    /// Width of the hidden states.
    fn hidden(&self) -> usize;

    /// The pretrained pooler; by default there is none.
    fn pooler(&self) -> PoolerKind {
        PoolerKind::None
    }

    /// Maximum length of an input in tokens, special ones included; `usize::MAX` where no table of positions limits it.
    fn max_length(&self) -> usize;

    /// Published name and shape of every tensor that [`Shape::load`] takes.
    fn tensors(&self) -> Vec<(String, Vec<usize>)>;

    /// Takes all weights from `weights` and puts them on `device`.
    ///
    /// # Errors
    /// When a tensor is missing or has another shape, or the shape is impossible.
    fn load(&self, weights: &mut dyn Weights, device: &Device) -> Result<Self::Encoder>;

    /// Initial weights for pre-training: BERT's, unless the architecture has its own.
    fn initial(&self, seed: u64) -> Box<dyn Weights> {
        Box::new(RandomWeights::new(seed, INIT_SD))
    }
}

/// The pooler on the first token of the top layer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PoolerKind {
    /// `tanh(W h + b)`, trained with next-sentence prediction.
    #[default]
    Tanh,
    /// No pooler.
    None,
}

/// Tokenizer of an architecture, with its special tokens and its template for pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenizerKind {
    /// BERT's WordPiece, `[CLS] a [SEP] b [SEP]`.
    Wordpiece,
    /// RoBERTa's byte-level BPE, `<s> a </s></s> b </s>`.
    ByteLevelBpe,
    /// ModernBERT's byte-level BPE, `[CLS] a [SEP] b [SEP]`.
    ModernBertBpe,
    /// XLM-RoBERTa's unigram SentencePiece, `<s> a </s></s> b </s>`.
    Unigram,
    /// DeBERTa-v3's unigram model, `[CLS] a [SEP] b [SEP]`.
    DebertaUnigram,
    /// ALBERT's unigram SentencePiece, `[CLS] a [SEP] b [SEP]`.
    AlbertUnigram,
    /// No tokenizer: words are read by their characters.
    Characters,
}
