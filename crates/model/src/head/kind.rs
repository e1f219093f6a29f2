//! Interface of every kind of head.

use std::fmt::Debug;

use anyhow::Result;
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use serde::{Serialize, de::DeserializeOwned};

use super::{HeadInput, Output};
use crate::layer::Linear;
use crate::{Pass, Segment, TokenBatch, Weights};

/// A kind of head: its settings, its weights, and its scores.
pub trait HeadKind: Module {
    /// Settings of the head. The key `layers` names the encoder layers that it reads.
    type Spec: Debug + Clone + PartialEq + Serialize + DeserializeOwned;

    /// Its `kind` in settings, and its name in labels.
    const LABEL: &'static str;

    /// True if it predicts a tag for each word instead of a label or score for each example.
    const TAGS_WORDS: bool = false;

    /// True if it compares the two texts of a pair.
    const COMPARES_PAIRS: bool = false;

    /// True if it is one linear layer on features without weights of their own, so that it has an optimum: see
    /// [`HeadKind::features`].
    const IS_LINEAR: bool = false;

    /// True if its last layer is linear.
    const ENDS_LINEAR: bool = true;

    /// Returns the encoder states that it reads.
    fn reads(spec: &Self::Spec) -> HeadInput;

    /// Refuses values out of range, naming the key below `head`.
    fn validate(spec: &Self::Spec) -> Result<()>;

    /// Initial weights, drawn from `seed`.
    fn initial(spec: &Self::Spec, seed: u64) -> Box<dyn Weights>;

    /// Takes the weights of a head with `outputs` outputs on vectors or states of `width` from `weights`; outputs are
    /// the labels or tags, or one number.
    ///
    /// # Errors
    /// When a setting is out of its range, or those of `weights`.
    fn load(
        spec: &Self::Spec,
        width: usize,
        outputs: usize,
        weights: &mut dyn Weights,
        device: &Device,
    ) -> Result<Self>;

    /// A new head, with initial weights.
    ///
    /// # Errors
    /// When a setting is out of its range.
    fn new(
        spec: &Self::Spec,
        width: usize,
        outputs: usize,
        seed: u64,
        device: &Device,
    ) -> Result<Self> {
        let mut weights = Self::initial(spec, seed);
        Self::load(spec, width, outputs, &mut *weights, device)
    }

    /// Scores the representation of a batch.
    fn score(&self, read: Representation, pass: &Pass) -> Output;

    /// The input of the linear layer of a head that [is one](HeadKind::IS_LINEAR), `[batch, width]`; none of others.
    fn features(&self, _: Representation) -> Option<Tensor<2>> {
        None
    }

    /// The linear layer of such a head.
    fn linear(&mut self) -> Option<&mut Linear> {
        None
    }
}

/// Input of a head for a batch, its layers already mixed.
#[derive(Debug)]
pub enum Representation<'a> {
    /// One vector per example, `[batch, width]`.
    Pooled(Tensor<2>),
    /// The states of every token.
    Tokens {
        /// `[batch, seq, width]`.
        states: Tensor<3>,
        /// Batch with the positions of texts and words.
        batch: &'a TokenBatch,
    },
}

impl Representation<'_> {
    /// The vector of each example, `[batch, width]`.
    ///
    /// # Panics
    /// When there are states of tokens.
    pub(super) fn pooled(self) -> Tensor<2> {
        match self {
            Self::Pooled(vectors) => vectors,
            Self::Tokens { .. } => panic!("this head reads one vector per example"),
        }
    }

    /// The states of every token, `[batch, seq, width]`, and the batch they are of.
    ///
    /// # Panics
    /// When there is one vector per example.
    pub(super) fn tokens(&self) -> (&Tensor<3>, &TokenBatch) {
        match self {
            Self::Pooled(_) => panic!("this head reads the states of all tokens"),
            Self::Tokens { states, batch } => (states, batch),
        }
    }

    /// Whole rows, boundary tokens among them.
    pub(super) fn whole(&self) -> Segment {
        let (states, batch) = self.tokens();
        batch.whole(states.clone())
    }

    /// The first text of each row, without boundary tokens.
    pub(super) fn text(&self) -> Segment {
        let (states, batch) = self.tokens();
        batch.segment(states, 0)
    }

    /// Both texts of each row, without boundary tokens.
    pub(super) fn pair(&self) -> [Segment; 2] {
        let (states, batch) = self.tokens();
        [0, 1].map(|text| batch.segment(states, text))
    }

    /// Both texts of each row, each with the boundary token before it, of encoders that have one.
    pub(super) fn pair_from_first(&self) -> [Segment; 2] {
        let (states, batch) = self.tokens();
        [0, 1].map(|text| batch.segment_from_first(states, text))
    }
}
