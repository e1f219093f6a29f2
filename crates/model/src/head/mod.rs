//! Heads: from an encoder's hidden states to scores.
//!
//! A [`HeadKind`] has its settings, its weights by name, and scores. Each has a file of its own, named after its paper,
//! and is compared in value and gradient with vectors that `fixtures/make/networks.py` made from the same equations.
//! [`HeadSpec`] is one of them as settings, [`Head`] as a module, with the mix of the layers that it reads.

mod bcn;
mod bi_attention;
mod bimpm;
mod dense_text;
mod esim;
mod fully_connected;
mod highway_lstm;
mod input;
mod kind;
mod linear;
mod mix;
mod output;
mod registry;
mod segment;
mod settings;
mod siamese;
mod tagger;

pub use bcn::{Bcn, BcnSpec};
pub use bi_attention::{BiAttention, BiAttentionSpec};
pub use bimpm::{Aggregation, Bimpm, BimpmSpec, Context, MatchReading};
pub use dense_text::{DenseText, DenseTextSpec, Skips};
pub use esim::{Esim, EsimSpec};
pub use fully_connected::{Activation, FullyConnected, FullyConnectedSpec};
pub use highway_lstm::{HighwayLstm, HighwayLstmSpec, HighwayReading};
pub use input::{HeadInput, Layers, PooledInput, Pooling};
pub use kind::{HeadKind, Representation};
pub use linear::{LinearHead, LinearSpec};
pub use mix::ScalarMix;
pub use output::{Output, Tags};
pub use registry::{Head, HeadSpec};
pub use settings::Switch;
pub use siamese::{Siamese, SiameseSpec};
pub use tagger::{RecurrentOver, SubwordPooling, TagOutput, Tagger, TaggerSpec};
