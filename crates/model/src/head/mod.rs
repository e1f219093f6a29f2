//! Heads: from an encoder's hidden states to scores.
//!
//! [`ClassifierHead`] scores one vector per example. The others are networks over token states, by their papers:
//! each has its settings beside it, takes its weights by name, and is held in value and gradient against what
//! `fixtures/make/networks.py` made of the same equations.

mod bcn;
mod bi_attention;
mod bimpm;
mod classifier;
mod dense_text;
mod esim;
mod fully_connected;
mod highway_lstm;
mod mix;
mod network;
mod output;
mod readout;
mod settings;
mod siamese;
mod side;
mod spec;
mod tagger;

use anyhow::Result;
use burn::module::Module;
use burn::tensor::{Device, Tensor};

pub use bcn::{Bcn, BcnSpec};
pub use bi_attention::{BiAttention, BiAttentionSpec};
pub use bimpm::{Aggregation, Bimpm, BimpmSpec, Context, MatchReading};
pub use classifier::{ClassifierHead, LinearSpec};
pub use dense_text::{DenseText, DenseTextSpec, Skips};
pub use esim::{Esim, EsimSpec};
pub use fully_connected::{FullyConnected, FullyConnectedSpec};
pub use highway_lstm::{HighwayLstm, HighwayLstmSpec, HighwayReading};
pub use mix::ScalarMix;
pub use network::{NetworkHead, NetworkKind};
pub use output::{Output, Tags};
pub use readout::{Layers, Pooling, Readout};
pub use settings::Switch;
pub use siamese::{Siamese, SiameseSpec, SidePooling};
pub use spec::{HeadSpec, NetworkSpec, Reads};
pub use tagger::{Pieces, RecurrentOver, TagOutput, Tagger, TaggerSpec};

use crate::{Encoder, Pass, States, TokenBatch};

/// What is new in a classifier.
// One is made per run.
#[expect(clippy::large_enum_variant)]
#[derive(Module, Debug)]
pub enum Head {
    /// A linear classifier over one vector per example.
    Linear(ClassifierHead),
    /// A network over token states.
    Network(NetworkHead),
}

impl Head {
    /// A new head for `encoder` with `n_outputs` outputs, drawn from `seed`.
    ///
    /// # Errors
    /// When the encoder does not have what the head reads.
    pub fn new<E: Encoder>(
        spec: &HeadSpec,
        encoder: &E,
        n_outputs: usize,
        seed: u64,
        device: &Device,
    ) -> Result<Self> {
        spec.check(encoder)?;
        Ok(match spec {
            HeadSpec::Linear(spec) => {
                let head = ClassifierHead::new(spec, encoder, n_outputs, seed, device)?;
                Self::Linear(head)
            }
            HeadSpec::Network(spec) => {
                Self::Network(NetworkHead::new(spec, encoder, n_outputs, seed, device)?)
            }
        })
    }

    /// What it makes of an encoder's states.
    pub fn forward(&self, states: &States, batch: &TokenBatch, pass: &Pass) -> Output {
        match self {
            Self::Linear(head) => Output::Labels(head.forward(states, batch, pass)),
            Self::Network(head) => head.forward(states, batch, pass),
        }
    }

    /// What it makes of the vector that it reads of each example, `[batch, width]`.
    ///
    /// # Panics
    /// When it reads the states of all tokens.
    pub(crate) fn score_vectors(&self, read: Tensor<2>, pass: &Pass) -> Output {
        match self {
            Self::Linear(head) => Output::Labels(head.score(read, pass)),
            Self::Network(_) => panic!("a network reads the states of all tokens"),
        }
    }

    /// What it makes of the states that it reads of each token, `[batch, seq, width]`.
    ///
    /// # Panics
    /// When it reads one vector per example.
    pub(crate) fn score_tokens(&self, read: Tensor<3>, batch: &TokenBatch, pass: &Pass) -> Output {
        match self {
            Self::Linear(_) => panic!("a linear head reads one vector per example"),
            Self::Network(head) => head.score(read, batch, pass),
        }
    }
}
