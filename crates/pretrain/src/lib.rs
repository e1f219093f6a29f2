//! Pre-training of encoders on plain text.
//!
//! [`Settings`] name the encoder, the text and the objective. A [`Corpus`] holds the text as wordpieces, [`packing`]
//! cuts it into sequences without padding, an [`Objective`](objective::Objective) turns a step's sequences into a loss,
//! a [`Trainer`] takes the steps and writes checkpoints from which it goes on bit for bit, [`perplexity`] scores
//! held-out text, and [`export`] writes the encoder as a folder that other tools load.
//!
//! Everything random comes from the seed and the number of the step, so nothing but weights, moments and a step count
//! has to be kept.
//!
//! This crate knows neither tasks nor strategies, and chooses no device.

mod bilm;
mod checkpoint;
mod corpus;
pub mod export;
mod job;
mod log;
mod masked_lm;
mod masking;
pub mod objective;
pub mod packing;
pub mod page;
pub mod perplexity;
mod settings;
mod text;
mod trainer;
mod vocabulary;
mod words;

pub use bilm::BidirectionalLanguageModel;
pub use checkpoint::{About, Checkpoint, Folder};
pub use corpus::Corpus;
pub use job::Job;
pub use log::Meter;
pub use masked_lm::MaskedLanguageModel;
pub use settings::{
    BertShape, Initialisation, Masking, New, Objective as ObjectiveSettings, Sampling, Settings,
    Stage, VocabularySettings,
};
pub use text::{Places, Text, WordpieceText, Words};
pub use trainer::{Ended, Event, Trainer};
pub use vocabulary::train_vocabulary;
pub use words::WordCorpus;
