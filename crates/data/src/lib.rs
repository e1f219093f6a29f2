//! Datasets as text and integers.
//!
//! A [`Card`] says where a dataset lives and what its columns mean, a [`format::Format`] reads its file, and the
//! result is a [`Dataset`]: a list of [`Example`]s whose counts agree with the card. From there on everything is one
//! path: a [`Split`] divides, a [`Tokenizer`] encodes, a [`BatchPlan`] orders, [`Padded`] pads.
//!
//! This crate has no tensors in it, opens no socket, and makes no choices about training. Randomness comes only from
//! [`random::stream`], which is a function of a run's seed.

mod batch;
mod cache;
mod card;
mod columns;
mod contents;
mod dataset;
mod duplicates;
mod example;
mod filter;
pub mod format;
pub mod guess;
mod hash;
pub mod label_sets;
pub mod layout;
mod loss;
mod metrics;
pub mod ngrams;
pub mod random;
mod read;
mod sample;
mod sentences;
mod split;
mod submission;
pub mod survey;
pub mod tags;
mod target_reader;
mod task;
mod text_table;
mod texts;
mod tokenize;

pub use batch::{BatchPlan, Fill, Padded};
pub use cache::{EncodedCache, Source};
pub use card::{Card, Catalogue, Sample, SplitFacts};
pub use columns::{Columns, Joined};
pub use contents::uncompressed;
pub use dataset::Dataset;
pub use duplicates::Repeats;
pub use example::{Example, Input, Target};
pub use hash::sha256_hex;
pub use layout::{Empty, Layout, LayoutFile, OneOf, RowList};
pub use loss::{ClassLoss, ClassWeights};
pub use metrics::more_is_better;
pub use random::{shuffle, stream};
pub use split::{
    DevDrawn, Duplicates, Files, FoldKind, HoldOut, KFold, LabelledFiles, Split, SplitIndices,
    Splits, left_out,
};
pub use submission::Submission;
pub use task::Task;
pub use text_table::TextTable;
pub use texts::{
    Document, Documents, Gutenberg, Lines, Switch, TextCard, TextCatalogue, TextFile, TextFormat,
    TextPart, TextSource, WikiText,
};
pub use tokenize::characters;
pub use tokenize::{
    Alignment, Encoded, Pairs, SubwordChoice, Template, Tokenizer, Window, WordContext,
};
