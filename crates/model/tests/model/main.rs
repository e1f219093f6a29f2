//! Encoders and heads next to their reference implementations.

mod bad_checkpoints;
mod bilm;
mod cards;
mod crf;
mod edits;
mod elmo;
mod gradients;
mod networks;
mod parity;
mod pretrained;
mod recurrent;
mod support;
