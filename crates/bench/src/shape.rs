//! Sizes of the encoders that are compared.

use serde::{Deserialize, Serialize};

/// Sizes of an encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Wordpieces.
    pub vocab: usize,
    /// Width.
    pub hidden: usize,
    /// Layers.
    pub layers: usize,
    /// Attention heads.
    pub heads: usize,
    /// Feed-forward width.
    pub intermediate: usize,
}

impl Shape {
    /// all-MiniLM-L6-v2.
    pub const MINI_LM: Self = Self::new(30_522, 384, 6, 12);
    /// BERT-base.
    pub const BERT_BASE: Self = Self::new(30_522, 768, 12, 12);
    /// multilingual-e5-small and others: of their 117 million weights 96 million are word embeddings.
    pub const MULTILINGUAL: Self = Self::new(250_037, 384, 12, 12);
    /// totune-bert-mini.
    pub const BERT_MINI: Self = Self::new(8192, 256, 6, 4);
    /// For tests of the benchmarks themselves.
    pub const TINY: Self = Self::new(1200, 16, 2, 2);

    const fn new(vocab: usize, hidden: usize, layers: usize, heads: usize) -> Self {
        Self {
            vocab,
            hidden,
            layers,
            heads,
            intermediate: 4 * hidden,
        }
    }
}
